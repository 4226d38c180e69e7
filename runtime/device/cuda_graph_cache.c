/* Finds, adds and frees captured steps, in a small table that is searched from end to end. */
#include "runtime/device/cuda_graph_cache.h"

void plim_cuda_graph_row_uncapture(plim_cuda_graph_row *row, const plim_cuda_driver *driver) {
  if (row->captured) (void)driver->captured_free(row->captured);
  row->captured = NULL;
  row->has_timing_event = 0;
}

static void empty(plim_cuda_graph_row *row, const plim_cuda_driver *driver) {
  plim_cuda_graph_row_uncapture(row, driver);
  *row = (plim_cuda_graph_row){0};
}

plim_cuda_graph_row *plim_cuda_graph_cache_find(plim_cuda_graph_cache *cache, const plim_cuda_driver *driver,
                                                const plim_plan *plan, const void *arena) {
  plim_cuda_graph_row *oldest = &cache->row[0];
  cache->clock++;
  for (int i = 0; i < PLIM_CUDA_GRAPH_CACHE; i++) {
    plim_cuda_graph_row *row = &cache->row[i];
    if (row->used > 0 && row->plan == plan && row->arena == arena) {
      row->used = cache->clock;
      return row;
    }
    if (row->used < oldest->used) oldest = row;
  }
  empty(oldest, driver);
  *oldest = (plim_cuda_graph_row){.plan = plan, .arena = arena, .used = cache->clock};
  return oldest;
}

void plim_cuda_graph_cache_invalidate(plim_cuda_graph_cache *cache, const plim_cuda_driver *driver, const void *arena) {
  for (int i = 0; i < PLIM_CUDA_GRAPH_CACHE; i++) {
    if (cache->row[i].arena == arena) empty(&cache->row[i], driver);
  }
}

void plim_cuda_graph_cache_invalidate_all(plim_cuda_graph_cache *cache, const plim_cuda_driver *driver) {
  for (int i = 0; i < PLIM_CUDA_GRAPH_CACHE; i++) empty(&cache->row[i], driver);
}

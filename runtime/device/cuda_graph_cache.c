/* A small table, searched from end to end. */
#include "runtime/device/cuda_graph_cache.h"

void plim_cuda_graph_row_uncapture(plim_cuda_graph_row *step, const plim_cuda_driver *driver) {
  if (step->captured) (void)driver->captured_free(step->captured);
  step->captured = NULL;
  step->has_timing_event = 0;
}

static void empty(plim_cuda_graph_row *row, const plim_cuda_driver *driver) {
  plim_cuda_graph_row_uncapture(row, driver);
  *row = (plim_cuda_graph_row){0};
}

plim_cuda_graph_row *plim_cuda_graph_cache_find(plim_cuda_graph_cache *steps, const plim_cuda_driver *driver,
                                                const plim_plan *plan, const void *arena) {
  plim_cuda_graph_row *oldest = &steps->row[0];
  steps->clock++;
  for (int i = 0; i < PLIM_CUDA_GRAPH_CACHE; i++) {
    plim_cuda_graph_row *row = &steps->row[i];
    if (row->used > 0 && row->plan == plan && row->arena == arena) {
      row->used = steps->clock;
      return row;
    }
    if (row->used < oldest->used) oldest = row;
  }
  empty(oldest, driver);
  *oldest = (plim_cuda_graph_row){.plan = plan, .arena = arena, .used = steps->clock};
  return oldest;
}

void plim_cuda_graph_cache_invalidate(plim_cuda_graph_cache *steps, const plim_cuda_driver *driver, const void *arena) {
  for (int i = 0; i < PLIM_CUDA_GRAPH_CACHE; i++) {
    if (steps->row[i].arena == arena) empty(&steps->row[i], driver);
  }
}

void plim_cuda_graph_cache_invalidate_all(plim_cuda_graph_cache *steps, const plim_cuda_driver *driver) {
  for (int i = 0; i < PLIM_CUDA_GRAPH_CACHE; i++) empty(&steps->row[i], driver);
}

/* Eviction as in DTR: the storage with the smallest score is evicted, then the next, until a free block is large
 * enough. It does not look for neighbours that would make one hole. */
#include <math.h>

#include "runtime/arena/residency_evict.h"
#include "runtime/arena/residency_price.h"

static int64_t free_bytes(const plim_residency *res, int32_t block) {
  if (block < 0 || res->blocks->block[block].owner != PLIM_ARENA_BLOCK_FREE) return 0;
  return res->blocks->block[block].bytes;
}

double plim_residency_score(plim_residency *res, const plim_arena_block *block, double most) {
  int64_t bytes = block->bytes, stale_ns = plim_residency_distance(res, block->owner);
  if (res->policy->size == PLIM_PER_HOLE) bytes += free_bytes(res, block->prev) + free_bytes(res, block->next);
  int64_t most_cost = plim_policy_most_cost(res->policy, most, bytes, stale_ns);
  return plim_policy_score(res->policy, plim_residency_cost(res, block->owner, most_cost), bytes, stale_ns);
}

/* The storage with the smallest score, of equal scores that with the lowest address. PLIM_NONE: nothing can
 * be evicted. */
static int32_t choose(plim_residency *res) {
  double best = INFINITY;
  int32_t chosen = PLIM_NONE;
  for (int32_t id = res->blocks->first; id != PLIM_NONE; id = res->blocks->block[id].next) {
    const plim_arena_block *block = &res->blocks->block[id];
    if (block->owner < 0 || block->owner >= res->graph->n_storages || !plim_residency_evictable(res, block->owner)) {
      continue;
    }
    double s = plim_residency_score(res, block, best);
    res->counts->blocks_scanned++;
    if (chosen != PLIM_NONE && s >= best) continue;
    best = s;
    chosen = block->owner;
  }
  return chosen;
}

plim_status plim_residency_evict_single(plim_residency *res, const plim_arena_request *request, int32_t *hole) {
  int32_t left = PLIM_NONE;
  while (left == PLIM_NONE || res->blocks->block[left].bytes < request->bytes) {
    int32_t storage = choose(res);
    PLIM_TRY(plim_residency_notify(res, request, &(plim_arena_choice){.storage = storage}));
    if (storage == PLIM_NONE) return PLIM_OK;
    PLIM_TRY(plim_residency_drop(res, storage, &left));
    res->counts->evictions++;
  }
  *hole = left;
  return PLIM_OK;
}

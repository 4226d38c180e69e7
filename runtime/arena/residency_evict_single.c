/* The way of DTR and its kin: the storage with the smallest score goes, then the next, until a free block is large
 * enough. Neighbours that would make a hole together are not looked for. */
#include <math.h>

#include "runtime/arena/residency.h"

static int64_t free_bytes(const plim_residency *t, int32_t block) {
  if (block < 0 || t->blocks->block[block].owner != PLIM_ARENA_BLOCK_FREE) return 0;
  return t->blocks->block[block].bytes;
}

double plim_residency_score(plim_residency *t, const plim_arena_block *block, double most) {
  int64_t bytes = block->bytes, stale_ns = plim_residency_distance(t, block->owner);
  if (t->policy->size == PLIM_PER_HOLE) bytes += free_bytes(t, block->prev) + free_bytes(t, block->next);
  int64_t most_cost = plim_policy_most_cost(t->policy, most, bytes, stale_ns);
  return plim_policy_score(t->policy, plim_residency_cost(t, block->owner, most_cost), bytes, stale_ns);
}

/* Of equal scores the lowest address. PLIM_NEVER: nothing can be evicted. */
static int32_t choose(plim_residency *t) {
  double best = INFINITY;
  int32_t chosen = PLIM_NEVER;
  for (int32_t id = t->blocks->first; id != PLIM_NEVER; id = t->blocks->block[id].next) {
    const plim_arena_block *block = &t->blocks->block[id];
    if (block->owner < 0 || block->owner >= t->graph->n_storages || !plim_residency_evictable(t, block->owner))
      continue;
    double s = plim_residency_score(t, block, best);
    t->counts->blocks_scanned++;
    if (chosen != PLIM_NEVER && s >= best) continue;
    best = s;
    chosen = block->owner;
  }
  return chosen;
}

plim_status plim_residency_evict_single(plim_residency *t, const plim_arena_request *request, int32_t *hole) {
  int32_t left = PLIM_NEVER;
  while (left == PLIM_NEVER || t->blocks->block[left].bytes < request->bytes) {
    int32_t storage = choose(t);
    PLIM_TRY(plim_residency_notify(t, request, &(plim_arena_choice){.storage = storage}));
    if (storage == PLIM_NEVER) return PLIM_OK;
    PLIM_TRY(plim_residency_drop(t, storage, &left));
    t->counts->evictions++;
  }
  *hole = left;
  return PLIM_OK;
}

/* The way of DTR and its kin: the storage with the smallest score goes, then the next, until a free piece is large
 * enough. Neighbours that would make a hole together are not looked for. */
#include <math.h>

#include "runtime/arena/tenants.h"

static int64_t free_bytes(const plim_tenants *t, int32_t piece) {
  if (piece < 0 || t->pieces->piece[piece].owner != PLIM_PIECE_FREE) return 0;
  return t->pieces->piece[piece].bytes;
}

double plim_tenants_score(plim_tenants *t, const plim_piece *piece, double most) {
  int64_t bytes = piece->bytes, stale_ns = plim_tenants_distance(t, piece->owner);
  if (t->policy->size == PLIM_PER_HOLE) bytes += free_bytes(t, piece->prev) + free_bytes(t, piece->next);
  int64_t most_cost = plim_policy_most_cost(t->policy, most, bytes, stale_ns);
  return plim_policy_score(t->policy, plim_tenants_cost(t, piece->owner, most_cost), bytes, stale_ns);
}

/* Of equal scores the lowest address. PLIM_NEVER: nothing can be evicted. */
static int32_t choose(plim_tenants *t) {
  double best = INFINITY;
  int32_t chosen = PLIM_NEVER;
  for (int32_t id = t->pieces->first; id != PLIM_NEVER; id = t->pieces->piece[id].next) {
    const plim_piece *piece = &t->pieces->piece[id];
    if (piece->owner < 0 || piece->owner >= t->graph->n_storages || !plim_tenants_evictable(t, piece->owner)) continue;
    double s = plim_tenants_score(t, piece, best);
    t->counts->pieces_scanned++;
    if (chosen != PLIM_NEVER && s >= best) continue;
    best = s;
    chosen = piece->owner;
  }
  return chosen;
}

plim_status plim_tenants_evict_single(plim_tenants *t, const plim_arena_request *request, int32_t *hole) {
  int32_t left = PLIM_NEVER;
  while (left == PLIM_NEVER || t->pieces->piece[left].bytes < request->bytes) {
    int32_t storage = choose(t);
    PLIM_TRY(plim_tenants_tell(t, request, &(plim_arena_choice){.storage = storage}));
    if (storage == PLIM_NEVER) return PLIM_OK;
    PLIM_TRY(plim_tenants_drop(t, storage, &left));
    t->counts->evictions++;
  }
  *hole = left;
  return PLIM_OK;
}

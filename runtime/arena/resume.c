/* The arena in the middle of a plan: what its first steps left, as if it had been played up to there.
 *
 * Steps and lives of the prefix are the plan's own, with the ends that their uses so far give them. What still has a
 * life and lies within the arena, which may be smaller now, stays at its place. What lies beyond its end moves into a
 * free piece, is evicted where there is none, and moves into one that is made for it where it cannot be computed again.
 */
#include "runtime/arena/tenants.h"

/* What step j does to the lives that are being written: uses, and the next reads. */
static plim_status pass_step(plim_tenants *t, int32_t j) {
  const plim_step *step = &t->forecast->schedule->step[j];
  const plim_op *op = &t->graph->op[step->op];
  PLIM_TRY(plim_tenants_add_step(t, step));
  for (int32_t k = 0; k < op->n_reads; k++) plim_tenants_use(t, op->reads[k], j);
  for (int32_t k = 0; k < op->n_writes; k++) {
    plim_tenants_use(t, op->writes[k], j);
    if (plim_tenants_empty(t, op->writes[k])) t->tenant[op->writes[k]].piece = PLIM_PIECELESS;
  }
  plim_tenants_pass(t);
  return PLIM_OK;
}

/* Is the life of the plan still there in front of step `from`, and needed? One that ends there is, when the plan's next
 * step writes over it. */
static int goes_on(const plim_tenants *t, const plim_life *life, int32_t from) {
  if (life->storage < 0 || life->begin >= from || life->end < from) return 0;
  return life->end > from || plim_tenants_wanted(t, life->storage);
}

static int64_t top_of(const plim_life *life) {
  return life->offset + life->bytes;
}

/* The storage of the plan's life i gets a piece of the arena, by evicting others if need be; its life goes on there. */
static plim_status move(plim_tenants *t, int32_t i) {
  int32_t piece, storage = t->life[i].storage;
  if (plim_role_persistent(t->graph->storage[storage].role)) {
    return plim_fail(t->ctx, PLIM_ENOFIT, "what persists ends at %lld, beyond an arena of %lld bytes",
                     (long long)top_of(&t->life[i]), (long long)t->pieces->bytes);
  }
  PLIM_TRY(plim_tenants_place(t, PLIM_NEVER, storage, t->life[i].bytes, &piece));
  t->n_lives--; /* the new life, for it is the old one */
  t->tenant[storage].life = i;
  t->life[i].offset = t->pieces->piece[piece].offset;
  return PLIM_OK;
}

static plim_status move_or_evict(plim_tenants *t, int32_t i) {
  int32_t storage = t->life[i].storage;
  if (!plim_tenants_wanted(t, storage)) return PLIM_OK;
  int free_piece = plim_pieces_largest_free(t->pieces) >= t->life[i].bytes;
  if (free_piece || !plim_tenants_evictable(t, storage)) return move(t, i);
  t->counts->evictions++;
  return plim_tenants_go_missing(t, storage);
}

/* What begins in front of the arena's end and goes beyond it holds its place until everything has moved: nothing may
 * move over what has not moved yet. *piece is -1 when there is no such thing. */
static plim_status block_straddler(plim_tenants *t, const plim_life *life, int32_t *piece) {
  int64_t end = t->pieces->bytes;
  if (life->offset >= end) return PLIM_OK;
  return plim_pieces_take_at(t->pieces, life->offset, end - life->offset, t->graph->n_storages, piece);
}

/* What is read again, and is not there, must be possible to compute until then. */
static plim_status check_absent(const plim_tenants *t) {
  for (int32_t s = 0; s < t->graph->n_storages; s++) {
    const plim_tenant *tenant = &t->tenant[s];
    if (t->graph->storage[s].producer < 0 || tenant->piece != PLIM_NEVER || tenant->next_read == PLIM_NEVER) continue;
    if (tenant->last_read <= t->forecast->deadline[s]) continue;
    int32_t v = 0;
    while (t->graph->value[v].storage != s) v++;
    return plim_fail(t->ctx, PLIM_ENOFIT, "\"%s\" is gone, is read last at %d, and cannot be computed again behind %d",
                     t->graph->value[v].name, (int)tenant->last_read, (int)t->forecast->deadline[s]);
  }
  return PLIM_OK;
}

/* What has been made and is gone counts as missing, which prices of evictions ask for. */
static plim_status lose_absent(plim_tenants *t, const plim_plan *plan, int32_t from) {
  for (int32_t s = 0; s < t->graph->n_storages; s++) {
    const plim_tenant *tenant = &t->tenant[s];
    if (tenant->life < 0 || tenant->piece != PLIM_NEVER || goes_on(t, &plan->life[tenant->life], from)) continue;
    PLIM_TRY(plim_tenants_go_missing(t, s));
  }
  return PLIM_OK;
}

/* n: lives of the plan that have begun. */
static plim_status settle_residents(plim_tenants *t, const plim_plan *plan, int32_t n, int32_t from) {
  int64_t end = t->pieces->bytes;
  int32_t blocked = PLIM_NEVER;
  for (int32_t i = 0; i < n; i++) {
    const plim_life *life = &plan->life[i];
    if (!goes_on(t, life, from)) continue;
    if (top_of(life) > end) {
      PLIM_TRY(block_straddler(t, life, &blocked));
    } else {
      PLIM_TRY(
          plim_pieces_take_at(t->pieces, life->offset, life->bytes, life->storage, &t->tenant[life->storage].piece));
    }
  }
  PLIM_TRY(lose_absent(t, plan, from));
  for (int32_t i = 0; i < n; i++) {
    if (goes_on(t, &plan->life[i], from) && top_of(&plan->life[i]) > end) PLIM_TRY(move_or_evict(t, i));
  }
  if (blocked >= 0) (void)plim_pieces_give(t->pieces, blocked);
  return check_absent(t);
}

plim_status plim_tenants_resume(plim_tenants *t, int32_t from) {
  const plim_plan *plan = t->forecast->schedule;
  int32_t next = 0;
  for (int32_t j = 0; j < from; j++) {
    for (; next < plan->n_lives && plan->life[next].begin == j; next++) {
      PLIM_TRY(plim_tenants_add_life(t, &plan->life[next]));
    }
    PLIM_TRY(pass_step(t, j));
  }
  for (int32_t i = 0; i < next; i++) {
    if (plan->life[i].end < from) t->life[i].end = plan->life[i].end; /* it may have been written over */
  }
  return settle_residents(t, plan, next, from);
}

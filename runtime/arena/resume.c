/* The arena in the middle of a plan: what its first steps left, as if it had been played up to there.
 *
 * Steps and lives of the prefix are the plan's own, with the ends that their uses so far give them. What still has a
 * life stays at its place; what lies beyond the arena's end, since the arena may be smaller now, is evicted, or there
 * is no way. */
#include "runtime/arena/tenants.h"

/* What step j does to the lives that are being written: uses, and the next reads. */
static plim_status pass_step(plim_tenants *t, int32_t j) {
  const plim_step *step = &t->forecast->schedule->step[j];
  const plim_op *op = &t->graph->op[step->op];
  PLIM_TRY(plim_tenants_add_step(t, step));
  for (int32_t k = 0; k < op->n_reads; k++) plim_tenants_use(t, op->reads[k], j);
  for (int32_t k = 0; k < op->n_writes; k++) plim_tenants_use(t, op->writes[k], j);
  plim_tenants_pass(t);
  return PLIM_OK;
}

/* Does step j of the plan write over the storage? */
static int overwritten(const plim_tenants *t, int32_t storage, int32_t j) {
  const plim_step *step = &t->forecast->schedule->step[j];
  const plim_op *op = &t->graph->op[step->op];
  for (int32_t i = 0; i < step->n_pairs; i++) {
    if (t->graph->value[op->in[step->pair[i].in]].storage == storage) return 1;
  }
  return 0;
}

/* Is the life of the plan still there in front of step `from`? */
static int goes_on(const plim_tenants *t, const plim_life *life, int32_t from) {
  if (life->storage < 0 || life->begin >= from || life->end < from) return 0;
  return life->end > from || overwritten(t, life->storage, from);
}

static plim_status fail_beyond(const plim_tenants *t, const plim_life *life) {
  int32_t v = 0;
  while (t->graph->value[v].storage != life->storage) v++;
  return plim_fail(t->ctx, PLIM_ENOFIT,
                   "\"%s\" lies at %lld to %lld, beyond %lld bytes, and cannot be computed again from here",
                   t->graph->value[v].name, (long long)life->offset, (long long)(life->offset + life->bytes),
                   (long long)t->pieces->bytes);
}

static plim_status keep_or_evict(plim_tenants *t, const plim_life *life) {
  plim_tenant *tenant = &t->tenant[life->storage];
  if (life->offset + life->bytes <= t->pieces->bytes) {
    return plim_pieces_take_at(t->pieces, life->offset, life->bytes, life->storage, &tenant->piece);
  }
  if (!plim_tenants_wanted(t, life->storage)) return PLIM_OK;
  if (!plim_tenants_evictable(t, life->storage)) return fail_beyond(t, life);
  t->counts->evictions++;
  return plim_tenants_go_missing(t, life->storage);
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
    if (!goes_on(t, &plan->life[i], from)) t->life[i].end = plan->life[i].end;
  }
  for (int32_t i = 0; i < next; i++) {
    if (goes_on(t, &plan->life[i], from)) PLIM_TRY(keep_or_evict(t, &plan->life[i]));
  }
  return PLIM_OK;
}

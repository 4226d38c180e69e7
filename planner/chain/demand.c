/* Recomputation on demand. The schedule is emitted directly: lives end at their last reader by themselves, so that only
 * what is missing has to be decided. */
#include "planner/chain/demand.h"

#include <string.h>

plim_status plim_demand_make(const plim_problem *p, plim_demand *out) {
  plim_demand d = {.problem = p};
  plim_status status;
  PLIM_CHECK(plim_allocate(p->ctx, p->n_items, sizeof *d.available, &d.available));
  PLIM_CHECK(plim_allocate(p->ctx, p->n_ops, sizeof *d.ran, &d.ran));
  PLIM_CHECK(plim_allocate(p->ctx, p->n_ops, sizeof *d.stack, &d.stack));
  *out = d;
done:
  if (status != PLIM_OK) plim_demand_free(&d);
  return status;
}

void plim_demand_free(plim_demand *d) {
  const plim_problem *p = d->problem;
  if (!p) return;
  plim_release(p->ctx, d->available, p->n_items, sizeof *d->available);
  plim_release(p->ctx, d->ran, p->n_ops, sizeof *d->ran);
  plim_release(p->ctx, d->stack, p->n_ops, sizeof *d->stack);
  *d = (plim_demand){0};
}

void plim_demand_begin(plim_demand *d, plim_schedule *out, int32_t most_runs) {
  memset(d->available, 0, (size_t)d->problem->n_items);
  memset(d->ran, 0, (size_t)d->problem->n_ops);
  d->out = out;
  d->most_runs = most_runs;
  out->n = 0;
}

static plim_status run_op(plim_demand *d, int32_t v) {
  const plim_list *writes = &d->problem->op[v].writes;
  for (int32_t i = 0; i < writes->n; i++) d->available[writes->at[i]] = 1;
  d->ran[v] = 1;
  return plim_schedule_add(d->out, v, 0);
}

static int may_repeat(const plim_demand *d, int32_t v) {
  const plim_planned_op *op = &d->problem->op[v];
  if (op->once) return 0;
  for (int32_t i = 0; i < op->until.n; i++) {
    if (d->ran[op->until.at[i]]) return 0;
  }
  return 1;
}

/* An op whose output this op misses and that may run again; -1 when the op can run. */
static int32_t missing_producer(plim_demand *d, int32_t v) {
  const plim_list *reads = &d->problem->op[v].reads;
  for (int32_t i = 0; i < reads->n; i++) {
    int32_t item = reads->at[i], producer = d->problem->item[item].producer;
    if (producer < 0 || d->available[item]) continue;
    if (may_repeat(d, producer)) return producer;
    d->available[item] = 1; /* its older copy lives on */
  }
  return -1;
}

plim_status plim_demand_run(plim_demand *d, int32_t v) {
  int32_t n = 0;
  d->stack[n++] = v;
  while (n > 0) {
    int32_t missing = missing_producer(d, d->stack[n - 1]);
    if (missing >= 0) {
      d->stack[n++] = missing; /* producers come earlier in program order: no op is on the stack twice */
    } else if (d->out->n >= d->most_runs) {
      return plim_fail(d->problem->ctx, PLIM_ENOFIT, "recomputation needs more than %d runs", d->most_runs);
    } else {
      PLIM_TRY(run_op(d, d->stack[--n]));
    }
  }
  return PLIM_OK;
}

/* Recomputation on demand, by a depth-first walk over missing producers. Runs are appended to a schedule at once.
 * Lifetimes end after their last reader by rule, so only missing inputs have to be found. */
#include "planner/chain/checkpoints.h"

#include <string.h>

#include "planner/chain/chain_tuning.h"
#include "runtime/base/effort.h"

plim_status plim_demand_make(const plim_problem *p, plim_demand *out) {
  plim_demand d = {.problem = p};
  plim_status status;
  PLIM_CHECK(plim_allocate(p->ctx, p->n_items, sizeof *d.available, &d.available));
  PLIM_CHECK(plim_allocate(p->ctx, p->n_ops, sizeof *d.ran, &d.ran));
  PLIM_CHECK(plim_allocate(p->ctx, p->n_ops, sizeof *d.stack, &d.stack));
  PLIM_CHECK(plim_allocate(p->ctx, p->n_ops, sizeof *d.seen, &d.seen));
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
  plim_release(p->ctx, d->seen, p->n_ops, sizeof *d->seen);
  *d = (plim_demand){0};
}

void plim_demand_begin(plim_demand *d, plim_schedule *out, int32_t runs_limit) {
  memset(d->available, 0, (size_t)d->problem->n_items);
  memset(d->ran, 0, (size_t)d->problem->n_ops);
  d->out = out;
  d->runs_limit = runs_limit;
  out->n = 0;
}

static plim_status run_op(plim_demand *d, int32_t v) {
  const plim_ids *writes = &d->problem->op[v].writes;
  for (int32_t i = 0; i < writes->n; i++) d->available[writes->at[i]] = 1;
  d->ran[v] = 1;
  return plim_schedule_add(d->out, v, 0);
}

static int may_repeat(const plim_demand *d, int32_t v) {
  const plim_planned_op *op = &d->problem->op[v];
  if (op->once) return 0;
  for (int32_t i = 0; i < op->closed_by.n; i++) {
    if (d->ran[op->closed_by.at[i]]) return 0;
  }
  return 1;
}

/* The producer of an input that op v misses, where it may be recomputed; -1: v can run. *seen counts the reads known to
 * be available. They stay available until v runs, so an op costs O(reads). */
static int32_t missing_producer(plim_demand *d, int32_t v, int32_t *seen) {
  const plim_ids *reads = &d->problem->op[v].reads;
  for (; *seen < reads->n; (*seen)++) {
    int32_t item = reads->at[*seen], producer = d->problem->item[item].producer;
    if (producer < 0 || d->available[item]) continue;
    if (may_repeat(d, producer)) return producer;
    d->available[item] = 1; /* its older value is alive on */
  }
  return -1;
}

static void push(plim_demand *d, int32_t at, int32_t v) {
  d->stack[at] = v;
  d->seen[at] = 0;
}

plim_status plim_demand_run(plim_demand *d, int32_t v) {
  plim_context *ctx = d->problem->ctx;
  int32_t n = 0;
  push(d, n++, v);
  while (n > 0) {
    int32_t missing = missing_producer(d, d->stack[n - 1], &d->seen[n - 1]);
    if (plim_effort_over(ctx, chain_tuning.work_a_run)) return plim_fail(ctx, PLIM_ECANCEL, "planning was cancelled");
    if (missing >= 0) {
      push(d, n++, missing); /* producers come earlier in program order: no op is on the stack twice */
    } else if (d->out->n >= d->runs_limit) {
      return plim_fail(ctx, PLIM_ENOFIT, "recomputation needs more than %d runs", d->runs_limit);
    } else {
      PLIM_TRY(run_op(d, d->stack[--n]));
    }
  }
  return PLIM_OK;
}

/* Recomputation on demand, by a depth-first walk over missing producers. Runs are appended to a schedule at once.
 * Lifetimes end after their last reader by rule, so only missing inputs have to be found. */
#include "planner/chain/chain.h"

#include <string.h>

#include "runtime/base/effort.h"

plim_status plim_demand_make(const plim_problem *p, plim_demand *out) {
  plim_demand demand = {.problem = p};
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n_items, sizeof *demand.available, &demand.available));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n_ops, sizeof *demand.ran, &demand.ran));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n_ops, sizeof *demand.stack, &demand.stack));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n_ops, sizeof *demand.seen, &demand.seen));
  *out = demand;
done:
  if (status != PLIM_OK) plim_demand_free(&demand);
  return status;
}

void plim_demand_free(plim_demand *demand) {
  const plim_problem *p = demand->problem;
  if (!p) return;
  plim_release(p->ctx, demand->available, p->n_items, sizeof *demand->available);
  plim_release(p->ctx, demand->ran, p->n_ops, sizeof *demand->ran);
  plim_release(p->ctx, demand->stack, p->n_ops, sizeof *demand->stack);
  plim_release(p->ctx, demand->seen, p->n_ops, sizeof *demand->seen);
  *demand = (plim_demand){0};
}

void plim_demand_begin(plim_demand *demand, plim_schedule *out, int32_t runs_limit) {
  memset(demand->available, 0, (size_t)demand->problem->n_items);
  memset(demand->ran, 0, (size_t)demand->problem->n_ops);
  demand->out = out;
  demand->runs_limit = runs_limit;
  out->n = 0;
}

static plim_status run_op(plim_demand *demand, int32_t v) {
  const plim_ids *writes = &demand->problem->op[v].writes;
  for (int32_t i = 0; i < writes->n; i++) demand->available[writes->at[i]] = 1;
  demand->ran[v] = 1;
  return plim_schedule_add(demand->out, v, 0);
}

static int may_repeat(const plim_demand *demand, int32_t v) {
  const plim_planned_op *op = &demand->problem->op[v];
  if (op->runs_once) return 0;
  for (int32_t i = 0; i < op->closed_by.n; i++) {
    if (demand->ran[op->closed_by.at[i]]) return 0;
  }
  return 1;
}

/* The producer of an input that op v misses, where it may be recomputed; -1: v can run. *seen counts the reads known to
 * be available. They stay available until v runs, so an op costs O(reads). */
static int32_t missing_producer(plim_demand *demand, int32_t v, int32_t *seen) {
  const plim_ids *reads = &demand->problem->op[v].reads;
  for (; *seen < reads->n; (*seen)++) {
    int32_t item = reads->at[*seen], producer = demand->problem->item[item].producer;
    if (producer < 0 || demand->available[item]) continue;
    if (may_repeat(demand, producer)) return producer;
    demand->available[item] = 1; /* its older value is alive on */
  }
  return -1;
}

static void push(plim_demand *demand, int32_t at, int32_t v) {
  demand->stack[at] = v;
  demand->seen[at] = 0;
}

plim_status plim_demand_run(plim_demand *demand, int32_t v) {
  plim_context *ctx = demand->problem->ctx;
  int32_t n = 0;
  push(demand, n++, v);
  while (n > 0) {
    int32_t missing = missing_producer(demand, demand->stack[n - 1], &demand->seen[n - 1]);
    if (plim_effort_over(ctx, chain_tuning.run_ns)) return plim_fail(ctx, PLIM_ECANCEL, "planning was cancelled");
    if (missing >= 0) {
      push(demand, n++, missing); /* producers come earlier in program order: no op is on the stack twice */
    } else if (demand->out->n >= demand->runs_limit) {
      return plim_fail(ctx, PLIM_ENOFIT, "recomputation needs more than %d runs", demand->runs_limit);
    } else {
      PLIM_TRY(run_op(demand, demand->stack[--n]));
    }
  }
  return PLIM_OK;
}

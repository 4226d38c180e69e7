/* Class stages by the constraint search of class copies (planner/exact/staged_search.c). In n stages no node runs more
 * than n times, so with n copies both classes are the same, and the search proves. Graphs of many nodes get fewer
 * copies: what is found then is a plan without a proof. */
#include "planner/strategies/strategies_internal.h"

#include "planner/exact/dag.h"
#include "planner/exact/stage_model.h"
#include "planner/exact/staged.h"

static int32_t copies_for(const plim_dag *dag) {
  int32_t copies = 1 + strategies_tuning.stage_constraint.repeats / dag->n;
  return copies < 3 ? 3 : copies < dag->n ? copies : dag->n;
}

/* The search gets half of the time left; without a time limit a few thousand nodes. */
static void set_limits(const plim_stage_plans *plans, plim_staged_search *search) {
  const plim_plan_options *options = plans->inc->task.options;
  double seconds = plim_stage_plans_seconds_left(plans->inc);
  search->nodes =
      strategies_tuning.stage_constraint.nodes_min +
      strategies_tuning.stage_constraint.work / (plans->dag->n * (int64_t)search->copies + plans->dag->n_edges + 1);
  search->deadline_ns = PLIM_TIME_UNLIMITED;
  if (options->iterations > 0 && options->iterations < search->nodes) search->nodes = options->iterations;
  if (options->iterations > 0 || seconds == 0) return;
  search->nodes = INT64_MAX / 2;
  search->deadline_ns = plim_now_ns() + (int64_t)(seconds > 0 ? seconds * 0.5e9 : 0);
}

static plim_status begin_at_best(plim_stage_plans *plans, int32_t copies, plim_repeats *start) {
  const plim_stage_schedule *best = plans->best;
  if (!plans->has_best) return PLIM_OK;
  PLIM_TRY(plim_dag_schedule(plans->dag, best->n_positions, best->node, &plans->schedule));
  return plim_repeats_from_schedule(plans->dag, &plans->schedule, copies, start);
}

static plim_status submit_repeats(plim_stage_plans *plans, const plim_repeats *repeats) {
  plim_staged staged;
  PLIM_TRY(plim_staged_make(plans->dag, &staged));
  plim_status status = plim_staged_evaluate(&staged, repeats);
  if (status == PLIM_OK) status = plim_staged_schedule(&staged, &plans->schedule);
  if (status == PLIM_OK) status = plim_stage_schedule_project(plans->stages, &plans->schedule);
  plim_staged_free(&staged);
  return status == PLIM_OK ? plim_stage_plans_submit(plans) : status;
}

plim_status plim_stage_plans_submit_search(plim_stage_plans *plans) {
  plim_context *ctx = plans->dag->ctx;
  plim_incumbent *inc = plans->inc;
  plim_repeats start = {.ctx = ctx};
  plim_staged_search search = {.dag = plans->dag,
                               .copies = copies_for(plans->dag),
                               .limit_bytes = plans->limit_bytes,
                               .bound_ns = inc->bound_ns,
                               .faster_than_ns = plans->has_best ? plans->best->time_ns : PLIM_TIME_INFINITE,
                               .seed = inc->task.options->seed,
                               .best = {.ctx = ctx}};
  plim_status status, submitted = PLIM_OK;
  set_limits(plans, &search);
  PLIM_TRY_OR_DONE(begin_at_best(plans, search.copies, &start));
  status = plim_staged_search_run(&search, &start);
  if (search.found) submitted = submit_repeats(plans, &search.best);
  if (status == PLIM_OK) status = submitted;
  if (search.is_exhausted && search.copies == plans->dag->n && plans->dag->is_exact &&
      plans->limit_bytes >= inc->task.budget_bytes) {
    plim_incumbent_raise_bound(inc, search.faster_than_ns);
  }
done:
  plim_repeats_free(&search.best);
  plim_repeats_free(&start);
  return status;
}

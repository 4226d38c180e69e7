/* The strategy `milp`: Checkmate's integer program.
 *   1. first plans: program order, and that of a short default search
 *   2. the constraint search, which proves the best of many small graphs by itself
 *   3. the integer program, by HiGHS or CBC, from the best plan as start
 * Where the program would be too large, 1 and 2 are all. Where the answer does not pack, or exceeds the budget by the
 * solver's tolerance, the program is solved again for less. Its bound stays that of the first program.
 * Source: Jain et al., "Checkmate: breaking the memory wall with optimal tensor rematerialization", MLSys 2020. */
#include "planner/strategies/strategy.h"

#include "planner/strategies/strategies_internal.h"

/* The objective of a stage schedule: time of its repeats, in units of the reduction. */
static double objective_of(const plim_stage_plans *plans, const plim_stage_schedule *stages) {
  int64_t units = (stages->time_ns - plans->dag->time_ns) / plans->dag->time_unit;
  return (double)units;
}

/* Solve for the limit, from the best plan that is known. */
static plim_status solve_once(plim_stage_plans *plans, plim_solver *solver, const plim_stage_model *model,
                              double *start, double *point, int is_first) {
  plim_solution solution;
  if (plans->has_best) plim_stage_model_point(model, plans->best, start);
  PLIM_TRY(plim_stage_plans_solve(plans, solver, model, plans->has_best ? start : NULL, 0, &solution, point));
  plans->excess_bytes = 0;
  if (solution.found) {
    PLIM_TRY(plim_stage_model_read(model, point, 0.5, plans->stages));
    plans->excess_bytes = plans->stages->peak_bytes - plans->limit_bytes;
    PLIM_TRY(plim_stage_plans_submit(plans));
  }
  if (solution.end == PLIM_SOLVE_INFEASIBLE && plans->has_best) {
    solution.bound = objective_of(plans, plans->best); /* nothing is below the cutoff */
  }
  if (is_first) plim_stage_plans_raise_bound(plans, model, solution.bound);
  return plim_context_cancelled(plans->dag->ctx) ? plim_fail(plans->dag->ctx, PLIM_ECANCEL, "planning was cancelled")
                                                 : PLIM_OK;
}

static plim_status solve_round(plim_stage_plans *plans, plim_solver *solver, int is_first) {
  plim_context *ctx = plans->dag->ctx;
  plim_stage_model *model = NULL;
  double *start = NULL, *point = NULL;
  plim_status status;
  PLIM_TRY(plim_stage_plans_model(plans, plans->limit_bytes, &model));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, model->linear.n_columns, sizeof *start, &start));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, model->linear.n_columns, sizeof *point, &point));
  PLIM_TRY_OR_DONE(solve_once(plans, solver, model, start, point, is_first));
done:
  plim_release(ctx, start, model->linear.n_columns, sizeof *start);
  plim_release(ctx, point, model->linear.n_columns, sizeof *point);
  plim_stage_model_free(model);
  return status;
}

static plim_status solve_rounds(plim_stage_plans *plans, plim_solver *solver) {
  plim_incumbent *inc = plans->inc;
  int64_t least = plim_dag_least_peak(plans->dag, NULL);
  if (least > plans->limit_bytes) return PLIM_OK;
  PLIM_TRY(plim_stage_plans_submit_first(plans));
  if (plim_incumbent_proved(inc)) return PLIM_OK;
  PLIM_TRY(plim_stage_plans_submit_search(plans));
  if (!plim_stage_model_fits(plans->dag)) return PLIM_OK;
  for (int32_t round = 0; round < strategies_tuning.milp.rounds; round++) {
    if (plim_incumbent_proved(inc)) return PLIM_OK;
    if (plans->limit_bytes < least || plim_stage_plans_seconds_left(inc) < 0) return PLIM_OK;
    PLIM_TRY(solve_round(plans, solver, round == 0));
    if (plans->excess_bytes <= 0) return PLIM_OK;
    plans->limit_bytes -= plans->excess_bytes;
    plans->has_best = 0;
  }
  return PLIM_OK;
}

plim_status plim_milp_run(plim_incumbent *inc) {
  return plim_stage_plans_run(inc, solve_rounds);
}

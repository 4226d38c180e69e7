/* The strategy `milp`: Checkmate's integer program.
 *   1. first plans: program order, and that of a short default search
 *   2. the constraint search, which proves the best of many small graphs by itself
 *   3. the integer program, by HiGHS or CBC, from the best plan as start
 * Where the program would be too large, 1 and 2 are all. Where the answer does not pack, or exceeds the budget by the
 * solver's tolerance, the program is solved again for less. Its bound stays that of the first program.
 * Source: Jain et al., "Checkmate: breaking the memory wall with optimal tensor rematerialization", MLSys 2020. */
#include "planner/strategies/strategy.h"

#include "planner/strategies/stage_plans.h"
#include "planner/strategies/strategies_tuning.h"

/* The objective of a stage schedule: time of its repeats, in units of the reduction. */
static double repeats(const plim_stage_plans *p, const plim_stage_schedule *s) {
  int64_t units = (s->time_ns - p->dag->time_ns) / p->dag->time_unit;
  return (double)units;
}

/* Solve for the limit, from the best plan that is known. */
static plim_status solve_once(plim_stage_plans *p, plim_solver *solver, const plim_stage_model *model, double *start,
                              double *point, int32_t first) {
  plim_solution s;
  if (p->has_best) plim_stage_model_point(model, p->best, start);
  PLIM_TRY(plim_stage_plans_solve(p, solver, model, p->has_best ? start : NULL, 0, &s, point));
  p->excess_bytes = 0;
  if (s.found) {
    PLIM_TRY(plim_stage_model_read(model, point, 0.5, p->stages));
    p->excess_bytes = p->stages->peak_bytes - p->limit_bytes;
    PLIM_TRY(plim_stage_plans_submit(p));
  }
  if (s.end == PLIM_SOLVE_INFEASIBLE && p->has_best) s.bound = repeats(p, p->best); /* nothing is below the cutoff */
  if (first) plim_stage_plans_bound(p, model, s.bound);
  return plim_context_cancelled(p->dag->ctx) ? plim_fail(p->dag->ctx, PLIM_ECANCEL, "planning was cancelled") : PLIM_OK;
}

static plim_status solve_round(plim_stage_plans *p, plim_solver *solver, int32_t first) {
  plim_context *ctx = p->dag->ctx;
  plim_stage_model *model = NULL;
  double *start = NULL, *point = NULL;
  plim_status status;
  PLIM_TRY(plim_stage_plans_model(p, p->limit_bytes, &model));
  PLIM_CHECK(plim_allocate(ctx, model->linear.n_columns, sizeof *start, &start));
  PLIM_CHECK(plim_allocate(ctx, model->linear.n_columns, sizeof *point, &point));
  PLIM_CHECK(solve_once(p, solver, model, start, point, first));
done:
  plim_release(ctx, start, model->linear.n_columns, sizeof *start);
  plim_release(ctx, point, model->linear.n_columns, sizeof *point);
  plim_stage_model_free(model);
  return status;
}

static plim_status solve_rounds(plim_stage_plans *p, plim_solver *solver) {
  plim_incumbent *inc = p->inc;
  int64_t least = plim_dag_least_peak(p->dag, NULL);
  if (least > p->limit_bytes) return PLIM_OK;
  PLIM_TRY(plim_stage_plans_start(p));
  if (plim_incumbent_proved(inc)) return PLIM_OK;
  PLIM_TRY(plim_stage_plans_search(p));
  if (!plim_stage_model_fits(p->dag)) return PLIM_OK;
  for (int32_t round = 0; round < strategies_tuning.milp.rounds; round++) {
    if (plim_incumbent_proved(inc)) return PLIM_OK;
    if (p->limit_bytes < least || plim_stage_plans_seconds(inc) < 0) return PLIM_OK;
    PLIM_TRY(solve_round(p, solver, round == 0));
    if (p->excess_bytes <= 0) return PLIM_OK;
    p->limit_bytes -= p->excess_bytes;
    p->has_best = 0;
  }
  return PLIM_OK;
}

plim_status plim_milp_run(plim_incumbent *inc) {
  return plim_stage_plans_run(inc, solve_rounds);
}

/* The strategy `lp-round`: Checkmate's relaxation, rounded in two phases. What is kept follows from a threshold, the
 * runs follow from what is kept.
 *
 * Example: the relaxation keeps node 3 into stage 7 to 0.4. A threshold of 0.3 keeps it. One of 0.5 does not, and node
 * 3 runs once more in stage 7, if anything reads it there.
 *
 * Rounding does not look at the budget. So the relaxation is also solved for a little less, thresholds are swept, and
 * each outcome is repaired and submitted. The relaxation for the whole budget is the bound. Before it come plans of the
 * cut model, which has a column an op in place of one a pair of ops. They are all where the program is too large.
 * Source: Jain et al., "Checkmate: breaking the memory wall with optimal tensor rematerialization", MLSys 2020, sec. 5.
 */
#include "planner/strategies/strategy.h"

#include "planner/strategies/strategies_internal.h"

static plim_status submit_rounded(plim_stage_plans *plans, const plim_stage_model *model, const double *point) {
  for (int32_t k = 1; k <= strategies_tuning.lp_round.thresholds && !plim_context_cancelled(plans->dag->ctx); k++) {
    PLIM_TRY(
        plim_stage_model_read(model, point, (double)k / (strategies_tuning.lp_round.thresholds + 1), plans->stages));
    PLIM_TRY(plim_stage_plans_submit(plans));
  }
  return PLIM_OK;
}

/* Can the program be solved in the pivots allowed? With more columns than pivots it cannot, and is not begun. */
static int may_end(const plim_plan_options *options, const plim_stage_model *model) {
  return options->iterations <= 0 || model->linear.n_columns <= options->iterations;
}

static plim_status solve_margin(plim_stage_plans *plans, plim_solver *solver, int64_t limit) {
  plim_context *ctx = plans->dag->ctx;
  plim_stage_model *model = NULL;
  double *point = NULL;
  plim_solution solution;
  plim_status status = PLIM_OK;
  PLIM_TRY(plim_stage_plans_model(plans, limit, &model));
  if (!may_end(plans->inc->task.options, model)) goto done;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, model->linear.n_columns, sizeof *point, &point));
  PLIM_TRY_OR_DONE(plim_stage_plans_solve(plans, solver, model, NULL, 1, &solution, point));
  if (solution.found) PLIM_TRY_OR_DONE(submit_rounded(plans, model, point));
  if (limit == plans->limit_bytes) plim_stage_plans_raise_bound(plans, model, solution.bound);
  if (plim_context_cancelled(ctx)) status = plim_fail(ctx, PLIM_ECANCEL, "planning was cancelled");
done:
  plim_release(ctx, point, model->linear.n_columns, sizeof *point);
  plim_stage_model_free(model);
  return status;
}

static plim_status round_margins(plim_stage_plans *plans, plim_solver *solver) {
  plim_incumbent *inc = plans->inc;
  int64_t least = plim_dag_least_peak(plans->dag, NULL), room = plans->limit_bytes - plans->dag->base_bytes;
  if (least > plans->limit_bytes) return PLIM_OK;
  int fits = plim_stage_model_fits(plans->dag);
  PLIM_TRY(plim_stage_plans_submit_order(plans));
  for (int32_t i = 0; i < 2 * PLIM_LP_ROUND_MARGINS; i++) {
    int64_t limit =
        plans->limit_bytes - room / 100 * strategies_tuning.lp_round.margin_percent[i % PLIM_LP_ROUND_MARGINS];
    if (plim_incumbent_proved(inc)) return PLIM_OK;
    if (plim_stage_plans_seconds_left(inc) < 0) return PLIM_OK;
    if (limit < least || (i >= PLIM_LP_ROUND_MARGINS && !fits)) continue;
    PLIM_TRY(i < PLIM_LP_ROUND_MARGINS ? plim_stage_plans_submit_cut(plans, limit)
                                       : solve_margin(plans, solver, limit));
  }
  return PLIM_OK;
}

plim_status plim_lp_round_run(plim_incumbent *inc) {
  return plim_stage_plans_run(inc, round_margins);
}

/* Checkmate's relaxation, rounded in two phases: what is kept by a threshold, then the runs that follow from it.
 * Rounding does not look at the budget, so the relaxation is solved for a little less as well, the threshold is swept,
 * and each outcome is repaired, checked against the budget and submitted. The relaxation for all of the budget is the
 * bound. Where its program is too large, or not done within the effort, the relaxation of the cut model, rounded and
 * walked, takes its place: it has a column an op, not one a pair of ops. Source: Jain et al., Checkmate, MLSys 2020,
 * section 5. */
#include <math.h>

#include "planner/strategies/strategies_internal.h"
#include "planner/strategies/strategy.h"

static const int32_t margin_percent[] = {0, 5, 10, 20};
enum { MARGINS = sizeof margin_percent / sizeof margin_percent[0], THRESHOLDS = 19 };

static plim_status submit_rounded(plim_stage_plans *p, const plim_stage_model *model, const double *point) {
  for (int32_t k = 1; k <= THRESHOLDS && !plim_context_cancelled(p->dag->ctx); k++) {
    PLIM_TRY(plim_stage_model_read(model, point, (double)k / (THRESHOLDS + 1), p->stages));
    PLIM_TRY(plim_stage_plans_submit(p));
  }
  return PLIM_OK;
}

/* Nothing with more columns than pivots allowed gets done, but a solver would look at all of it first. */
static int may_end(const plim_plan_options *o, const plim_stage_model *model) {
  return o->iterations <= 0 || model->linear.n_columns <= o->iterations;
}

static plim_status solve_margin(plim_stage_plans *p, plim_solver *solver, int64_t limit) {
  plim_context *ctx = p->dag->ctx;
  plim_stage_model *model = NULL;
  double *point = NULL;
  plim_solution s;
  plim_status status = PLIM_OK;
  PLIM_TRY(plim_stage_plans_model(p, limit, &model));
  if (!may_end(p->inc->options, model)) goto done;
  PLIM_CHECK(plim_allocate(ctx, model->linear.n_columns, sizeof *point, &point));
  PLIM_CHECK(plim_stage_plans_solve(p, solver, model, NULL, 1, &s, point));
  if (s.found) PLIM_CHECK(submit_rounded(p, model, point));
  if (limit == p->limit_bytes) plim_stage_plans_bound(p, model, s.bound);
  if (plim_context_cancelled(ctx)) status = plim_fail(ctx, PLIM_ECANCEL, "planning was cancelled");
done:
  plim_release(ctx, point, model->linear.n_columns, sizeof *point);
  plim_stage_model_free(model);
  return status;
}

static plim_status run(plim_stage_plans *p, plim_solver *solver) {
  plim_incumbent *inc = p->inc;
  int64_t least = plim_dag_least_peak(p->dag, NULL), room = p->limit_bytes - p->dag->base_bytes;
  if (least > p->limit_bytes) return PLIM_OK;
  int fits = plim_stage_model_fits(p->dag);
  PLIM_TRY(plim_stage_plans_order(p));
  for (int32_t i = 0; i < 2 * MARGINS; i++) {
    int64_t limit = p->limit_bytes - room / 100 * margin_percent[i % MARGINS];
    if (inc->found && inc->best_ns <= inc->bound_ns) return PLIM_OK;
    if (plim_stage_plans_seconds(inc) < 0) return PLIM_OK;
    if (limit < least || (i >= MARGINS && !fits)) continue;
    PLIM_TRY(i < MARGINS ? plim_stage_plans_cut(p, limit) : solve_margin(p, solver, limit));
  }
  return PLIM_OK;
}

plim_status plim_lp_round_run(plim_incumbent *inc) {
  return plim_stage_plans_run(inc, run);
}

/* Checkmate's relaxation, rounded in two phases: what is kept by a threshold, then the runs that follow from it.
 * Rounding does not look at the budget, so the relaxation is solved for a little less as well, the threshold is swept,
 * and each outcome is repaired, checked against the budget and offered. The relaxation for all of the budget is the
 * bound. Source: Jain et al., Checkmate, MLSys 2020, section 5. */
#include <math.h>

#include "planner/exact/stage_plans.h"

static const int32_t margin_percent[] = {0, 5, 10, 20};
enum { MARGINS = sizeof margin_percent / sizeof margin_percent[0], THRESHOLDS = 19 };

static plim_status offer_rounded(plim_stage_plans *p, const plim_stage_model *model, const double *point) {
  for (int32_t k = 1; k <= THRESHOLDS; k++) {
    PLIM_TRY(plim_stage_model_read(model, point, (double)k / (THRESHOLDS + 1), p->stages));
    PLIM_TRY(plim_stage_plans_offer(p));
  }
  return PLIM_OK;
}

static plim_status solve_margin(plim_stage_plans *p, plim_solver *solver, int64_t limit) {
  plim_context *ctx = p->dag->ctx;
  plim_stage_model *model = NULL;
  double *point = NULL;
  plim_solution s;
  plim_status status;
  PLIM_TRY(plim_stage_plans_model(p, limit, &model));
  PLIM_CHECK(plim_allocate(ctx, model->linear.n_columns, sizeof *point, &point));
  PLIM_CHECK(plim_stage_plans_solve(p, solver, model, NULL, 1, &s, point));
  if (s.found) PLIM_CHECK(offer_rounded(p, model, point));
  if (limit == p->limit_bytes) plim_stage_plans_bound(p, model, s.bound);
  if (plim_context_cancelled(ctx)) status = plim_fail(ctx, PLIM_ECANCEL, "planning was cancelled");
done:
  plim_release(ctx, point, model->linear.n_columns, sizeof *point);
  plim_stage_model_free(model);
  return status;
}

static plim_status run(plim_stage_plans *p, plim_solver *solver) {
  plim_planning *pl = p->pl;
  int64_t least = plim_dag_least_peak(p->dag, NULL), room = p->limit_bytes - p->dag->base_bytes;
  if (least > p->limit_bytes) return PLIM_OK;
  PLIM_TRY(plim_stage_plans_order(p));
  if (!plim_stage_model_fits(p->dag)) return PLIM_OK;
  for (int32_t i = 0; i < MARGINS; i++) {
    int64_t limit = p->limit_bytes - room / 100 * margin_percent[i];
    if (pl->found && pl->best_ns <= pl->bound_ns) return PLIM_OK;
    if (limit < least || plim_stage_plans_seconds(pl) < 0) return PLIM_OK;
    PLIM_TRY(solve_margin(p, solver, limit));
  }
  return PLIM_OK;
}

plim_status plim_lp_round_run(plim_planning *pl) {
  return plim_stage_plans_run(pl, run);
}

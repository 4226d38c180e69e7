/* From a curve to a best plan and back. */
#include "planner/curve/kept.h"

#include "planner/cut/cut.h"

static plim_curve_try try_of(const plim_planning *pl) {
  const plim_plan_options *o = pl->options;
  return (plim_curve_try){.budget_bytes = pl->lowest ? PLIM_TRY_LOWEST : pl->budget_bytes,
                          .iterations = o->iterations,
                          .time_limit_ns = o->time_limit_ns,
                          .seed = o->seed & INT64_MAX,
                          .threads = o->threads > 1 ? o->threads : 1};
}

/* The curve's point for this planning; one that turns out wrong makes the curve of no use. */
static plim_status take_known(plim_planning *pl, plim_curve *curve, int32_t *taken) {
  const plim_curve_point *point = pl->lowest ? plim_curve_lowest(curve) : plim_curve_find(curve, pl->budget_bytes);
  *taken = 0;
  if (!point) return PLIM_OK;
  PLIM_TRY(plim_planning_offer_point(pl, point, taken));
  if (!*taken) plim_curve_free(curve);
  return PLIM_OK;
}

static plim_status search(plim_planning *pl, const plim_strategy *strategy, plim_curve *curve,
                          plim_curve_try *attempt) {
  pl->curve = curve;
  plim_status status = pl->lowest ? strategy->run_lowest(pl) : plim_cut_after(pl, strategy);
  pl->curve = NULL;
  if (status != PLIM_OK || !pl->found) return status;
  attempt->bound_ns = pl->lowest ? 0 : pl->bound_ns;
  return plim_curve_note(curve, attempt);
}

plim_status plim_kept_run(plim_planning *pl, const plim_strategy *strategy, plim_curve *curve, int32_t *kept) {
  plim_curve_try attempt = try_of(pl);
  int32_t taken;
  PLIM_TRY(take_known(pl, curve, &taken));
  int64_t bound_ns = pl->lowest ? 0 : plim_curve_bound(curve, pl->budget_bytes);
  int64_t known_ns = pl->best_ns, known_bytes = pl->best_bytes;
  if (bound_ns > pl->bound_ns && (!taken || bound_ns <= pl->best_ns)) pl->bound_ns = bound_ns;
  int done = taken && (plim_curve_tried(curve, &attempt) || (!pl->lowest && pl->best_ns <= pl->bound_ns));
  plim_status status = done ? PLIM_OK : search(pl, strategy, curve, &attempt);
  *kept = taken && pl->best_ns == known_ns && pl->best_bytes == known_bytes;
  return status;
}

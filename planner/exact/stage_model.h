/* Checkmate's integer program over the nodes of a dag: which node runs in which stage, what is kept between stages and
 * what is released within them, so that the bytes in use never exceed the budget and repeats take the least time. */
#ifndef PLIM_PLANNER_EXACT_STAGE_MODEL_H
#define PLIM_PLANNER_EXACT_STAGE_MODEL_H

#include "planner/exact/stage_schedule.h"
#include "planner/solvers/solver.h"

typedef struct plim_stage_model {
  const plim_dag *dag;
  int32_t n;
  plim_model linear; /* objective: time of repeats in units of dag->time_unit */
  double budget;     /* in units of dag->bytes_unit, what is always there subtracted */
  int64_t most_repeat_ns;
  int32_t *last_use; /* [n] last stage in which a copy of the node may be of use */
  /* columns, [n][n] by stage and node, -1: none. release: the first of the node's, one a reader that may run */
  int32_t *run, *keep, *release, *used;
} plim_stage_model;

/* Is the program of a size that solvers can be given? At most two million columns and twenty million terms. */
int plim_stage_model_fits(const plim_dag *dag);

/* Build. Repeats longer than `most_repeat_ns` are left out: a plan that is already known is as fast without them. The
 * budget is at least plim_dag_least_peak, and the model fits. */
PLIM_MUST_USE plim_status plim_stage_model_make(const plim_dag *dag, int64_t budget_bytes, int64_t most_repeat_ns,
                                                plim_stage_model **out);
void plim_stage_model_free(plim_stage_model *model); /* NULL is legal */

/* The point of a stage schedule that keeps nothing in vain: point [linear.n_columns]. Not feasible if its peak is above
 * the budget. */
void plim_stage_model_point(const plim_stage_model *model, const plim_stage_schedule *stages, double *point);

/* Keep what a point keeps to at least `threshold`; then derive. */
PLIM_MUST_USE plim_status plim_stage_model_read(const plim_stage_model *model, const double *point, double threshold,
                                                plim_stage_schedule *stages);

/* The least time of any stage schedule, repeats included, that follows from a bound on the objective. */
int64_t plim_stage_model_bound(const plim_stage_model *model, double bound);

#endif

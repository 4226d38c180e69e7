/* Schedules in stages (Checkmate's class) and its integer program. */
#ifndef PLIM_PLANNER_EXACT_STAGE_MODEL_H
#define PLIM_PLANNER_EXACT_STAGE_MODEL_H

#include "planner/exact/dag.h"
#include "planner/solvers/solver.h"

/* ==== schedules (stage_schedule.c) ==== */

/* Stage schedules (Checkmate's class): stage t ends with the first run of node t, and in a stage each node before it
 * runs at most once more, in order. What is kept from stage to stage determines what is recomputed: `keep` is the
 * plan, the rest follows from it.
 *
 * Example: node 1 reads node 0, node 2 reads both. Where stage 1 keeps node 0 and stage 2 only node 1, the stages are
 * 0 | 1 | 0 2: stage 2 misses the output of node 0, which runs once more. Where stage 2 keeps both, they are
 * 0 | 1 | 2. */

enum { PLIM_STAGE_SCHEDULE_MAX_NODES = 2048 };

typedef struct plim_stage_schedule {
  const plim_dag *dag;
  int32_t n;
  uint8_t *keep; /* [n][n] row t, column i < t: the output of i is kept from stage t - 1 into stage t */
  /* derived: */
  uint8_t *run;          /* [n][n] row t, column i <= t: i runs in stage t */
  int32_t n_positions;   /* the sequence: run, row by row */
  int32_t *node, *stage; /* [n_positions] */
  int32_t *last;         /* [n_positions] last position that reads the copy made here; n_positions: kept to the end */
  int64_t *level;        /* [n_positions] bytes alive */
  int64_t peak_bytes, time_ns;
  int32_t peak_position;
  int32_t *latest; /* [n] scratch */
  int64_t position_capacity;
} plim_stage_schedule;

/* Where node i of stage t stands in an [n][n] array. */
static inline size_t plim_stage_cell(int32_t n, int32_t t, int32_t i) {
  return (size_t)t * (size_t)n + (size_t)i;
}

/* Nothing kept. PLIM_EUSAGE for more than PLIM_STAGE_SCHEDULE_MAX_NODES nodes. */
PLIM_MUST_USE plim_status plim_stage_schedule_new(const plim_dag *dag, plim_stage_schedule **out);
void plim_stage_schedule_free(plim_stage_schedule *stages); /* NULL is legal */

/* Derive the rest from `keep`: the least runs with which every node has its operands, then the levels. Where a node may
 * not run any more, its output is kept instead (which adds to `keep`).
 * O(n (n + edges)). Source: Jain et al., Checkmate, MLSys 2020, section 5.2. */
PLIM_MUST_USE plim_status plim_stage_schedule_derive(plim_stage_schedule *stages);

/* Keep what a schedule of the problem (first runs in program order) has alive and reads later between two stages; then
 * derive. The result is the same schedule if that has stages. */
PLIM_MUST_USE plim_status plim_stage_schedule_project(plim_stage_schedule *stages, const plim_schedule *schedule);

/* Forget what is kept but read by no one; then derive. */
PLIM_MUST_USE plim_status plim_stage_schedule_prune(plim_stage_schedule *stages);

/* ==== repair (repair.c) ==== */

/* Stage schedules brought within a budget, and then as short as small changes make them. */

/* Drop copies across the highest position, the one with the least time for what it saves first, until the peak is
 * within `limit`, then keep copies that fit instead of recomputing them; stop at the deadline (PLIM_TIME_UNLIMITED:
 * none). *fits: whether it came within the limit. Deterministic without a deadline. PLIM_ECANCEL leaves a valid
 * schedule; a cancel of one that fits ends the changes alone. */
PLIM_MUST_USE plim_status plim_stage_schedule_repair(plim_stage_schedule *stages, int64_t limit, int64_t deadline_ns,
                                                     int *fits);

/* ==== integer program (stage_model.c) ==== */

/* Checkmate's integer program over the nodes of a dag: which node runs in which stage, what is kept between stages and
 * what is released within them, so that the bytes in use never exceed the budget and repeats take the least time. */

typedef struct plim_stage_model {
  const plim_dag *dag;
  int32_t n;
  plim_model linear; /* objective: time of repeats in units of dag->time_unit */
  double budget;     /* in units of dag->bytes_unit, what is always there subtracted */
  int64_t max_repeat_ns;
  int32_t *last_use; /* [n] last stage in which a copy of the node may be of use */
  /* columns, [n][n] by stage and node, -1: none. release: the first of the node's, one a reader that may run */
  int32_t *run, *keep, *release, *used;
} plim_stage_model;

/* Is the program of a size that solvers can be given? At most two million columns and twenty million terms. */
int plim_stage_model_fits(const plim_dag *dag);

/* Build. Repeats longer than `max_repeat_ns` are left out: a plan that is already known is as fast without them. The
 * budget is at least plim_dag_least_peak, and the model fits. */
PLIM_MUST_USE plim_status plim_stage_model_make(const plim_dag *dag, int64_t budget_bytes, int64_t max_repeat_ns,
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

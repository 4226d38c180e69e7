/* The graph as published models know it, and schedules in stages over it. */
#ifndef PLIM_PLANNER_EXACT_DAG_H
#define PLIM_PLANNER_EXACT_DAG_H

#include "planner/core/incumbent.h"
#include "planner/solvers/solver.h"

/* ==== dag ==== */

/* The graph as published models of recomputation know it: nodes with one output, one time and one size.
 *
 * A conservative reduction of a planning problem: what fits here fits there, never the other way round. Nodes are the
 * inputs that are read, then the ops in program order, so that edges go up. A node's outputs come and go together; it
 * runs in one choice; nothing is written over an input. What a step graph forbids is kept exactly: `last_stage` ends
 * the repeats of a node where an update begins that it must not see, and effect ops and inputs have none. Where nothing
 * was given away the reduction is `exact`, and lower bounds of classes stages and copies hold for the problem (its
 * arena, too: no arena is smaller than the peak). */

typedef struct plim_dag_node {
  int32_t op;     /* -1: an input, there before the first step */
  int32_t choice; /* of the op: the fastest that fits beside its operands, or the one of least workspace */
  int64_t bytes;  /* of what it writes */
  int64_t workspace_bytes;
  int64_t time_ns;
  int32_t last_stage; /* the node may run until the first run of this one (not after it), itself included */
  int32_t kept;       /* 1: its last copy is alive to the end */
  plim_list preds, succs;
} plim_dag_node;

typedef struct plim_dag {
  plim_context *ctx;
  const plim_problem *problem;
  int32_t n, n_inputs, n_edges;
  int32_t exact;
  const plim_dag_node *node; /* [n] */
  int64_t base_bytes;        /* always there */
  int64_t time_ns;           /* every node once */
  int64_t bytes_unit;        /* > 0, divides bytes and workspaces of all nodes */
  int64_t time_unit;         /* > 0, divides all times */
  /* owned */
  plim_dag_node *own_node;
  int32_t *pool, *item_node;
  int64_t room_pool;
} plim_dag;

/* Reduce. `budget_bytes` only serves the choices of variants. The problem must outlive the dag. O(graph). */
PLIM_MUST_USE plim_status plim_dag_make(const plim_problem *problem, int64_t budget_bytes, plim_dag **out);
void plim_dag_free(plim_dag *dag); /* NULL is legal */

/* Bytes while node v runs with nothing but its operands resident; and the largest of them over all nodes: no schedule
 * of the dag has a lower peak. *node (may be NULL) receives whose it is. */
int64_t plim_dag_working_set(const plim_dag *dag, int32_t v);
int64_t plim_dag_least_peak(const plim_dag *dag, int32_t *node);

/* The way back: a sequence of nodes, repeats allowed and inputs skipped, as a schedule of the problem. Whether it is
 * valid and fits is seen when it is submitted (plim_incumbent_submit). */
PLIM_MUST_USE plim_status plim_dag_schedule(const plim_dag *dag, int32_t n, const int32_t *sequence,
                                            plim_schedule *out);

/* ==== staged ==== */

/* Schedules of class copies: stages with a limit on the computations of a node.
 *
 * Stage t ends with the first run of node t; before it, in program order, run the repeats of that stage, each node at
 * most once. Any set of repeats (stage, node) with node < stage is a valid schedule: what counts is its peak. */

typedef struct plim_repeat {
  int32_t stage, node;
} plim_repeat;

/* A set of repeats, sorted by stage, then node: the order in which they run. Empty: {.ctx = ctx}. */
typedef struct plim_repeats {
  plim_context *ctx;
  int32_t n, room;
  plim_repeat *at;
} plim_repeats;

void plim_repeats_free(plim_repeats *repeats);
PLIM_MUST_USE plim_status plim_repeats_add(plim_repeats *repeats, plim_repeat repeat); /* not in it yet */
void plim_repeats_remove(plim_repeats *repeats, int32_t index);
PLIM_MUST_USE plim_status plim_repeats_copy(plim_repeats *to, const plim_repeats *from);
int plim_repeats_have(const plim_repeats *repeats, plim_repeat repeat);

/* A set of repeats, evaluated. */
typedef struct plim_staged {
  const plim_dag *dag;
  int32_t n, room; /* steps */
  int32_t *node;   /* [n] */
  int32_t *stage;  /* [n] */
  int32_t *last;   /* [n] the last step that reads its output, itself when none does */
  int64_t *level;  /* [n] bytes while it runs */
  int32_t *next;   /* [n] the next step that runs the same node, -1 */
  int32_t *first;  /* [dag->n] the first step that runs the node */
  int32_t *latest; /* [dag->n] the last one */
  int64_t peak_bytes, time_ns;
} plim_staged;

PLIM_MUST_USE plim_status plim_staged_make(const plim_dag *dag, plim_staged *out);
void plim_staged_free(plim_staged *staged);
/* O(n + edges). */
PLIM_MUST_USE plim_status plim_staged_evaluate(plim_staged *staged, const plim_repeats *repeats);

/* The repeats of a schedule of the problem, in stages: of a node that a stage would run twice only one, and of one with
 * more than `copies` runs the latest; the first runs are in program order. O(runs log runs). */
PLIM_MUST_USE plim_status plim_repeats_from_schedule(const plim_dag *dag, const plim_schedule *schedule, int32_t copies,
                                                     plim_repeats *out);
/* And back. */
PLIM_MUST_USE plim_status plim_staged_schedule(const plim_staged *staged, plim_schedule *out);

/* ==== stage schedule ==== */

/* Stage schedules (Checkmate's class): stage t ends with the first run of node t, and in a stage each node before it
 * runs at most once more, in order. What is kept from stage to stage determines what is recomputed: `keep` is the
 * plan, the rest follows from it. */

enum { PLIM_STAGE_SCHEDULE_MOST_NODES = 2048 };

typedef struct plim_stage_schedule {
  const plim_dag *dag;
  int32_t n;
  uint8_t *keep; /* [n][n] row t, column i < t: the output of i is kept from stage t - 1 into stage t */
  /* derived: */
  uint8_t *run;          /* [n][n] row t, column i <= t: i runs in stage t */
  int32_t n_steps;       /* the sequence: run, row by row */
  int32_t *node, *stage; /* [n_steps] */
  int32_t *last;         /* [n_steps] last step that reads the copy made here; n_steps: kept to the end */
  int64_t *level;        /* [n_steps] bytes alive */
  int64_t peak_bytes, time_ns;
  int32_t peak_step;
  int32_t *latest; /* [n] scratch */
  int64_t room_steps;
} plim_stage_schedule;

/* Nothing kept. PLIM_EUSAGE for more than PLIM_STAGE_SCHEDULE_MOST_NODES nodes. */
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

/* ==== stage model ==== */

/* Checkmate's integer program over the nodes of a dag: which node runs in which stage, what is kept between stages and
 * what is released within them, so that the bytes in use never exceed the budget and repeats take the least time. */

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

/* ==== repair ==== */

/* Stage schedules brought within a budget, and then as short as small changes make them. */

/* Drop copies across the highest step, the one with the least time for what it saves first, until the peak is within
 * `limit`, then keep copies that fit instead of recomputing them; stop at the deadline (INT64_MAX: none). *fits:
 * whether it came within the limit. Deterministic without a deadline. PLIM_ECANCEL leaves a valid schedule after; a
 * cancel of one that fits ends the changes alone. */
PLIM_MUST_USE plim_status plim_stage_schedule_repair(plim_stage_schedule *stages, int64_t limit, int64_t deadline_ns,
                                                     int32_t *fits);

#endif

/* The cut model of a problem: which ops certainly come before which, the segments of time that divide its columns, and
 * the cuts with their rows. And what solves it: flows that find violated rows, multipliers that bound it, branch and
 * cut, whose inside is in cut_solver_internal.h, and the way from a solution to a schedule. */
#ifndef PLIM_PLANNER_BOUND_CUT_MODEL_H
#define PLIM_PLANNER_BOUND_CUT_MODEL_H

#include "planner/bound/lp.h"
#include "planner/core/problem.h"

/* ==== order (order.c) ==== */

/* What is certain of the order of first runs. */

/* The most ops of a model. Its two bit matrices take 50 MB each at that size, and the matrix of needed items as much
 * for ops of one output. With a second model for program order this is 300 MB. */
enum { PLIM_CUT_MAX_OPS = 20000 };

/* What is certain of the order of first runs: a row of bits for each op. In a fixed order all earlier ops, else the
 * ancestors by data and updates. */
typedef struct plim_cut_order {
  plim_context *ctx;
  int32_t n_ops;
  int64_t words;    /* of a row */
  uint64_t *before; /* [n_ops][words] bit u of row v: the first run of u comes before that of v in every plan */
  uint64_t *after;  /* [n_ops][words] the transpose: bit u of row v: u comes after v in every plan */
} plim_cut_order;

/* is_order_fixed 1: first runs follow program order. At most PLIM_CUT_MAX_OPS ops. O(n edges / 64). */
PLIM_MUST_USE plim_status plim_cut_order_make(const plim_problem *problem, int is_order_fixed, plim_cut_order *out);
void plim_cut_order_free(plim_cut_order *order); /* leaves it empty */

static inline int plim_cut_bit(const plim_cut_order *order, const uint64_t *rows, int32_t row, int32_t bit) {
  return (int)(rows[(int64_t)row * order->words + bit / 64] >> (bit % 64) & 1U);
}

/* Does the first run of u come before that of v in every plan? */
static inline int plim_cut_before(const plim_cut_order *order, int32_t u, int32_t v) {
  return plim_cut_bit(order, order->before, v, u);
}

/* ==== segments (segments.c) ==== */

/* Segments of time in which an op may run again: a column each.
 *
 * The time after an op's first run is divided by first runs of ops that read all its outputs and that certainly follow
 * one another. An output that is not alive at v is recomputed before the next of these readers. That run lies in the
 * segment of v, or in a later one that begins before that reader. A run lies in one segment only, so costs of segments
 * add up. In program order v lies in exactly one segment. */

typedef struct plim_cut_segments {
  plim_context *ctx;
  int32_t n_ops, n;
  int32_t *first;  /* [n_ops + 1] an op's segments are [first[op], first[op + 1]), in order */
  int32_t *begins; /* [n] at the first run of that op; an op's first segment at its own */
  int64_t capacity;
} plim_cut_segments;

/* O(operands). */
PLIM_MUST_USE plim_status plim_cut_segments_make(const plim_problem *problem, const plim_cut_order *order,
                                                 plim_cut_segments *out);
void plim_cut_segments_free(plim_cut_segments *segments); /* leaves it empty */

typedef struct plim_cut_segment_range {
  int32_t first, end; /* segments [first, end) */
} plim_cut_segment_range;

/* The segments [first, end) of an op one of which has a run of it when an output of it is gone at v's first run and
 * read later; v certainly comes after the op's own first run. O(log segments). */
plim_cut_segment_range plim_cut_segment_range_of(const plim_cut_segments *segments, const plim_cut_order *order,
                                                 int32_t op, int32_t v);

/* The op of a segment. O(log ops). */
int32_t plim_cut_segment_op(const plim_cut_segments *segments, int32_t segment);

/* ==== cuts (cut_model.c) ==== */

/* The cut model: what every plan within a budget must recompute.
 *
 * Look at the first run of op v. An item is *needed* at v when it was certainly made before, and certainly has a reader
 * after v. Either it is alive while v runs, or its producer is recomputed after v; then the producer's inputs are alive
 * at v, or are recomputed in turn. What is alive at v must fit beside v's working set.
 *
 * Example: op 0 writes a, op 1 reads a and writes b, op 2 reads b and writes c, op 3 reads a and c. Each item has 4
 * bytes, and the budget is 10. At op 2 the working set is b and c: 8 bytes. a was made before and is read after, so it
 * is needed, and 8 + 4 > 10: op 2 is a cut. Either a is alive there, or op 0 is recomputed after op 2. The segment of
 * op 0 from its reader op 1 on is the column x that costs the time of op 0. The cut is 2 bytes over, and x frees 4 of
 * them, so its row is 4 x >= 2. No plan has x = 0: each runs op 0 twice, and takes the time of all ops and of op 0.
 *
 * A *column* is something that costs time. First come those of ops: the op is recomputed in a segment. Then one for
 * each slower choice by which an op may save workspace. A *cut* is an op at which not everything needed fits. A *point*
 * has a value from 0 to 1 for each column, a *solution* has 0 or 1. */

typedef struct plim_cut {
  int32_t op;
  int64_t base_bytes;               /* persistent storages and the working set with the fastest choice */
  int64_t needed_bytes;             /* of all needed items that the working set does not have */
  int32_t first_column, end_column; /* of its slower choices */
} plim_cut;

typedef struct plim_cut_model {
  const plim_problem *problem;
  plim_cut_order order;
  plim_cut_segments segments; /* the first columns */
  int32_t n_columns;
  int64_t *cost_ns;     /* [n_columns] the least that a run more costs; for a slower choice: than the fastest */
  int64_t *saved_bytes; /* [n_columns] of workspace, by a slower choice instead of the fastest; 0 for ops */
  int32_t n_cuts;
  plim_cut *cut;    /* [n_cuts] by what is needed, the most first: a smaller budget's cuts start with a larger one's */
  int64_t least_ns; /* every op once */
  int32_t column_capacity;
  uint64_t *needed; /* [n_items][order.words] bit v: the item is needed at op v */
} plim_cut_model;

/* is_order_fixed 1: bounds for program order, else for every order. O(operands x n / 64 + what is needed anywhere). */
PLIM_MUST_USE plim_status plim_cut_model_make(const plim_problem *problem, int is_order_fixed, plim_cut_model **out);
void plim_cut_model_free(plim_cut_model *model); /* NULL is legal */

/* Is the item alive at the first run of v unless its producer is recomputed? Items that the working set counts are not.
 */
static inline int plim_cut_needed(const plim_cut_model *model, int32_t item, int32_t v) {
  return plim_cut_bit(&model->order, model->needed, item, v);
}

/* May the op run after the first run of v, when it certainly ran before? */
int plim_cut_may_repeat(const plim_cut_model *model, int32_t op, int32_t v);

/* The next slower choice of the op that saves workspace, -1: none has less than `choice`. */
int32_t plim_cut_next_choice(const plim_planned_op *op, int32_t choice);

/* ==== solving (cut_solve.c, cut_solver.c) ==== */

/* The least time that the cut model allows within a budget: branch and cut. */

typedef struct plim_cut_limits {
  int64_t work; /* entries of rows, tableaus and lists that it reads, whatever the machine: about 10^9 a second */
  int64_t deadline_ns;   /* by plim_now_ns; PLIM_TIME_UNLIMITED: none, and the answer depends on its arguments alone */
  int64_t enough_ns;     /* no one asks whether plans take longer than this: time of a plan, or PLIM_TIME_INFINITE */
  int32_t is_bound_only; /* 1: no one asks for the solution */
} plim_cut_limits;

typedef struct plim_cut_answer {
  int64_t bound_ns;  /* proven: no plan within the budget is faster; PLIM_TIME_INFINITE: proven that there is none */
  int64_t cost_ns;   /* time of the best solution of the model, PLIM_TIME_INFINITE: none found. Not a plan's time */
  uint8_t *solution; /* [n_columns] that solution */
  int64_t n_nodes, n_rows;
} plim_cut_answer;

typedef struct plim_cut_solver plim_cut_solver;

PLIM_MUST_USE plim_status plim_cut_solver_new(const plim_cut_model *model, plim_cut_solver **out);
void plim_cut_solver_free(plim_cut_solver *solver); /* NULL is legal */

/* Work so far, of all parts, as plim_cut_limits counts it. */
int64_t plim_cut_solver_work(const plim_cut_solver *solver);

/* Solve for a budget, from the rows that bound the last one: a row holds for all of them. `answer->solution` belongs to
 * the solver and lasts until the next call. PLIM_ECANCEL when the context was cancelled; the answer is right even then.
 */
PLIM_MUST_USE plim_status plim_cut_solve(plim_cut_solver *solver, int64_t budget_bytes, const plim_cut_limits *limits,
                                         plim_cut_answer *answer);

/* ==== flows (flow.c, flow_network.c) ==== */

/* The fewest bytes alive at a cut, for a point x of the columns (how much of each op is recomputed), and the row that
 * the point violates when they do not fit.
 *
 * Each needed item is kept, or its producer is recomputed, up to the share x; then its inputs are needed to that share
 * as well. The fewest bytes are a linear program, whose dual is a flow: each needed item sends up to its bytes towards
 * producers, through items of limited bytes. What leaves at op a counts 1 - x[a]. The flow leaves best where x is
 * least, so sinks are opened in that order, and the flow only grows. What leaves at op a is a's weight in the row:
 * recomputing a saves that much at most. */

typedef struct plim_cut_flow plim_cut_flow;

PLIM_MUST_USE plim_status plim_cut_flow_new(const plim_cut_model *model, plim_cut_flow **out);
void plim_cut_flow_free(plim_cut_flow *flow); /* NULL is legal */

/* Bytes by which the cut exceeds the budget at x [n_columns]; <= 0: it fits. Mostly a few passes over the operands.
 *   price  [n_columns]  in  of the ops with equal x the flow leaves at the costliest first. Then costly columns have
 *                           weights in the row, and such a row proves more. NULL: it leaves at the nearest, which is
 *                           faster */
double plim_cut_flow_run(plim_cut_flow *flow, const plim_cut *cut, const double *x, const double *price,
                         int64_t budget_bytes);

/* The row of the last run, which did not fit. Its arrays belong to the flow and last until the next run. demand > 0 and
 * n == 0: the cut cannot fit whatever is recomputed. */
void plim_cut_flow_row(plim_cut_flow *flow, plim_cut_row *row);

/* Of the last run, which was at a solution:
 *   recomputed  [n_ops]  out  1: the op is recomputed after the cut; as few ops as the fewest bytes allow */
void plim_cut_flow_recomputed(plim_cut_flow *flow, uint8_t *recomputed);

/* Work since the flow was made: a measure that does not depend on the machine. */
int64_t plim_cut_flow_work(const plim_cut_flow *flow);

/* ==== multipliers (ascent.c) ==== */

/* A lower bound for programs that are too large to be solved: multipliers of rows raised without a dictionary. */

typedef struct plim_cut_ascent plim_cut_ascent;

/* For the first `n_cuts` cuts of the model at a budget.
 *   cost   [n_columns]  in  of the columns, >= 0, borrowed
 *   start               in  rows fitted to the budget, with prices; copied. None: from nothing */
PLIM_MUST_USE plim_status plim_cut_ascent_new(const plim_cut_model *model, plim_cut_flow *flow, const double *cost,
                                              int32_t n_cuts, int64_t budget_bytes, const plim_cut_rows *start,
                                              plim_cut_ascent **out);
void plim_cut_ascent_free(plim_cut_ascent *ascent); /* NULL is legal */

/* Continue until `stop` returns 1 or the bound hardly rises. *impossible: at some cut the bytes do not fit, whatever is
 * recomputed. Deterministic where `stop` is. */
PLIM_MUST_USE plim_status plim_cut_ascend(plim_cut_ascent *ascent, int (*stop)(void *user), void *user,
                                          int32_t *impossible);

/* The rows, and the multipliers [rows.n] of the best bound: any multipliers prove something, in integers
 * (plim_cut_certify). */
const plim_cut_rows *plim_cut_ascent_rows(const plim_cut_ascent *ascent);
const double *plim_cut_ascent_multipliers(const plim_cut_ascent *ascent);
/* A point near the optimum of the relaxation, x [n_columns] in [0, 1]; it may violate rows a little. */
const double *plim_cut_ascent_point(const plim_cut_ascent *ascent);
/* What the multipliers prove, but for rounding. */
double plim_cut_ascent_bound(const plim_cut_ascent *ascent);
/* Steps of work beside those of the flow. */
int64_t plim_cut_ascent_work(const plim_cut_ascent *ascent);

/* ==== a schedule from a solution (cut_walk.c) ==== */

/* A schedule from a solution of the cut model. */

/* Walks program order. At each cut, what the solution recomputes after it is evicted; it is recomputed when it is read.
 * Each column of the solution gives at most one run more, so the time is at most the solution's. The peak may exceed
 * the budget, since the model does not see the bytes that recomputing itself takes.
 *   model     in  of program order
 *   solution  [n_columns]  in  1: the column's op is recomputed */
PLIM_MUST_USE plim_status plim_cut_walk(plim_cut_flow *flow, const plim_cut_model *model, const uint8_t *solution,
                                        int64_t budget_bytes, plim_schedule *out);

#endif

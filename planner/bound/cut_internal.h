/* The parts of the cut model, each with its own section below, from model to proof:
 *
 *   order, segments      what is certain of the order of first runs, and the columns
 *   model, rows          cuts of a problem, and the inequalities that they give
 *   flow                 fewest bytes at a cut for a point, and the row that it violates
 *   lp, tree, ascent     the linear program, the tree of branch and cut, multipliers without a program
 *   certificate          proofs in integers
 *   solver and the rest  branch and cut, solutions, schedules from solutions
 *
 * A *point* has a value from 0 to 1 for each column, a *choice* or solution has 0 or 1. */
#ifndef PLIM_PLANNER_BOUND_CUT_INTERNAL_H
#define PLIM_PLANNER_BOUND_CUT_INTERNAL_H

#include "planner/core/core.h"
#include "runtime/base/array.h"
#include "runtime/base/context.h"

/* ==== order ==== */

/* The most ops of a model. Its two bit matrices take 50 MB each at that size, and the matrix of needed items as much
 * for ops of one output. With a second model for program order this is 300 MB. */
enum { PLIM_CUT_MOST_OPS = 20000 };

/* What is certain of the order of first runs: a row of bits for each op. In a fixed order all earlier ops, else the
 * ancestors by data and updates. */
typedef struct plim_cut_order {
  plim_context *ctx;
  int32_t n_ops;
  int64_t words;    /* of a row */
  uint64_t *before; /* [n_ops][words] bit u of row v: the first run of u comes before that of v in every plan */
  uint64_t *after;  /* [n_ops][words] the transpose: bit u of row v: u comes after v in every plan */
} plim_cut_order;

/* `fixed` 1: first runs follow program order. At most PLIM_CUT_MOST_OPS ops. O(n edges / 64). */
PLIM_MUST_USE plim_status plim_cut_order_make(const plim_problem *problem, int32_t fixed, plim_cut_order *out);
void plim_cut_order_free(plim_cut_order *order); /* leaves it empty */

static inline int plim_cut_bit(const plim_cut_order *order, const uint64_t *rows, int32_t row, int32_t bit) {
  return (int)(rows[(int64_t)row * order->words + bit / 64] >> (bit % 64) & 1U);
}

/* Does the first run of u come before that of v in every plan? */
static inline int plim_cut_before(const plim_cut_order *order, int32_t u, int32_t v) {
  return plim_cut_bit(order, order->before, v, u);
}

/* ==== segments ==== */

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
  int64_t room;
} plim_cut_segments;

/* O(operands). */
PLIM_MUST_USE plim_status plim_cut_segments_make(const plim_problem *problem, const plim_cut_order *order,
                                                 plim_cut_segments *out);
void plim_cut_segments_free(plim_cut_segments *segments); /* leaves it empty */

typedef struct plim_cut_span {
  int32_t first, end;
} plim_cut_span;

/* The segments [first, end) of an op one of which has a run of it when an output of it is gone at v's first run and
 * read later; v certainly comes after the op's own first run. O(log segments). */
plim_cut_span plim_cut_span_of(const plim_cut_segments *segments, const plim_cut_order *order, int32_t op, int32_t v);

/* The op of a segment. O(log ops). */
int32_t plim_cut_segment_op(const plim_cut_segments *segments, int32_t segment);

/* ==== model ==== */

/* The cut model: what every plan within a budget must recompute.
 *
 * Look at the first run of op v. An item is *needed* at v when it was certainly made before, and certainly has a reader
 * after v. Either it is alive while v runs, or its producer is recomputed after v; then the producer's inputs are alive
 * at v, or are recomputed in turn. What is alive at v must fit beside v's working set.
 *
 * A *column* is something that costs time. First come those of ops: the op is recomputed in a segment. Then one for
 * each slower choice by which an op may save workspace. A *cut* is an op at which not everything needed fits. */

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
  int32_t room_columns;
  uint64_t *needed; /* [n_items][order.words] bit v: the item is needed at op v */
} plim_cut_model;

/* `fixed` 1: bounds for program order, else for every order. O(operands x n / 64 + what is needed anywhere). */
PLIM_MUST_USE plim_status plim_cut_model_make(const plim_problem *problem, int32_t fixed, plim_cut_model **out);
void plim_cut_model_free(plim_cut_model *model); /* NULL is legal */

/* Is the item alive at the first run of v unless its producer is recomputed? Items that the working set counts are not.
 */
static inline int plim_cut_needed(const plim_cut_model *model, int32_t item, int32_t v) {
  return plim_cut_bit(&model->order, model->needed, item, v);
}

/* May v write its output over the item? */
int plim_cut_overwrites(const plim_problem *problem, int32_t v, int32_t item);

/* May the op run after the first run of v, when it certainly ran before? */
int plim_cut_may_repeat(const plim_cut_model *model, int32_t op, int32_t v);

/* The next slower choice of the op that saves workspace, -1: none has less than `choice`. */
int32_t plim_cut_next_choice(const plim_planned_op *op, int32_t choice);

/* ==== row ==== */

/* Rows of the cut model: what a set of columns must reach. */

/* sum of weight[k] over the chosen columns >= demand. Weights and demand are positive, no weight above the demand.
 *
 * `bytes` and `needed_bytes` do not depend on the budget: so many bytes a column saves, and so many are alive at the
 * cut without any. So a row that was found for one budget holds for all. plim_cut_row_fit sets weights and demand. */
typedef struct plim_cut_row {
  int32_t n;
  int32_t *column;      /* [n] ascending */
  int64_t *weight;      /* [n] for the budget */
  int64_t demand;       /* for the budget */
  int64_t *bytes;       /* [n] that the column saves */
  int64_t needed_bytes; /* alive at the cut without any column */
  double price;         /* cost that a byte was worth when the row was used last; 0: the row did not bind */
} plim_cut_row;

/* ==== rows ==== */

/* Rows for a budget, and a growing collection of them. */

typedef struct plim_cut_rows {
  plim_context *ctx;
  int32_t n;
  plim_cut_row *row; /* [n] each with arrays of its own */
  int64_t room;
} plim_cut_rows;

/* Give the row weights and demand for a budget. demand <= 0: the budget asks nothing of it, weights are left. O(n). */
void plim_cut_row_fit(plim_cut_row *row, int64_t budget_bytes);

/* Bytes in one unit of the demand of a row fitted to the budget. */
static inline double plim_cut_row_unit(const plim_cut_row *row, int64_t budget_bytes) {
  return (double)(row->needed_bytes - budget_bytes) / (double)row->demand;
}

/* An empty collection is {.ctx = ctx}. Add a copy. */
PLIM_MUST_USE plim_status plim_cut_rows_add(plim_cut_rows *rows, const plim_cut_row *row);
/* Keep rows [0, n) whose mark is set, in order; `keep` [n]. */
void plim_cut_rows_sift(plim_cut_rows *rows, const uint8_t *keep);
void plim_cut_rows_free(plim_cut_rows *rows); /* leaves it empty */

/* ==== flow ==== */

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
 *   price  [n_columns]  in  of points with equal x the costlier are left by first: rows that the costly columns must
 *                           satisfy prove more. NULL: whatever is nearest, which is faster */
double plim_cut_flow_run(plim_cut_flow *flow, const plim_cut *cut, const double *x, const double *price,
                         int64_t budget_bytes);

/* The row of the last run, which did not fit. Its arrays belong to the flow and last until the next run. demand > 0 and
 * n == 0: the cut cannot fit whatever is recomputed. */
void plim_cut_flow_row(plim_cut_flow *flow, plim_cut_row *row);

/* Of the last run, which was at a solution:
 *   recomputed  [n_ops]  out  1: the op is recomputed after the cut; as few ops as the fewest bytes allow */
void plim_cut_flow_recomputed(plim_cut_flow *flow, uint8_t *recomputed);

/* Steps of work since the flow was made: a measure of effort that does not depend on the machine. */
int64_t plim_cut_flow_work(const plim_cut_flow *flow);

/* ==== lp ==== */

/* Linear programs of covering rows over columns between 0 and 1, solved again and again while rows come and bounds
 * change: the bounded dual simplex method on a dense dictionary.
 *
 * Costs are not negative, so that "every slack basic, every column at its cheaper bound" is a start; adding a row and
 * changing a bound keep what the method needs. Doubles: its answers are suggestions, proofs are made from the
 * multipliers in integers (plim_cut_certify). */

typedef struct plim_lp plim_lp;

typedef enum plim_lp_end { PLIM_LP_OPTIMAL, PLIM_LP_INFEASIBLE, PLIM_LP_TIRED /* too many pivots */ } plim_lp_end;

/* No rows; column j costs cost[j] >= 0 and lies in [0, 1]. At most `room` rows. */
PLIM_MUST_USE plim_status plim_lp_new(plim_context *ctx, int32_t n_columns, const double *cost, int32_t room,
                                      plim_lp **out);
void plim_lp_free(plim_lp *lp); /* NULL is legal */

int plim_lp_full(const plim_lp *lp);
/* Add a row after the others; there must be room. */
void plim_lp_add(plim_lp *lp, const plim_cut_row *row);
/* Forget all rows. */
void plim_lp_clear(plim_lp *lp);

void plim_lp_bound(plim_lp *lp, int32_t column, double low, double high);

/* Solve from where the last call ended; `ceiling`: stop when the objective is above it (PLIM_LP_OPTIMAL then, the
 * multipliers prove it); `most_work`: PLIM_LP_TIRED after so much (plim_lp_work). */
plim_lp_end plim_lp_solve(plim_lp *lp, double ceiling, int64_t most_work);

double plim_lp_objective(const plim_lp *lp);
/* The point, x [n_columns]. */
void plim_lp_point(const plim_lp *lp, double *x);
/* multiplier [rows], >= 0, 0 for rows that do not bind: they prove the objective; after PLIM_LP_INFEASIBLE, that it is
 * above `ceiling`. */
void plim_lp_multipliers(const plim_lp *lp, double ceiling, double *multiplier);

/* What each column [n_columns] costs beyond what it is worth to the rows: reduced costs, 0 for basic ones. */
void plim_lp_prices(const plim_lp *lp, double *price);

/* Pivots times dictionary size since the program was made. */
int64_t plim_lp_work(const plim_lp *lp);

/* ==== tree ==== */

/* The nodes of a branch and bound tree, and which of them are open. */

/* A node fixes one column beside what its ancestors fix. */
typedef struct plim_cut_node {
  int32_t parent; /* -1: root */
  int32_t column;
  uint8_t value;
  int64_t bound;
  double way; /* from the parent's point to the value */
} plim_cut_node;

typedef struct plim_cut_tree {
  plim_context *ctx;
  plim_cut_node *node; /* [n_nodes] */
  int32_t *open;       /* [n_open] heap of nodes by bound */
  int32_t n_nodes, n_open;
  int64_t room_nodes, room_open;
} plim_cut_tree;

/* An empty tree is {.ctx = ctx}. Add a node that is not open; *out: its number. */
PLIM_MUST_USE plim_status plim_cut_tree_add(plim_cut_tree *tree, plim_cut_node node, int32_t *out);
PLIM_MUST_USE plim_status plim_cut_tree_open(plim_cut_tree *tree, int32_t node);
/* The open node with the least bound, which is open no longer. There must be one. */
int32_t plim_cut_tree_pop(plim_cut_tree *tree);
void plim_cut_tree_free(plim_cut_tree *tree); /* leaves it empty */

/* The least bound of an open node; INT64_MAX: none is open. */
static inline int64_t plim_cut_tree_least(const plim_cut_tree *tree) {
  return tree->n_open > 0 ? tree->node[tree->open[0]].bound : INT64_MAX;
}

/* ==== ascent ==== */

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

/* ==== certificate ==== */

/* Proofs in integers: what multipliers of rows prove of every choice of columns. */

typedef struct plim_cut_box {
  int32_t n_columns;
  const int64_t *cost;       /* [n_columns] >= 0 */
  const uint8_t *low, *high; /* [n_columns] 0 or 1 */
} plim_cut_box;

/* Whatever columns between low and high satisfy the rows cost at least the returned number: the Lagrangian value, for
 * multipliers rounded to fixed point, rounded up to the next integer, since costs are integers. All in 64-bit integers
 * that cannot overflow; multipliers too large for that prove 0.
 *   multiplier  [n_rows]     in   cost for one unit of demand; any numbers are right, those of the LP are good
 *   reduced     [n_columns]  out  (may be NULL) what is proven besides: a column at the bound that it is not at for
 *                                 this value costs reduced[j] more, rounded down */
int64_t plim_cut_certify(const plim_cut_box *box, int32_t n_rows, const plim_cut_row *row, const double *multiplier,
                         int64_t *scratch, int64_t *reduced);

/* ==== solve ==== */

/* The least time that the cut model allows within a budget: branch and cut. */

typedef struct plim_cut_limits {
  int64_t work;        /* steps of effort, whatever the machine does: about 10^9 a second */
  int64_t deadline_ns; /* by plim_now_ns; INT64_MAX: none, and the answer depends on nothing but its arguments */
  int64_t enough_ns; /* no one asks whether plans take longer than this: time of a plan, INT64_MAX when there is none */
  int32_t bound_only; /* 1: no one asks for the solution */
} plim_cut_limits;

typedef struct plim_cut_answer {
  int64_t bound_ns;  /* proven: no plan within the budget is faster; INT64_MAX: proven that there is none */
  int64_t cost_ns;   /* time of the best solution of the model, INT64_MAX: none found. Not a plan's time */
  uint8_t *solution; /* [n_columns] that solution */
  int64_t n_nodes, n_rows;
} plim_cut_answer;

typedef struct plim_cut_solver plim_cut_solver;

PLIM_MUST_USE plim_status plim_cut_solver_new(const plim_cut_model *model, plim_cut_solver **out);
void plim_cut_solver_free(plim_cut_solver *solver); /* NULL is legal */

/* Solve for a budget, from the rows that bound the last one: a row holds for all of them. `answer->solution` belongs to
 * the solver and lasts until the next call. PLIM_ECANCEL when the context was cancelled; the answer is right even then.
 */
PLIM_MUST_USE plim_status plim_cut_solve(plim_cut_solver *solver, int64_t budget_bytes, const plim_cut_limits *limits,
                                         plim_cut_answer *answer);

/* ==== solver ==== */

/* The state of branch and cut, shared by separate.c, solution.c and node.c. */

/* Of the bound for each unit that a column was moved by branching. */
typedef struct plim_cut_gain {
  double sum;
  int32_t n;
} plim_cut_gain;

typedef struct plim_cut_violation {
  double share;
  int32_t cut;
} plim_cut_violation;

struct plim_cut_solver {
  const plim_cut_model *model;
  plim_context *ctx;
  plim_cut_flow *flow;
  plim_lp *lp;
  plim_cut_ascent *ascent; /* while it is at work */
  plim_cut_rows rows;      /* those of the program, in its order */
  int32_t n_columns, n_cuts;
  int64_t unit_ns;
  int64_t *cost; /* [n_columns] in units */
  double scale;  /* units for one of the program's */
  uint8_t *low, *high, *root_low, *root_high;
  double *x, *multiplier, *price, *real_cost; /* real_cost: the cost in units, as a number for the ascent */
  int64_t *scratch, *reduced;
  uint8_t *best, *trial, *fits, *keep_row;
  plim_cut_gain *gains;           /* [n_columns][2] by the value that the column was fixed to */
  plim_cut_violation *violations; /* [n_cuts] */
  int32_t *fitted;                /* [n_cuts] points in a row that did not violate it */
  int32_t passes;
  int32_t *cut_order; /* [n_cuts] cuts in the order in which solutions are checked: those that failed lately first */
  plim_cut_tree tree;
  /* of one call */
  int64_t other_work; /* of certificates and nodes */
  int64_t budget_bytes, best_cost, n_done, n_rows;
  int64_t given_up;         /* least bound of nodes that were left without a proof */
  int64_t all_cost, cutoff; /* nodes with bounds from there on are done */
  const plim_cut_limits *limits;
  int32_t impossible;
  int64_t end_work, end_ns; /* where the phase under way ends */
  plim_block block;
};

/* Effort so far, of all parts. */
int64_t plim_cut_solver_work(const plim_cut_solver *solver);

/* Is the phase under way over? */
int plim_cut_solver_over(const plim_cut_solver *solver);

/* Let the phase that begins take so many percent of what is left. */
void plim_cut_solver_phase(plim_cut_solver *solver, int32_t percent);

/* Is the graph long? Then the program may not end, part of the effort is kept for rounding, and rounding takes many
 * columns at once. */
static inline int plim_cut_solver_large(const plim_cut_solver *solver) {
  return solver->model->problem->n_ops > PLIM_LONG_OPS;
}

/* ==== node ==== */

/* The nodes of branch and cut. */

/* Follow a node of the tree (0: the root) down until it is closed; siblings on the way stay open. */
PLIM_MUST_USE plim_status plim_cut_node_dive(plim_cut_solver *solver, int32_t node);

/* ==== separate ==== */

/* The rows of the program: which come, which go. */

/* Make the program anew with the rows that bind. */
void plim_cut_sift(plim_cut_solver *solver);

/* Fit the rows of the last budget to this one; those that bound nothing, or that this one does not ask, go. The program
 * stays empty until plim_cut_rows_begin. */
void plim_cut_rows_keep(plim_cut_solver *solver);

/* Put the rows kept into the empty program. */
void plim_cut_rows_begin(plim_cut_solver *solver);

/* Note what the program's rows are worth at its point. */
void plim_cut_rows_price(plim_cut_solver *solver);

/* Add rows of the cuts that x [n_columns] violates most, each by more than `tolerance` of what it has too much. `all`
 * 0: where a missed one does no harm. *added: how many; 0: every cut that was to be asked fits; -1: not all were asked,
 * or there was no room for a row. */
PLIM_MUST_USE plim_status plim_cut_separate(plim_cut_solver *solver, const double *x, double tolerance, int all,
                                            int32_t *added);

/* ==== solution ==== */

/* Solutions of the model: choices of columns at which every cut fits. */

int64_t plim_cut_solution_cost(const plim_cut_solver *solver, const uint8_t *chosen);

/* Keep the solution if it is the cheapest. */
void plim_cut_solution_take(plim_cut_solver *solver, const uint8_t *chosen);

/* Of a choice at which every cut fits take away what is not needed, the costliest first, down to what costs `least`, as
 * far as the phase under way goes. */
void plim_cut_solution_reduce(plim_cut_solver *solver, uint8_t *chosen, int64_t least);

/* Round a point x [n_columns], add columns until every cut fits, take away what is not needed, keep it if it is the
 * cheapest. */
void plim_cut_solution_round(plim_cut_solver *solver, const double *x);

/* ==== walk ==== */

/* A schedule from a solution of the cut model. */

/* Walks program order. At each cut, what the solution recomputes after it is evicted; it is recomputed when it is read.
 * Each column of the solution gives at most one run more, so the time is at most the solution's. The peak may exceed
 * the budget, since the model does not see the bytes that recomputing itself takes.
 *   model     in  of program order
 *   solution  [n_columns]  in  1: the column's op is recomputed */
PLIM_MUST_USE plim_status plim_cut_walk(plim_cut_flow *flow, const plim_cut_model *model, const uint8_t *solution,
                                        int64_t budget_bytes, plim_schedule *out);

#endif

/* What solves a cut model: flows that find violated rows, nodes of branch and cut, multipliers, and the way from a
 * solution to a schedule. */
#ifndef PLIM_PLANNER_BOUND_CUT_SOLVER_H
#define PLIM_PLANNER_BOUND_CUT_SOLVER_H

#include "planner/bound/cut_model.h"
#include "planner/bound/lp.h"
#include "planner/core/problem.h"
#include "runtime/base/array.h"
#include "runtime/base/context.h"

/* ==== nodes (tree.c) ==== */

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

/* ==== flows (flow.c) ==== */

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

/* Steps of work since the flow was made: a measure of effort that does not depend on the machine. */
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

/* ==== solving (cut_solve.c, cut_solver.c) ==== */

/* The least time that the cut model allows within a budget: branch and cut. */

typedef struct plim_cut_limits {
  int64_t work; /* entries of rows, tableaus and lists that it reads, whatever the machine: about 10^9 a second */
  int64_t deadline_ns; /* by plim_now_ns; INT64_MAX: none, and the answer depends on nothing but its arguments */
  int64_t enough_ns; /* no one asks whether plans take longer than this: time of a plan, INT64_MAX when there is none */
  int32_t is_bound_only; /* 1: no one asks for the solution */
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

/* ==== solver (cut_solver.c) ==== */

/* Branch and cut, inside: its state, and the functions of separate.c, solution.c and node.c. */

/* By how much the bound rose for each unit by which branching moved a column: the sum and number of such values. */
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
  int64_t *cost;                  /* [n_columns] in units */
  double scale;                   /* units for one of the program's */
  uint8_t *low, *high;            /* [n_columns] bounds of the columns at the node under way */
  uint8_t *root_low, *root_high;  /* [n_columns] and at every node */
  double *x, *price, *real_cost;  /* [n_columns] point, reduced costs; the cost in units, as a number for the ascent */
  double *multiplier;             /* [rows] */
  int64_t *scratch, *reduced;     /* [n_columns] of plim_cut_certify */
  uint8_t *best, *trial;          /* [n_columns] cheapest solution, and the one being made */
  uint8_t *keep_row;              /* [rows] scratch */
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

/* Work so far, of all parts, as plim_cut_limits counts it. */
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

/* ==== node (node.c) ==== */

/* The nodes of branch and cut. */

/* Follow a node of the tree (0: the root) down until it is closed; siblings on the way stay open. */
PLIM_MUST_USE plim_status plim_cut_node_dive(plim_cut_solver *solver, int32_t node);

/* ==== separate (separate.c) ==== */

/* The rows of the program: which come, which go. */

/* Make the program anew with the rows that bind. */
void plim_cut_sift(plim_cut_solver *solver);

/* Adapt the rows of the last budget to this one. Rows that bound nothing are dropped, and so are rows of cuts that this
 * budget does not ask. The program stays empty until plim_cut_solver_begin_rows. */
void plim_cut_solver_keep_rows(plim_cut_solver *solver);

/* Put the rows kept into the empty program. */
void plim_cut_solver_begin_rows(plim_cut_solver *solver);

/* Note what the program's rows are worth at its point. */
void plim_cut_solver_price_rows(plim_cut_solver *solver);

/* Add rows of the cuts that a point violates most.
 *   x          [n_columns]  in
 *   tolerance               in   a cut counts as violated when more than this share of its excess bytes is not freed
 *   all                     in   0: the caller can do without a cut that is missed, so not every cut is looked at
 *   added      [1]          out  number of rows; 0: the point violates none of the cuts that were to be looked at; -1:
 *                                not all of them were, or there was no room for a row */
PLIM_MUST_USE plim_status plim_cut_separate(plim_cut_solver *solver, const double *x, double tolerance, int all,
                                            int32_t *added);

/* ==== solution (solution.c) ==== */

/* Solutions of the model: choices of columns at which every cut fits. */

/* Keep the solution if it is the cheapest. */
void plim_cut_solution_take(plim_cut_solver *solver, const uint8_t *chosen);

/* Of a choice at which every cut fits take away what is not needed, the costliest first, down to what costs `min_cost`,
 * as far as the phase under way goes. */
void plim_cut_solution_reduce(plim_cut_solver *solver, uint8_t *chosen, int64_t min_cost);

/* Round a point x [n_columns], add columns until every cut fits, take away what is not needed, keep it if it is the
 * cheapest. */
void plim_cut_solution_round(plim_cut_solver *solver, const double *x);

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

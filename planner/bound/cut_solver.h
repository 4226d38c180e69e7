/* Branch and cut, inside: its state, and the functions of separate.c, solution.c and node.c. */
#ifndef PLIM_PLANNER_BOUND_CUT_SOLVER_H
#define PLIM_PLANNER_BOUND_CUT_SOLVER_H

#include "planner/bound/ascent.h"
#include "planner/bound/cut_solve.h"
#include "planner/bound/lp.h"
#include "planner/bound/tree.h"
#include "runtime/base/array.h"

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

/* ==== node ==== */

/* The nodes of branch and cut. */

/* Follow a node of the tree (0: the root) down until it is closed; siblings on the way stay open. */
PLIM_MUST_USE plim_status plim_cut_node_dive(plim_cut_solver *solver, int32_t node);

/* ==== separate ==== */

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

/* ==== solution ==== */

/* Solutions of the model: choices of columns at which every cut fits. */

/* Keep the solution if it is the cheapest. */
void plim_cut_solution_take(plim_cut_solver *solver, const uint8_t *chosen);

/* Of a choice at which every cut fits take away what is not needed, the costliest first, down to what costs `least`, as
 * far as the phase under way goes. */
void plim_cut_solution_reduce(plim_cut_solver *solver, uint8_t *chosen, int64_t least);

/* Round a point x [n_columns], add columns until every cut fits, take away what is not needed, keep it if it is the
 * cheapest. */
void plim_cut_solution_round(plim_cut_solver *solver, const double *x);

#endif

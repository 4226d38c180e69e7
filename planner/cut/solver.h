/* The state of branch and cut, and what its rooms share: rows (separate.h), solutions (solution.h), nodes (node.h). */
#ifndef PLIM_PLANNER_CUT_SOLVER_H
#define PLIM_PLANNER_CUT_SOLVER_H

#include "planner/cut/ascent.h"
#include "planner/cut/lp.h"
#include "planner/cut/solve.h"
#include "planner/cut/tree.h"
#include "runtime/base/array.h"

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
  int32_t *turn; /* [n_cuts] cuts, those that refused a choice lately first */
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

enum { PLIM_CUT_ROUNDING_PERCENT = 30 /* of what is left, of fewer ops than many */ };

/* Of a long graph the program may not get done with its rows: part of the time is kept for rounding, which then takes
 * many columns at once and is left as it is. */
static inline int plim_cut_solver_large(const plim_cut_solver *solver) {
  return solver->model->problem->n_ops > PLIM_LONG_OPS;
}

#endif

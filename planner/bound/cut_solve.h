/* The least time that the cut model allows within a budget: branch and cut. */
#ifndef PLIM_PLANNER_BOUND_CUT_SOLVE_H
#define PLIM_PLANNER_BOUND_CUT_SOLVE_H

#include "planner/bound/cut_model.h"

typedef struct plim_cut_limits {
  int64_t work; /* entries of rows, tableaus and lists that it reads, whatever the machine: about 10^9 a second */
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

#endif

/* Solutions of the model: choices of columns at which every cut fits. */
#ifndef PLIM_PLANNER_CUT_SOLUTION_H
#define PLIM_PLANNER_CUT_SOLUTION_H

#include "planner/cut/solver.h"

int64_t plim_cut_solution_cost(const plim_cut_solver *solver, const uint8_t *chosen);

/* Keep the solution if it is the cheapest. */
void plim_cut_solution_take(plim_cut_solver *solver, const uint8_t *chosen);

/* Of a choice at which every cut fits take away what is not needed, the costliest first, down to what costs `least`, as
 * far as the phase under way goes. */
void plim_cut_solution_reduce(plim_cut_solver *solver, uint8_t *chosen, int64_t least);

/* Round a point x [n_columns], add columns until every cut fits, take away what is not needed, keep it if it is the
 * cheapest. */
void plim_cut_solution_round(plim_cut_solver *solver, const double *x);

#endif

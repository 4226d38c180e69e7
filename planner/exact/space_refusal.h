/* What is said of budgets that have no plan. */
#ifndef PLIM_PLANNER_EXACT_SPACE_REFUSAL_H
#define PLIM_PLANNER_EXACT_SPACE_REFUSAL_H

#include "planner/exact/solver.h"
#include "planner/exact/space_exact.h"
#include "planner/exact/space_model.h"

/* Solve a program of a class. seconds, cutoff: as for a solver; seconds < 0: no time is left. */
PLIM_MUST_USE plim_status plim_space_solve(plim_context *ctx, plim_solver *solver, const plim_space_model *model,
                                           double seconds, double cutoff, const plim_space_options *options,
                                           int (*watch)(void *, double, double), void *user, plim_solution *solution,
                                           double *point);

/* PLIM_ENOFIT with the smallest common factor on all budgets that has a plan, and for each space the smallest budget
 * with the others as they are; or the failure of that. */
PLIM_MUST_USE plim_status plim_space_refuse(const plim_space_problem *problem, plim_solver *solver,
                                            const plim_space_model_options *model, const int64_t *budget,
                                            const plim_space_options *options, double seconds);

#endif

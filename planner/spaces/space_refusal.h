/* What integer programs say of budgets that have no plan. */
#ifndef PLIM_PLANNER_SPACES_SPACE_REFUSAL_H
#define PLIM_PLANNER_SPACES_SPACE_REFUSAL_H

#include "planner/spaces/space_make.h"
#include "planner/spaces/space_model.h"

/* PLIM_ENOFIT with the smallest common factor on all budgets that has a plan, and for each space the smallest budget
 * with the others as they are; or the failure of that.
 *   model    in  the program without a point
 *   seconds  in  for each of the programs solved here, as in plim_space_effort */
PLIM_MUST_USE plim_status plim_space_refuse(const plim_space_problem *problem, plim_solver *solver,
                                            const plim_space_model_options *model, const plim_space_options *options,
                                            double seconds);

#endif

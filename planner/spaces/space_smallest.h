/* What a refusal of the search says: the smallest budgets, and the earliest deadline, for which it finds a plan. */
#ifndef PLIM_PLANNER_SPACES_SPACE_SMALLEST_H
#define PLIM_PLANNER_SPACES_SPACE_SMALLEST_H

#include "planner/spaces/space_search.h"

/* PLIM_ENOFIT with that sentence, or the failure of finding it. */
PLIM_MUST_USE plim_status plim_space_search_refuse(const plim_space_problem *problem,
                                                   const plim_space_search_options *options);

#endif

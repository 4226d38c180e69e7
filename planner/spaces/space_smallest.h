/* What a refusal of the search says: the smallest budgets, and the earliest deadline, for which it finds a plan. */
#ifndef PLIM_PLANNER_SPACES_SPACE_SMALLEST_H
#define PLIM_PLANNER_SPACES_SPACE_SMALLEST_H

#include "planner/spaces/space_search.h"

/* PLIM_ENOFIT with that sentence, or the failure of finding it. */
PLIM_MUST_USE plim_status plim_space_search_refuse(const plim_space_problem *problem,
                                                   const plim_space_search_options *options);

/* The least factor on the budget of space `scaled` (-1: on all that are given) with which the search finds a plan.
 * INFINITY: none; NAN: it was not found in time. `rounds` and `bound` of the options are not read. */
PLIM_MUST_USE plim_status plim_space_search_factor(const plim_space_problem *problem,
                                                   const plim_space_search_options *options, int32_t scaled,
                                                   double *out);

/* What stands after a time in a sentence: " ns", or "" where times are in the unit of the graph's file. */
const char *plim_space_time_unit(const plim_space_problem *problem);

/* A factor on budgets in six digits, or whole, rounded up (or down), so that what is said of it still holds. */
enum { PLIM_SPACE_FACTOR_BYTES = 32 };
const char *plim_space_factor_text(double factor, int up, char text[PLIM_SPACE_FACTOR_BYTES]);

#endif

/* A lower bound on the objective of every plan over spaces, whatever its order, repeats, copies and devices. */
#ifndef PLIM_PLANNER_SPACES_BOUND_SPACE_BOUND_H
#define PLIM_PLANNER_SPACES_BOUND_SPACE_BOUND_H

#include "planner/spaces/search/space_search.h"

/* Read of `options`: objective, page, recompute, place, budget, deadline. No plan that they allow has a lower objective
 * than *out. 0 <= *out; 0 for graphs of more than 20,000 nodes. Deterministic unless a deadline of the context is over:
 * then what is proved so far. O(nodes^2 + rounds x cuts x nodes). */
PLIM_MUST_USE plim_status plim_space_bound(const plim_space_problem *problem, const plim_space_search_options *options,
                                           double *out);

#endif

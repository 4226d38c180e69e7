/* Plans that are known: what of them holds under other budgets, times and deadlines. */
#ifndef PLIM_PLANNER_SPACES_SPACE_KNOWN_H
#define PLIM_PLANNER_SPACES_SPACE_KNOWN_H

#include "planner/spaces/space_search.h"

/* The commands of the best of n plans, lowered anew for the problem's times. Read of `options`: all but bound,
 * keep_all, starts and rounds. A plan of another graph, one whose commands are not allowed, and one above a budget or
 * the deadline are left out.
 *   joins  in       0: commands that copy several storages are not allowed
 *   known  [n]  in  a NULL is left out
 *   value  [1]  out of its plan; INFINITY: there is none, and `out` is as it was
 * O(commands of all). */
PLIM_MUST_USE plim_status plim_space_known_best(const plim_space_problem *problem,
                                                const plim_space_search_options *options, int joins, int32_t n,
                                                const plim_space_plan *const *known, double *value,
                                                plim_space_events *out);

#endif

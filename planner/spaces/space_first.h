/* First plans of large graphs from a planner of one arena. */
#ifndef PLIM_PLANNER_SPACES_SPACE_FIRST_H
#define PLIM_PLANNER_SPACES_SPACE_FIRST_H

#include "planner/spaces/space_make.h"
#include "planner/spaces/space_search.h"

/* The runs of a plan of one arena for the only device that may be used. Without recompute, with several devices, and
 * for graphs of fewer than tuning.search.large_nodes nodes none is made. Read of `asked`: objective, recompute, place,
 * budget.
 *   options  in   one_arena and threads
 *   percent  in   of the time that the context has left, for the call; where pages are allowed (asked->page), of what
 *                 is above tuning.first.reserve_ns_a_node for each node, and none is made where less is left
 *   out           its list is empty; and stays so where nothing was found */
PLIM_MUST_USE plim_status plim_space_first(const plim_space_problem *problem, const plim_space_search_options *asked,
                                           const plim_space_options *options, int32_t percent, plim_space_events *out);

#endif

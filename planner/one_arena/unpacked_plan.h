/* Plans of one arena as first plans for planners over spaces, which do not see how they are made. */
#ifndef PLIM_PLANNER_ONE_ARENA_UNPACKED_PLAN_H
#define PLIM_PLANNER_ONE_ARENA_UNPACKED_PLAN_H

#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The plan of the default strategy whose peak is within a budget; nothing pages. It has no addresses.
 *   cost  [n_ops]  in   of a run of each op, >= 0, in any unit: the plan's sum of costs is small
 *   budget_bytes   in   of the peak, without rounding
 *   time_limit_ns  in   > 0: a limit on the call; 0: none, and the plan depends on the inputs alone
 *   threads        in   of the planner; 0 and 1: one
 *   out     [1]    out  NULL: none was found, or the call was cancelled before one was
 * PLIM_EOVERFLOW: costs cannot be added up. It is a plim_space_one_arena (planner/spaces/space_make.h). */
PLIM_MUST_USE plim_status plim_one_arena_plan(const plim_graph *graph, const int64_t *cost, int64_t budget_bytes,
                                              int64_t time_limit_ns, int32_t threads, plim_plan **out);

#ifdef __cplusplus
}
#endif
#endif

/* Plans of one arena: what planner.h declares where options->paging is NULL, and plans that planners over several
 * spaces begin with. options->paging is not read. */
#ifndef PLIM_PLANNER_ONE_ARENA_ARENA_PLAN_H
#define PLIM_PLANNER_ONE_ARENA_ARENA_PLAN_H

#include "planner/planner.h"

/* The functions plim_plan_* of planner.h for one arena. Their options have been checked (plim_check_options). */
PLIM_MUST_USE plim_status plim_arena_plan_search(plim_context *ctx, const plim_graph *graph,
                                                 const plim_profile *profile, const plim_plan_options *options,
                                                 plim_plan_result *out);
PLIM_MUST_USE plim_status plim_arena_front(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                           const plim_plan_options *options, int32_t n, const int64_t *budget,
                                           plim_plan **plan);

PLIM_MUST_USE plim_status plim_arena_smallest(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                              const plim_plan_options *options, plim_plan_floor *out, plim_plan **plan);
PLIM_MUST_USE plim_status plim_arena_range(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                           const plim_plan_options *options, plim_plan_span *span);
PLIM_MUST_USE plim_status plim_arena_bound(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                           const plim_plan_options *options, plim_plan_floor *out);
PLIM_MUST_USE plim_status plim_arena_fits(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                          const plim_plan_options *options, int *yes);

/* plim_arena_plan_search for planners over spaces, which have other plans where this one fails: fewest bytes are looked
 * for only where the strategy ended a little above the budget. */
PLIM_MUST_USE plim_status plim_arena_plan_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                               const plim_plan_options *options, plim_plan **out);

/* ---- without the plan front ---- */

/* The plan of every op once, in the order of the lowest peak found. Its addresses are within options->budget_bytes
 * where a packing for them is found; else they are those of the first-fit orders, so that no time is spent on them.
 * The planner of the options is not read. As plim_plan_make otherwise. */
PLIM_MUST_USE plim_status plim_arena_once(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                          const plim_plan_options *options, plim_plan **out);

/* As plim_plan_make for a caller who has a plan of that time already. The search ends where a bound shows that none is
 * faster. PLIM_ENOFIT: none was found, or none is faster. A plan that it returns may still be slower. */
PLIM_MUST_USE plim_status plim_arena_faster(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                            const plim_plan_options *options, int64_t known_ns, plim_plan **out);

/* ---- a first plan for planners over spaces (unpacked_plan.c) ---- */

/* The plan of the default strategy whose peak is within a budget; nothing pages. It has no addresses.
 *   cost  [n_ops]  in   of a run of each op, >= 0, in any unit: the plan's sum of costs is small
 *   budget_bytes   in   of the peak, without rounding
 *   time_limit_ns  in   > 0: a limit on the call; 0: none, and the plan depends on the inputs alone
 *   threads        in   of the planner; 0 and 1: one
 *   out     [1]    out  NULL: none was found, or the call was cancelled before one was
 * PLIM_EOVERFLOW: costs cannot be added up. It is a plim_space_one_arena (planner/spaces/space_make.h). */
PLIM_MUST_USE plim_status plim_one_arena_plan(const plim_graph *graph, const int64_t *cost, int64_t budget_bytes,
                                              int64_t time_limit_ns, int32_t threads, plim_plan **out);

#endif

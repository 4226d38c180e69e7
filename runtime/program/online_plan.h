/* Makes online plans: a policy decides which storages stay resident. This takes a few simulations in the arena, and no
 * search. Functions belong to the thread of their context, and only read graph and profile. */
#ifndef PLIM_RUNTIME_PROGRAM_ONLINE_PLAN_H
#define PLIM_RUNTIME_PROGRAM_ONLINE_PLAN_H

#include "planner/planner.h"
#include "runtime/arena/replay_search.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_online_plan_options {
  size_t struct_bytes; /* sizeof(plim_online_plan_options) */
  const plim_policy *policy;
  plim_plan_options planning; /* only these are read: budget_bytes (finite), numerics, numerics_key, seed */
  double thrash;              /* limit of the time of recomputations, as a multiple of the keep-all time */
} plim_online_plan_options;

/* The first policy of the table, planning as plim_plan_options_default, and thrash 1. */
plim_online_plan_options plim_online_plan_options_default(void);

/* Simulate the policy in the arena, and make the simulation a plan, which passes the checker. The policy decides which
 * storages stay, not which variants run. With PLIM_NUMERICS_AUTO and PLIM_NUMERICS_GIVEN several limits on workspace
 * are tried. For each the fastest variants within the limit run, of the given numerics keys if there are any. The
 * fastest plan is returned.
 *   counts  [1]  out  of the simulation of that plan; may be NULL
 *   out     [1]  out  free with plim_plan_free
 * PLIM_ENOFIT: the policy finds no plan within the budget. PLIM_EUSAGE: the options have no budget, or a numerics key
 * that an op does not have. PLIM_ECANCEL: cancelled before there was a plan; later the fastest plan so far is returned.
 * PLIM_ENOMEM.
 * Cost: one plim_arena_online for each limit on workspace. Deterministic. */
PLIM_MUST_USE plim_status plim_online_plan_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                                const plim_online_plan_options *options, plim_replay_counts *counts,
                                                plim_plan **out);

/* Find a small budget, above that of the options, in which the policy finds a plan.
 *   bytes_max      in   the largest budget tried
 *   bytes      [1] out  PLIM_NONE: none was found
 * Halves the range. A smaller budget may exist, since a policy may find a plan in a budget and none in a larger one.
 * Otherwise the errors of plim_online_plan_make. Deterministic. */
PLIM_MUST_USE plim_status plim_online_plan_smallest(plim_context *ctx, const plim_graph *graph,
                                                    const plim_profile *profile,
                                                    const plim_online_plan_options *options, int64_t bytes_max,
                                                    int64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif

/* An online plan: a policy decides what stays resident. It takes a few simulations in the arena, and no search.
 * Functions belong to the thread of their context, and only read graph and profile. */
#ifndef PLIM_RUNTIME_PROGRAM_ONLINE_PLAN_H
#define PLIM_RUNTIME_PROGRAM_ONLINE_PLAN_H

#include "planner/planner.h"
#include "runtime/arena/replay.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_online_plan_options {
  size_t struct_bytes; /* sizeof(plim_online_plan_options) */
  const plim_policy *policy;
  plim_plan_options planning; /* read: a finite budget_bytes, labels, label, seed */
  double thrash;              /* limit on the time of recomputing, as a multiple of the keep-all time */
} plim_online_plan_options;

/* The first policy of the table, planning as plim_plan_options_default, and thrash 1. */
plim_online_plan_options plim_online_plan_options_default(void);

/* Simulate the policy in the arena, and write the simulation as a plan, which has passed the checker. The policy
 * decides what stays, not which variants run. With PLIM_NUMERICS_AUTO and PLIM_NUMERICS_GIVEN several limits on
 * workspace are tried, each with the fastest variants within it (of the key, where it is given). The fastest plan is
 * returned.
 *   counts  [1]  out  of the simulation of that plan; may be NULL
 *   out     [1]  out  free with plim_plan_free
 * PLIM_ENOFIT: the policy finds no plan within the budget. PLIM_EUSAGE: the options have no budget. PLIM_ENOMEM.
 * Cost: one plim_arena_online for each limit on workspace. Deterministic. */
PLIM_MUST_USE plim_status plim_online_plan_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                                const plim_online_plan_options *options, plim_replay_counts *counts,
                                                plim_plan **out);

/* The smallest budget found, above that of the options, in which the policy finds a plan.
 *   most_bytes     in   the largest budget tried
 *   bytes      [1] out  -1: none was found
 * It halves the range. Policies are not monotone, so a smaller budget may exist. PLIM_EUSAGE, PLIM_ENOMEM as above.
 * Deterministic. */
PLIM_MUST_USE plim_status plim_online_plan_smallest(plim_context *ctx, const plim_graph *graph,
                                                    const plim_profile *profile,
                                                    const plim_online_plan_options *options, int64_t most_bytes,
                                                    int64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif

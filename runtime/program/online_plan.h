/* An online step: a policy decides what stays resident. It costs one simulation in the arena and no search. */
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
  double thrash;              /* recomputing may take so many times the step */
} plim_online_plan_options;

/* The best policy, planning as plim_plan_options_default has it, and recomputing as long as the step at most. */
plim_online_plan_options plim_online_plan_options_default(void);

/* Decide the step: what comes out is a plan, written as the arena was simulated, that has passed the checker. A policy
 * decides what stays, not which variants run: with PLIM_NUMERICS_AUTO and PLIM_NUMERICS_GIVEN the fastest variants
 * (of their label) within a limit on their workspace are tried, for several limits, and the fastest run is taken.
 *   counts  [1]  out  of that run; may be NULL
 * PLIM_ENOFIT when the policy finds no way within the budget; PLIM_EUSAGE without a budget. Deterministic. */
PLIM_MUST_USE plim_status plim_online_plan_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                                const plim_online_plan_options *options, plim_replay_counts *counts,
                                                plim_plan **out);

/* The smallest budget above options' one in which the policy finds a way, by halving the range up to `most_bytes`; -1
 * when there is none. Policies are not monotone: a smaller one may exist. */
PLIM_MUST_USE plim_status plim_online_plan_smallest(plim_context *ctx, const plim_graph *graph,
                                                    const plim_profile *profile,
                                                    const plim_online_plan_options *options, int64_t most_bytes,
                                                    int64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif

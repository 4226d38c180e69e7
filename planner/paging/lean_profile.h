/* Profiles of variants with little workspace. */
#ifndef PLIM_PLANNER_PAGING_LEAN_PROFILE_H
#define PLIM_PLANNER_PAGING_LEAN_PROFILE_H

#include "planner/planner.h"

/* The profile without variants whose workspace takes more than that share of the bytes which the budget leaves beside
 * an op's operands. Each op keeps the variants with the least. O(profile). */
PLIM_MUST_USE plim_status plim_lean_profile_make(plim_context *ctx, const plim_graph *graph,
                                                 const plim_profile *profile, int64_t budget_bytes, double share,
                                                 plim_profile **out);

#endif

/* Profiles of variants with little workspace. */
#ifndef PLIM_PLANNER_PAGING_LEAN_PROFILE_H
#define PLIM_PLANNER_PAGING_LEAN_PROFILE_H

#include "planner/planner.h"

/* Make a profile without the variants of large workspaces. A workspace is large when it takes more than `share` of the
 * bytes that the budget leaves beside the operands of the op. Each op keeps its variants with the least workspace.
 * O(profile). */
PLIM_MUST_USE plim_status plim_lean_profile_make(plim_context *ctx, const plim_graph *graph,
                                                 const plim_profile *profile, int64_t budget_bytes, double share,
                                                 plim_profile **out);

#endif

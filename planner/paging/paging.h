/* Plans that page: what does not fit is recomputed, or copied to a page space and back beside compute. */
#ifndef PLIM_PLANNER_PAGING_PAGING_H
#define PLIM_PLANNER_PAGING_PAGING_H

#include "planner/planner.h"

/* plim_plan_make with options->paging, which must not be NULL. */
PLIM_MUST_USE plim_status plim_paging_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                           const plim_plan_options *options, plim_plan **out);

#endif

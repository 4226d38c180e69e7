/* The buffers of a plan, to be packed on their own. */
#ifndef PLIM_PLANNER_PACK_PLAN_BUFFERS_H
#define PLIM_PLANNER_PACK_PLAN_BUFFERS_H

#include "planner/pack/csv.h"
#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a plan holds in memory, without its addresses: persistent storages, copies, workspaces, named VALUE@BEGIN and
 * OP workspace@BEGIN; commas and control characters of names become underscores. Copies written over each other are one
 * buffer, named after the first. PLIM_EDATA when the plan is another graph's; the plan is not checked further. O(n). */
PLIM_MUST_USE plim_status plim_buffer_list_of_plan(plim_context *ctx, const plim_graph *graph, const plim_plan *plan,
                                                   plim_buffer_list **out);

#ifdef __cplusplus
}
#endif
#endif

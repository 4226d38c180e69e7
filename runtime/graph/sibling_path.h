/* A plan does not hold its graph; the graph is written beside it: plan.json, plan.graph.json. */
#ifndef PLIM_RUNTIME_GRAPH_SIBLING_PATH_H
#define PLIM_RUNTIME_GRAPH_SIBLING_PATH_H

#include "runtime/graph/plan.h"

enum { PLIM_BESIDE_PATH_BYTES = 4096 };

/* Path of the graph that belongs to the plan at `plan`. path [PLIM_BESIDE_PATH_BYTES] out. PLIM_EUSAGE when too
 * long. */
PLIM_MUST_USE plim_status plim_beside_graph_path(plim_context *ctx, const char *plan, char *path);

/* Path of the plan that belongs to the trace at `trace`: t.jsonl, t.plan.json. path and error as above. */
PLIM_MUST_USE plim_status plim_beside_plan_path(plim_context *ctx, const char *trace, char *path);

/* Write the plan to `path` and its graph beside it; to a device or pipe the plan alone. */
PLIM_MUST_USE plim_status plim_beside_save(const plim_graph *graph, const plim_plan *plan, const char *path);

/* Write plan and graph beside the trace that is to be at `path`. */
PLIM_MUST_USE plim_status plim_beside_save_trace(const plim_graph *graph, const plim_plan *plan, const char *path);

#endif

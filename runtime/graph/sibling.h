/* Paths of documents that belong together. A plan file does not contain its graph, which is written to a file beside
 * it: plan.json, plan.graph.json. Functions run on the thread of the context. */
#ifndef PLIM_RUNTIME_GRAPH_SIBLING_H
#define PLIM_RUNTIME_GRAPH_SIBLING_H

#include "runtime/base/file.h"
#include "runtime/graph/plan.h"

/* Does the path end as the name of a plan? All other names are of traces. */
int plim_sibling_is_plan(const char *path);

/* Find the path of the graph that belongs to the plan at `plan`. path [PLIM_FILE_PATH_BYTES] out. PLIM_EUSAGE: it is
 * too long. */
PLIM_MUST_USE plim_status plim_sibling_graph_path(plim_context *ctx, const char *plan, char *path);

/* Find the path of the plan that belongs to the trace at `trace`: t.jsonl, t.plan.json. path and error as above. */
PLIM_MUST_USE plim_status plim_sibling_plan_path(plim_context *ctx, const char *trace, char *path);

/* Write the plan to `path`, and its graph beside it. When `path` is a device or a pipe, only the plan is written. The
 * errors of plim_plan_save. */
PLIM_MUST_USE plim_status plim_sibling_save(const plim_graph *graph, const plim_plan *plan, const char *path);

/* Write plan and graph beside the future trace at `path`. The errors of plim_plan_save. */
PLIM_MUST_USE plim_status plim_sibling_save_trace(const plim_graph *graph, const plim_plan *plan, const char *path);

#endif

/* A trace with the plan and graph that lie beside it, indexed: what the views of plimsoll trace look at. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACED_H
#define PLIM_TOOLS_PLIMSOLL_TRACED_H

#include "runtime/graph/trace.h"
#include "runtime/inspect/inspect.h"

typedef struct traced {
  plim_context *ctx;
  plim_trace *trace;
  plim_plan *plan;
  plim_graph *graph;
  plim_inspect *inspect;
  int64_t *measured_ns; /* [n_steps] median over the training steps of the trace */
} traced;

/* Load t.jsonl, t.plan.json and t.plan.graph.json, check the plan, index. PLIM_EDATA when they do not belong together.
 * Nothing is to be closed when this fails. */
plim_status traced_open(plim_context *ctx, const char *path, traced *out);
void traced_close(traced *t);

/* Write plan and graph beside the trace that is to be at `path`. */
plim_status traced_save_beside(const plim_graph *graph, const plim_plan *plan, const char *path);

/* Name of the op of a step, planned time. */
const char *traced_op_name(const traced *t, int32_t step);
int64_t traced_planned_ns(const traced *t, int32_t step);

#endif

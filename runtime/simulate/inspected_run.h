/* A run to look at: a plan with its graph, indexed; the times that were measured, if there are any; and the decision
 * log of an online run. */
#ifndef PLIM_RUNTIME_SIMULATE_INSPECTED_RUN_H
#define PLIM_RUNTIME_SIMULATE_INSPECTED_RUN_H

#include "runtime/graph/trace.h"
#include "runtime/inspect/decision_log.h"
#include "runtime/inspect/inspect.h"

typedef struct plim_inspected_run {
  plim_context *ctx;
  plim_trace *trace;    /* NULL: nothing was measured */
  plim_plan *read_plan; /* NULL: the plan is the decision log's */
  const plim_plan *plan;
  plim_graph *graph;
  plim_inspect *inspect;
  int64_t runs;                 /* training steps that were measured */
  int64_t *measured_ns;         /* [n_steps] median over them, 0 without any */
  plim_plan *order;             /* of the online run: program order with its variants */
  plim_decision_log *decisions; /* NULL: a plan's run, or one that cannot be simulated again */
  int32_t unlike_step;          /* the first step at which the second simulation was not the run; -1 */
} plim_inspected_run;

/* Load a trace (t.jsonl with t.plan.json and t.plan.graph.json) or a plan alone (p.json with p.graph.json), check the
 * plan, index it; the run of an online policy is simulated again. PLIM_EDATA when they do not belong together. Nothing
 * is to be closed when this fails. */
plim_status plim_inspected_run_open(plim_context *ctx, const char *path, plim_inspected_run *out);

/* Simulate the graph under an online policy within `memory` ("40%", "96MiB", NULL: all), recomputing for at most
 * `thrash` times the step's time. A run that finds no room, or takes longer, can be looked at too, up to there;
 * PLIM_ENOFIT when it has no steps at all. */
plim_status plim_inspected_run_simulate(plim_context *ctx, const char *graph, const char *policy, const char *memory,
                                        double thrash, plim_inspected_run *out);
void plim_inspected_run_close(plim_inspected_run *run);

#endif

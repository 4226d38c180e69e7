/* A run to look at: a plan with its graph, indexed; the times that were measured, if there are any; and the decision
 * log of an online run.
 *
 * An inspected run belongs to the thread of its context. Everything in it is for reading, and lives until it is closed.
 */
#ifndef PLIM_RUNTIME_SIMULATE_INSPECTED_RUN_H
#define PLIM_RUNTIME_SIMULATE_INSPECTED_RUN_H

#include "runtime/arena/policy.h"
#include "runtime/graph/trace.h"
#include "runtime/inspect/inspect.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_decision_log plim_decision_log; /* runtime/inspect/decision_log.h reads it */

typedef struct plim_inspected_run {
  plim_context *ctx;
  plim_trace *trace;    /* NULL: nothing was measured */
  plim_plan *read_plan; /* NULL: the plan is the decision log's */
  const plim_plan *plan;
  plim_graph *graph;
  plim_inspect *inspect;
  int64_t runs;                 /* training steps that were measured */
  int64_t *measured_ns;         /* [n_commands] median over them, 0 without any */
  plim_plan *order;             /* of the online run: program order with its variants */
  plim_decision_log *decisions; /* NULL: a plan's run, or one that cannot be simulated again */
  int32_t unlike_step;          /* the first step at which the second simulation was not the run; -1 */
} plim_inspected_run;

/* Load a trace or a plan, check the plan, and index it.
 *   path  in   a plan alone, p.json with p.graph.json; every other name is that of a trace, t.jsonl with t.plan.json
 * and t.plan.graph.json The run of an online policy is simulated again, which gives its decisions. PLIM_EDATA when the
 * files do not belong together, PLIM_EPLAN when the checker refuses the plan. Nothing is to be closed when this fails.
 */
PLIM_MUST_USE plim_status plim_inspected_run_open(plim_context *ctx, const char *path, plim_inspected_run *out);

/* Simulate the graph of a file under an online policy.
 *   memory  in   the budget, "40%" or "96MiB" (plim_simulation_budget); NULL: all
 *   thrash  in   recomputing may take so many times the step's time
 * A run that finds no room, or takes longer, can be looked at too, up to there. PLIM_ENOFIT when it has no steps at
 * all. Nothing is to be closed when this fails. */
PLIM_MUST_USE plim_status plim_inspected_run_simulate(plim_context *ctx, const char *graph, const plim_policy *policy,
                                                      const char *memory, double thrash, plim_inspected_run *out);
void plim_inspected_run_close(plim_inspected_run *run); /* twice is legal */

#ifdef __cplusplus
}
#endif
#endif

/* A run to inspect: a plan with its graph and index; measured times, if there are any; and an online run's decision
 * log.
 *
 * An inspected run belongs to the thread of its context. Its fields are only to be read, and are valid until it is
 * closed. */
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
  int64_t runs;                 /* number of training steps that were measured */
  int64_t *measured_ns;         /* [n_commands] median over these steps, 0 without any */
  plim_plan *order;             /* program order with the variants of an online run */
  plim_decision_log *decisions; /* NULL: no online run, or a second simulation decides otherwise */
  int32_t differs_at; /* the first command at which the second simulation differs from the run, or PLIM_NONE */
} plim_inspected_run;

/* Load a trace or a plan, check the plan, and index it.
 *   path  in   a plan p.json, with its graph p.graph.json; or, with any other ending, a trace t.jsonl, with its plan
 *              t.plan.json and graph t.plan.graph.json
 * The run of an online policy is simulated again, which gives its decisions. PLIM_EDATA when the files do not belong
 * together, PLIM_EPLAN when the checker refuses the plan. When this fails, *out needs no close. */
PLIM_MUST_USE plim_status plim_inspected_run_open(plim_context *ctx, const char *path, plim_inspected_run *out);

/* Simulate the graph of a file under an online policy.
 *   memory  in   the budget, such as "40%" or "96MiB" (plim_simulation_budget); NULL: all
 *   thrash  in   limit of the time of recomputations, as a multiple of the step's time
 * A run that finds no room or exceeds the limit can be inspected too, up to that command. PLIM_ENOFIT when it reached
 * no command at all. When this fails, *out needs no close. */
PLIM_MUST_USE plim_status plim_inspected_run_simulate(plim_context *ctx, const char *graph, const plim_policy *policy,
                                                      const char *memory, double thrash, plim_inspected_run *out);
void plim_inspected_run_close(plim_inspected_run *run); /* a second close does nothing */

#ifdef __cplusplus
}
#endif
#endif

/* What plimsoll trace looks at: a plan with its graph, indexed; the times that were measured, if there are any; and the
 * decision log of an online run. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_SESSION_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_SESSION_H

#include "runtime/graph/trace.h"
#include "runtime/inspect/decision_log.h"
#include "runtime/inspect/inspect.h"
#include "runtime/online/ideal.h"

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

typedef plim_inspected_run traced; /* the short name of it in this folder */

/* Load a trace (t.jsonl with t.plan.json and t.plan.graph.json) or a plan alone (p.json with p.graph.json), check the
 * plan, index it; the run of an online policy is simulated again. PLIM_EDATA when they do not belong together. Nothing
 * is to be closed when this fails. */
plim_status plim_inspected_run_open(plim_context *ctx, const char *path, traced *out);

/* Simulate the graph under an online policy within `memory` ("40%", "96MiB", NULL: all), recomputing for at most
 * `thrash` times the step's time. A run that finds no room, or takes longer, can be looked at too, up to there;
 * PLIM_ENOFIT when it has no steps at all. */
plim_status plim_inspected_run_simulate(plim_context *ctx, const char *graph, const char *policy, const char *memory,
                                        double thrash, traced *out);
void plim_inspected_run_close(traced *t);

/* Write plan and graph beside the trace that is to be at `path`. */
plim_status plim_beside_save_trace(const plim_graph *graph, const plim_plan *plan, const char *path);

/* An address as text, "-" in a plan that has none. */
enum { TRACED_ADDRESS_BYTES = 24 };
const char *traced_address(int64_t address, char text[TRACED_ADDRESS_BYTES]);

/* Name of the op of a step, planned time. */
const char *traced_op_name(const traced *t, int32_t step);
int64_t traced_planned_ns(const traced *t, int32_t step);

/* Sum of the medians; 0 without any. */
int64_t traced_measured_ns(const traced *t);

/* Name of an op, "the end of the step" for -1. */
const char *traced_op(const traced *t, int32_t op);

/* Time of the plan before a step, and how much of it was spent on running ops again. */
int64_t traced_clock_ns(const traced *t, int32_t step, int64_t *again_ns);

/* The decisions of the online run before a step: the first, and how many there are. */
int32_t traced_choices(const traced *t, int32_t step, const plim_decision **out, int32_t *first);

/* How the online run ended; of others ok. Did it end badly at this step, its last? In what words? */
plim_online_end traced_end(const traced *t);
int traced_fails_at(const traced *t, int32_t step);
const char *traced_end_title(const traced *t);

/* PLIM_EUSAGE, with the nearest name, when no value has that name. */
plim_status traced_find_value(const traced *t, const char *name, int32_t *value);

/* The decision that evicted a storage which is absent; NULL: none, it was dropped or written over. */
const plim_decision *traced_eviction(const traced *t, int32_t storage, const plim_absence *absence);

/* The step of the program for which a step was recomputed, and the first that was for it; without a decision log, and
 * where nothing was, both are `step`. */
int32_t traced_tree(const traced *t, int32_t step, int32_t *begin);

/* Another policy from a step on within so many bytes (plim_arena_what_if). */
plim_status traced_what_if(const traced *t, const plim_policy *policy, int32_t step, int64_t bytes,
                           plim_replay_counts *counts, plim_plan **out);

#endif

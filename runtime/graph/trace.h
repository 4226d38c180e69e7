/* The trace document: what a run of a plan measured, one line a plan step, beside what was planned. JSON Lines, so that
 * it can be written while the run continues. With graph and plan it is all that a stepper needs. */
#ifndef PLIM_RUNTIME_GRAPH_TRACE_H
#define PLIM_RUNTIME_GRAPH_TRACE_H

#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- writing ---- */
typedef struct plim_trace_writer plim_trace_writer;

/* A trace of runs of a plan, which must fit the graph; writes the head. Graph and plan must outlive the writer. The
 * file appears under its name when the trace ends. */
PLIM_MUST_USE plim_status plim_trace_begin(const plim_graph *graph, const plim_plan *plan, const char *path,
                                           plim_trace_writer **out);

/* The plan ran as training step `training_step`, which is larger than the last one.
 *   time_ns  [n_steps of the plan]  in  measured
 * Allocates nothing. A failure is kept and returned by plim_trace_end. */
plim_status plim_trace_add(plim_trace_writer *writer, int64_t training_step, const int64_t *time_ns);

/* Write the last line and put the file in its place. Frees the writer in every case. */
PLIM_MUST_USE plim_status plim_trace_end(plim_trace_writer *writer);
void plim_trace_abandon(plim_trace_writer *writer); /* leaves no file; NULL is legal */

/* ---- reading ---- */
typedef struct plim_trace_row {
  int64_t training_step;
  int32_t step, op;           /* of the plan, of the graph; op -1: a copy */
  const char *name, *variant; /* of the op; "" for a copy */
  int64_t start_ns;           /* from the begin of the training step: the sum of the times before */
  int64_t time_ns, planned_ns;
  int64_t live_bytes; /* of all buffers during the step */
  int32_t n_out;
  const int64_t *out; /* [n_out] arena offsets of the storages that the op writes, -1 when the plan has none */
} plim_trace_row;

typedef struct plim_trace {
  plim_context *ctx;
  const char *name;                         /* of the graph */
  char fingerprint[PLIM_FINGERPRINT_BYTES]; /* of the graph */
  char plan[PLIM_FINGERPRINT_BYTES];        /* fingerprint of the plan */
  plim_numerics numerics;
  char planner[32];
  int64_t budget_bytes, peak_bytes, arena_bytes; /* as in a plan */
  int32_t n_steps;                               /* of the plan */
  int64_t n_rows;                                /* training steps x n_steps */
  const plim_trace_row *row;
} plim_trace;

/* Strict; PLIM_EDATA names file, line and field. A trace without its last line was cut and is refused. */
PLIM_MUST_USE plim_status plim_trace_load(plim_context *ctx, const char *path, plim_trace **out);
void plim_trace_free(plim_trace *trace); /* NULL is legal */

#ifdef __cplusplus
}
#endif
#endif

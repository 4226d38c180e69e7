/* A run over spaces to inspect: a plan over spaces, a program's plan that pages, or the trace of one, with its graph
 * and index, the times when storages are away, and the measured transfers.
 *
 * It belongs to the thread of its context. Its fields are only to be read, and are valid until it is closed. */
#ifndef PLIM_RUNTIME_SIMULATE_INSPECTED_SPACES_H
#define PLIM_RUNTIME_SIMULATE_INSPECTED_SPACES_H

#include "runtime/graph/trace.h"
#include "runtime/inspect/paged_run.h"
#include "runtime/inspect/space_inspect.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_inspected_spaces {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_space_plan *plan;
  plim_space_inspect in;
  plim_space_gap *gap; /* [n_gaps] by `until` */
  int32_t n_gaps;
  /* of a program's plan that pages, and of its trace; else NULL and 0 */
  const plim_plan *paged;
  plim_trace *trace;
  const plim_trace_row *row; /* [n_commands] of the training step whose length is the median */
  plim_transfer *transfer;   /* [n_transfers] measured there */
  int32_t n_transfers;
  /* what was read for it, and is freed with it */
  plim_graph *own_graph;
  plim_space_plan *own_plan;
  plim_plan *own_paged;
} plim_inspected_spaces;

/* Load a run over spaces, check its plan, and index it.
 *   path  in   a plan over spaces p.json, or a program's plan that pages, with its graph p.graph.json; or the trace of
 *              such a plan t.jsonl, with its plan t.plan.json and graph t.plan.graph.json
 *   out   out  out->plan is NULL where the file is none of these: a run in one arena, for plim_inspected_run_open
 * PLIM_EDATA when the files do not belong together, PLIM_EPLAN when a checker refuses the plan. When this fails, *out
 * needs no close. O(plan log plan + trace). */
PLIM_MUST_USE plim_status plim_inspected_spaces_open(plim_context *ctx, const char *path, plim_inspected_spaces *out);
void plim_inspected_spaces_close(plim_inspected_spaces *run); /* a second close does nothing */

/* When a command began and ended: as measured, where there is a trace; else as planned. */
int64_t plim_inspected_spaces_begin_ns(const plim_inspected_spaces *run, int32_t command);
int64_t plim_inspected_spaces_end_ns(const plim_inspected_spaces *run, int32_t command);

/* Bytes that a command's storages have a nanosecond of its time; 0: it took none. Of a copy, the rate of its link. */
double plim_inspected_spaces_rate(const plim_inspected_spaces *run, int32_t command);

/* The end of the last command, as these functions have it. O(commands). */
int64_t plim_inspected_spaces_length_ns(const plim_inspected_spaces *run);

/* Bytes of a space from a moment on. */
typedef struct plim_space_moment {
  int64_t at_ns, bytes;
} plim_space_moment;

/* The bytes of a space over time, from the begin of each buffer's first command to the end of its last one. Moments
 * that change nothing are left out.
 *   out  [*n]  out  free with plim_release and *n
 * PLIM_ENOMEM. O(commands + lifetimes + buffers log buffers). */
PLIM_MUST_USE plim_status plim_inspected_spaces_bytes(const plim_inspected_spaces *run, int32_t space,
                                                      plim_space_moment **out, int32_t *n);

#ifdef __cplusplus
}
#endif
#endif

/* The trace document: measured and planned figures of a run of a plan, one line for each command. It is JSON Lines, so
 * that it can be written during the run. graph.h has the rules for every document.
 *
 * trace_write.c has the functions that write, trace_read.c those that read. */
#ifndef PLIM_RUNTIME_GRAPH_TRACE_H
#define PLIM_RUNTIME_GRAPH_TRACE_H

#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- writing ---- */
typedef struct plim_trace_writer plim_trace_writer;

/* Begin the trace of runs of a plan, and write its first line. Graph and plan must outlive the writer. The file gets
 * the name `path` when the trace ends. PLIM_EDATA: the plan is of another graph. PLIM_EIO: the file cannot be made. */
PLIM_MUST_USE plim_status plim_trace_begin(const plim_graph *graph, const plim_plan *plan, const char *path,
                                           plim_trace_writer **out);

/* Add a run of the plan as training step `training_step`, which must be larger than the one before.
 *   time_ns  [n_commands of the plan]  in  measured time of each command
 * Allocates nothing. The first failure (PLIM_EIO, PLIM_EUSAGE) is kept: later calls and plim_trace_end return it.
 * PLIM_EUSAGE for a plan with copies. */
plim_status plim_trace_add(plim_trace_writer *writer, int64_t training_step, const int64_t *time_ns);

/* Like plim_trace_add, for a plan with copies, whose commands overlap in time. PLIM_EUSAGE for other plans.
 *   begin_ns   [n_commands]  in  from the start of the training step
 *   waited_ns  [n_commands]  in  how long a run waited for other queues before it began; 0 for copies */
plim_status plim_trace_add_queues(plim_trace_writer *writer, int64_t training_step, const int64_t *begin_ns,
                                  const int64_t *time_ns, const int64_t *waited_ns);

/* Write the last line, and give the file its name; after a failure there is no file. Frees the writer in every case. */
PLIM_MUST_USE plim_status plim_trace_end(plim_trace_writer *writer);
void plim_trace_abandon(plim_trace_writer *writer); /* leaves no file; NULL is legal */

/* ---- reading ---- */
typedef struct plim_trace_row {
  int64_t training_step;
  int32_t command, op;         /* command of the plan, op of the graph; op PLIM_NONE: a copy */
  const char *name, *variant;  /* of the op; "" for a copy */
  int32_t queue;               /* 0 without copies */
  int64_t start_ns;            /* from the start of the training step; without copies the sum of the times before */
  int64_t time_ns, planned_ns; /* measured, predicted */
  int64_t waited_ns;           /* how long a run of a plan with copies waited for other queues before it began */
  int64_t live_bytes;          /* of all buffers during the command */
  int32_t n_out;
  const int64_t *out; /* [n_out] arena offsets of the storages that the op writes, PLIM_NONE when the plan has none */
} plim_trace_row;

typedef struct plim_trace {
  plim_context *ctx;
  const char *name;                         /* of the graph */
  char fingerprint[PLIM_FINGERPRINT_BYTES]; /* of the graph */
  char plan[PLIM_FINGERPRINT_BYTES];        /* fingerprint of the plan */
  plim_numerics numerics;
  char planner[32];
  int64_t budget_bytes, peak_bytes, arena_bytes; /* as in a plan */
  int32_t n_commands;                            /* of the plan */
  int32_t has_queues;                            /* 1: of a plan with copies, whose commands overlap in time */
  int64_t n_rows;                                /* training steps x n_commands */
  const plim_trace_row *row;                     /* [n_rows] by training step, then command */
} plim_trace;

/* Read a trace. Free it with plim_trace_free. Loading is strict. PLIM_EDATA: the contents are wrong, or the last line
 * is missing because the file was cut; the sentence names file, line and field. PLIM_ENOFILE, PLIM_EIO as
 * plim_graph_load. O(file). */
PLIM_MUST_USE plim_status plim_trace_load(plim_context *ctx, const char *path, plim_trace **out);
void plim_trace_free(plim_trace *trace); /* NULL is legal */

/* Check that a trace is one of runs of the plan: it names the plan's fingerprint, and its rows have the op and the
 * queue of each command.
 *   path, plan_path  in  of both files, for the sentence
 * PLIM_EDATA: it is not; PLIM_ENOMEM. O(rows + plan). */
PLIM_MUST_USE plim_status plim_trace_check(const plim_trace *trace, const char *path, const plim_plan *plan,
                                           const char *plan_path);

#ifdef __cplusplus
}
#endif
#endif

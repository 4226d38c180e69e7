/* plimsoll trace on a plan over spaces: the same actions, or a sentence that says why not. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_TRACE_SPACES_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_TRACE_SPACES_H

#include <stdio.h>

#include "runtime/base/text.h"
#include "runtime/graph/trace.h"
#include "runtime/inspect/paged_run.h"
#include "tools/plimsoll/session.h"

typedef struct traced_spaces {
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
} traced_spaces;

/* Do the action `name` on the plan over spaces at `path`, on a program's plan that pages, or on its trace. *is 0: the
 * file is none of them, and nothing was done. */
plim_status trace_spaces(session *s, const char *name, const char *path, int *is);

/* ---- a program's run that pages (trace_run.c) ---- */

/* Read a plan that pages, p.json, or the trace of one. *is 0: the file is neither, and nothing was read. */
plim_status trace_run_open(traced_spaces *t, const char *path, int *is);
void trace_run_close(traced_spaces *t);
/* When a command began and ended: as measured, where there is a trace; else as planned. */
int64_t trace_run_begin(const traced_spaces *t, int32_t c);
int64_t trace_run_end(const traced_spaces *t, int32_t c);
/* The end of the last command, as the two functions have it. */
int64_t trace_run_length(const traced_spaces *t);
/* The bytes of a space over time, from the begin of each buffer's first command to the end of its last one; moments
 * that change nothing are left out. *out [*n]: plim_release frees it. O(buffers log buffers). */
typedef struct trace_moment {
  int64_t at_ns, bytes; /* from then on */
} trace_moment;
plim_status trace_run_bytes(const traced_spaces *t, int32_t space, trace_moment **out, int32_t *n);

/* What was measured: of one command, and of all transfers as a table. Nothing without a trace. */
void trace_run_command(const traced_spaces *t, int32_t c, FILE *to);
void trace_run_transfers(const traced_spaces *t, FILE *to);

/* Writes the link of a transfer to words [SPACE_WORDS], as "cpu>host", and returns it. */
const char *trace_run_link(const traced_spaces *t, const plim_transfer *x, char *words);

/* ---- views: text ---- */
plim_status trace_spaces_summary(const traced_spaces *t, FILE *to);
plim_status trace_spaces_step(const traced_spaces *t, int32_t c, FILE *to);
plim_status trace_spaces_storage(const traced_spaces *t, const char *name, FILE *to);
/* Storages whose names these are, -1: none. */
int32_t trace_spaces_find(const traced_spaces *t, const char *name);

/* ---- views: JSON on `to` ---- */
plim_status trace_spaces_step_json(const traced_spaces *t, int32_t c, FILE *to);
plim_status trace_spaces_storage_json(const traced_spaces *t, const char *name, FILE *to);

/* ---- by hand ---- */

/* A key and where it leads from command c: *to -1 where there is none. 0: no such key. */
int trace_spaces_jump(const traced_spaces *t, char key, int32_t c, int32_t *to);
/* What the keys do, a line each. */
void trace_spaces_keys(FILE *to);
plim_status trace_spaces_screen(const traced_spaces *t, int *shown);

/* ---- pictures ---- */

/* By the ending of the path: .json events, .svg a picture, .html a page. */
plim_status trace_spaces_export(const traced_spaces *t, const char *path);
/* The picture alone, as SVG. */
plim_status trace_spaces_picture(const traced_spaces *t, plim_text *text);
/* Write the picture of a plan to a file. paged: the program's plan that `plan` was made of, or NULL. */
plim_status trace_spaces_save_picture(const plim_graph *graph, const plim_space_plan *plan, const plim_plan *paged,
                                      const char *path);
/* The same of a program's plan that pages or is placed. */
plim_status trace_run_save_picture(const plim_graph *graph, const plim_plan *plan, const char *path);

#endif

/* The state of an import of a DTR log, and the functions that its files share. import_dtr.c reads the log and the
 * instructions other than calls, dtr_calls.c reads CALL and MUTATE. dtr_tensors.c has names, tensors and the lines that
 * follow another. All run on the thread of the context. A failure is PLIM_EDATA with a sentence that names file and
 * line, or PLIM_ENOMEM; it ends the import. */
#ifndef PLIM_RUNTIME_IMPORT_DTR_IMPORT_H
#define PLIM_RUNTIME_IMPORT_DTR_IMPORT_H

#include "runtime/graph/builder.h"
#include "runtime/graph/handles_build.h"
#include "runtime/import/dtr_lines.h"
#include "runtime/import/symbols.h"

enum { PLIM_DTR_RELEASED = -1, PLIM_DTR_NO_VALUE = -1, PLIM_DTR_NO_TENSOR = -1 };

/* The tensor that a name of the log stands for. */
typedef struct plim_dtr_handle {
  int32_t tensor; /* PLIM_DTR_RELEASED: the name is no longer valid */
  int32_t pinned; /* 1: releases of the name are ignored */
} plim_dtr_handle;

typedef struct plim_dtr_list {
  int32_t *id; /* [count] */
  int64_t count, capacity;
} plim_dtr_list;

typedef struct plim_dtr_import {
  plim_context *ctx;
  plim_dtr_lines lines;
  plim_symbols names;
  plim_handles_builder program; /* the handle program while it is built */
  plim_graph_builder *graph;
  plim_dtr_handle *handle; /* [names.count] */
  int64_t handle_capacity;
  int32_t *value; /* [program.n_tensors] of the graph, that of the base for a view; PLIM_DTR_NO_VALUE: no bytes */
  int64_t value_capacity;
  int64_t total_ns, total_bytes;
  plim_phase phase;
  /* the current call */
  plim_dtr_list args, results, values; /* tensors, tensors, values of the graph */
  int64_t n_calls;                     /* its number, from 1 */
  int64_t *in_call;                    /* by value: the last call that it was collected for */
  int64_t in_call_capacity;
  int32_t n_fresh_results; /* results with bytes of their own */
  int32_t shared_result;   /* tensor shared by the results that exceed an op's outputs; PLIM_DTR_NO_TENSOR */
} plim_dtr_import;

/* ---- dtr_tensors.c ---- */

/* Record a failure of the current line; returns PLIM_EDATA. */
plim_status plim_dtr_fail(const plim_dtr_import *im, const char *format, ...) PLIM_PRINTF(2, 3);

/* Put the line's number before the sentence of a builder's failure; returns `status`. */
PLIM_MUST_USE plim_status plim_dtr_at_line(plim_dtr_import *im, plim_status status);

/* The handle of that name. NULL: there is none, and the failure PLIM_EDATA is recorded. */
plim_dtr_handle *plim_dtr_find_handle(const plim_dtr_import *im, const char *name);

/* Add a name for a tensor. PLIM_EDATA: the name is in use. */
PLIM_MUST_USE plim_status plim_dtr_add_handle(plim_dtr_import *im, const char *name, int32_t tensor);

/* Add an event of a tensor to the handle program. */
PLIM_MUST_USE plim_status plim_dtr_add_event(plim_dtr_import *im, plim_event_kind kind, int32_t tensor);

/* Add to the sum of all sizes. PLIM_EDATA: the sum is more than planners can add up and round. */
PLIM_MUST_USE plim_status plim_dtr_count_bytes(plim_dtr_import *im, int64_t bytes);

/* Add a tensor with a storage of its own and, when it has bytes, a value of the graph. */
PLIM_MUST_USE plim_status plim_dtr_add_fresh(plim_dtr_import *im, const char *name, plim_role role, int64_t bytes,
                                             int32_t *tensor);

/* Add a tensor that shares the storage of another. */
PLIM_MUST_USE plim_status plim_dtr_add_view(plim_dtr_import *im, int32_t of, int32_t *tensor);

/* Go to the next line. It must be of this kind, whose word is `word`, and about `name`. */
PLIM_MUST_USE plim_status plim_dtr_follow(plim_dtr_import *im, plim_dtr_kind kind, const char *word, const char *name);

/* Read the MEMORY line of `name`, which must be the next line. */
PLIM_MUST_USE plim_status plim_dtr_read_memory(plim_dtr_import *im, const char *name, int64_t *bytes);

/* ---- dtr_calls.c ---- */

/* Read the current line, a CALL or a MUTATE, and the lines that belong to it. */
PLIM_MUST_USE plim_status plim_dtr_read_call(plim_dtr_import *im);
PLIM_MUST_USE plim_status plim_dtr_read_mutate(plim_dtr_import *im);

#endif

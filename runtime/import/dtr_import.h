/* An import of a DTR log under way: its state, and what its files share. import_dtr.c (the log, and all instructions
 * but calls), dtr_calls.c (CALL and MUTATE), dtr_tensors.c (names, tensors, lines that follow another). On the thread
 * of the context. A failure is PLIM_EDATA with a sentence that names file and line, or PLIM_ENOMEM; it ends the import.
 * */
#ifndef PLIM_RUNTIME_IMPORT_DTR_IMPORT_H
#define PLIM_RUNTIME_IMPORT_DTR_IMPORT_H

#include "runtime/graph/builder.h"
#include "runtime/graph/handles_build.h"
#include "runtime/import/dtr_lines.h"
#include "runtime/import/symbols.h"

enum { PLIM_DTR_RELEASED = -1, PLIM_DTR_NO_VALUE = -1, PLIM_DTR_NO_TENSOR = -1 };

/* What a name of the log stands for. */
typedef struct plim_dtr_handle {
  int32_t tensor; /* PLIM_DTR_RELEASED: nothing any more */
  int32_t pinned; /* 1: no release counts */
} plim_dtr_handle;

typedef struct plim_dtr_list {
  int32_t *id; /* [count] */
  int64_t count, capacity;
} plim_dtr_list;

typedef struct plim_dtr_import {
  plim_context *ctx;
  plim_dtr_lines lines;
  plim_symbols names;
  plim_handles_builder program; /* the handle program in the making */
  plim_graph_builder *graph;
  plim_dtr_handle *handle; /* [names.count] */
  int64_t handle_capacity;
  int32_t *value; /* [program.n_tensors] of the graph, for tensors with a storage; PLIM_DTR_NO_VALUE */
  int64_t value_capacity;
  int64_t total_ns, total_bytes;
  plim_phase phase;
  /* the call in hand */
  plim_dtr_list args, results, values; /* tensors, tensors, values of the graph */
  int64_t n_calls;                     /* its number, from 1 */
  int64_t *in_call;                    /* by value: the call that it was collected for last */
  int64_t in_call_capacity;
  int32_t n_fresh_results; /* with bytes of their own */
  int32_t shared_result;   /* tensor that the results share for which an op has no place; PLIM_DTR_NO_TENSOR */
} plim_dtr_import;

/* ---- dtr_tensors.c ---- */

/* PLIM_EDATA with a sentence about the line in hand. */
plim_status plim_dtr_fail(const plim_dtr_import *im, const char *format, ...) PLIM_PRINTF(2, 3);

/* The failure of a builder, with the line's number; PLIM_OK stays. */
PLIM_MUST_USE plim_status plim_dtr_at_line(plim_dtr_import *im, plim_status status);

/* NULL when there is none of that name: PLIM_EDATA, with its sentence. */
plim_dtr_handle *plim_dtr_find_handle(const plim_dtr_import *im, const char *name);

/* A new name for a tensor. */
PLIM_MUST_USE plim_status plim_dtr_add_handle(plim_dtr_import *im, const char *name, int32_t tensor);

PLIM_MUST_USE plim_status plim_dtr_add_event(plim_dtr_import *im, plim_event_kind kind, int32_t tensor);

/* Add to the sum of all sizes. Planners add up bytes and round them: what they can hold is the limit. */
PLIM_MUST_USE plim_status plim_dtr_count_bytes(plim_dtr_import *im, int64_t bytes);

/* A tensor with a storage of its own and, when it has bytes, a value in the graph. */
PLIM_MUST_USE plim_status plim_dtr_add_fresh(plim_dtr_import *im, const char *name, plim_role role, int64_t bytes,
                                             int32_t *tensor);

/* A tensor that shares the storage of another. */
PLIM_MUST_USE plim_status plim_dtr_add_view(plim_dtr_import *im, int32_t of, int32_t *tensor);

/* Take the next line in hand: it must be of this kind, whose word is `word`, and about `name`. */
PLIM_MUST_USE plim_status plim_dtr_follow(plim_dtr_import *im, plim_dtr_kind kind, const char *word, const char *name);

/* The MEMORY line of `name`, which must come next. */
PLIM_MUST_USE plim_status plim_dtr_read_memory(plim_dtr_import *im, const char *name, int64_t *bytes);

/* ---- dtr_calls.c: the line in hand, with those that belong to it ---- */

PLIM_MUST_USE plim_status plim_dtr_read_call(plim_dtr_import *im);
PLIM_MUST_USE plim_status plim_dtr_read_mutate(plim_dtr_import *im);

#endif

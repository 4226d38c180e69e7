/* The graph document: one training (or evaluation) step as ops in program order over values.
 *
 * A *value* is a byte range of a *storage* (usually all of it; a view is a second value over the same storage). Each
 * storage is written by one op (its producer) or by none (roles input, param, state, staging: written from outside).
 * Planner, executor and arena work on storages; kernels see values. Documents are plain data and immutable after
 * plim_graph_end or plim_graph_load. */
#ifndef PLIM_RUNTIME_GRAPH_GRAPH_H
#define PLIM_RUNTIME_GRAPH_GRAPH_H

#include "kernels/op.h"
#include "runtime/base/context.h"
#include "runtime/graph/costs.h"
#include "runtime/graph/handles.h"

#ifdef __cplusplus
extern "C" {
#endif

/* input: written from outside before the step, alive from step 0 to its last reader.
 * param, state: persistent, alive all the time; changed by effect ops only. staging: alive all the time, used by
 * no op (the next batch). activation, gradient: made and dropped by the plan. output: alive from its last run
 * to the end of the step. */
#define PLIM_ROLES(X) \
  X(INPUT, "input")   \
  X(PARAM, "param")   \
  X(STATE, "state") X(STAGING, "staging") X(ACTIVATION, "activation") X(GRADIENT, "gradient") X(OUTPUT, "output")
#define PLIM_X(id, name) PLIM_ROLE_##id,
typedef enum plim_role { PLIM_ROLES(PLIM_X) PLIM_ROLE_COUNT } plim_role;
#undef PLIM_X

/* Part of the step an op belongs to. */
#define PLIM_PHASES(X) X(FORWARD, "forward") X(BACKWARD, "backward") X(UPDATE, "update")
#define PLIM_X(id, name) PLIM_PHASE_##id,
typedef enum plim_phase { PLIM_PHASES(PLIM_X) PLIM_PHASE_COUNT } plim_phase;
#undef PLIM_X

typedef struct plim_storage {
  int64_t bytes; /* not rounded; > 0; activations and gradients of imported graphs: >= 0 */
  plim_role role;
  int32_t producer; /* op that writes it, -1 when it comes from outside; derived */
} plim_storage;

typedef struct plim_value {
  const char *name; /* unique in the graph */
  int32_t storage;
  int64_t offset;   /* bytes from the start of the storage */
  plim_shape shape; /* u8 [0]: a value without bytes */
  int64_t bytes;    /* of the shape */
} plim_value;

typedef struct plim_op {
  const char *name; /* unique in the graph */
  plim_op_kind kind;
  plim_op_class cls; /* that of the kind; given for custom */
  plim_phase phase;
  plim_attrs attrs;
  int32_t n_in, n_out, n_upd, n_pairs;
  const int32_t *in, *out, *upd; /* values, in the kind's operand order */
  const plim_pair *pair;         /* allowed in-place pairs */
  int64_t time_ns;               /* cost carried by an imported graph, -1 when there is none */
  int64_t id;                    /* of the op in the file that was imported, -1 when there is none */
  /* derived, over storages, without repeats: */
  int32_t n_reads, n_writes, n_updates;
  const int32_t *reads, *writes, *updates;
} plim_op;

enum { PLIM_FINGERPRINT_BYTES = 65 }; /* 64 hexadecimal digits of SHA-256 and a NUL */

typedef struct plim_graph {
  plim_context *ctx;
  const char *name;
  int32_t batch;    /* images a step, 0 when it has no meaning */
  int32_t unpacked; /* 1: plans bound peak_bytes without rounding and have no addresses (published instances) */
  int32_t n_storages, n_values, n_ops;
  const plim_storage *storage;
  const plim_value *value;
  const plim_op *op;                        /* in program order */
  const plim_handles *handles;              /* of the program it was imported from; NULL: none */
  const plim_costs *costs;                  /* that it was imported with, beside time_ns; NULL: none */
  char fingerprint[PLIM_FINGERPRINT_BYTES]; /* of the canonical document */
  /* derived: ops that read (in program order) and that update storage s are
   * reader[reader_first[s] .. reader_first[s + 1]) and updater[updater_first[s] ..) */
  const int32_t *reader_first, *reader, *updater_first, *updater;
} plim_graph;

const char *plim_role_name(plim_role role);
int plim_role_find(const char *name); /* -1 when there is none */
const char *plim_phase_name(plim_phase phase);
int plim_phase_find(const char *name);

/* Is the storage alive during the whole step whatever the plan does (param, state, staging)? */
int plim_role_persistent(plim_role role);
/* Does the op read or write the storage? */
int plim_op_touches(const plim_op *op, int32_t storage);

/* ---- building: begin, add storages, values and ops, end ---- */
typedef struct plim_graph_builder plim_graph_builder;

PLIM_MUST_USE plim_status plim_graph_begin(plim_context *ctx, const char *name, int32_t batch,
                                           plim_graph_builder **out);
/* A storage; *out is its id (0, 1, ...). */
PLIM_MUST_USE plim_status plim_graph_add_storage(plim_graph_builder *b, plim_role role, int64_t bytes, int32_t *out);
/* A value over a byte range of a storage that is there already. */
PLIM_MUST_USE plim_status plim_graph_add_value(plim_graph_builder *b, const char *name, int32_t storage, int64_t offset,
                                               const plim_shape *shape, int32_t *out);
/* A storage of exactly the shape's bytes and a value over all of it. */
PLIM_MUST_USE plim_status plim_graph_add(plim_graph_builder *b, const char *name, plim_role role,
                                         const plim_shape *shape, int32_t *out_value);

/* Plans of this graph have no addresses, unless their options say so. */
void plim_graph_set_unpacked(plim_graph_builder *b);
/* The handle program; the builder takes it over, and the graph after it. Matched against the graph by plim_graph_end.
 */
void plim_graph_set_handles(plim_graph_builder *b, plim_handles *handles);
/* Costs by device; the builder takes them over, and the graph after it. Checked by plim_graph_end. */
void plim_graph_set_costs(plim_graph_builder *b, plim_costs *costs);

typedef struct plim_op_spec {
  const char *name;
  plim_op_kind kind;
  plim_op_class cls; /* read for custom only */
  plim_phase phase;
  plim_attrs attrs;
  int32_t n_in, n_out, n_upd, n_pairs;
  int32_t in[PLIM_OP_MAX_IN], out[PLIM_OP_MAX_OUT], upd[PLIM_OP_MAX_UPD];
  const int32_t *many_in; /* [n_in] read instead of `in` when not NULL: custom ops take any number of inputs */
  /* Read for custom only. Other kinds get their kind's pairs, where the two values are all of their storages and have
   * equal bytes, and the input is not persistent and no other operand of the op reads its storage. */
  plim_pair pair[PLIM_OP_MAX_PAIRS];
  int64_t time_ns;   /* -1: none */
  const int64_t *id; /* in the imported file; NULL: none */
} plim_op_spec;
PLIM_MUST_USE plim_status plim_graph_add_op(plim_graph_builder *b, const plim_op_spec *spec, int32_t *out);

/* Freeze and check: names unique, ids in range, every storage written once and before it is read, shapes inside
 * their storages, outputs of effect ops none, updates only of param and state, and only after every op that reads
 * them; staging used by no op. PLIM_EDATA with a sentence that names op and value. Frees the builder in every case. */
PLIM_MUST_USE plim_status plim_graph_end(plim_graph_builder *b, plim_graph **out);
void plim_graph_builder_free(plim_graph_builder *b); /* abandon; NULL is legal */
void plim_graph_free(plim_graph *graph);             /* NULL is legal */

/* The precision that the graph was made for: bf16 when a value is, tf32 when a product may round its factors, else
 * fp32. O(n). */
plim_precision plim_graph_precision(const plim_graph *graph);

/* The op with the shapes of its operands. Of more inputs than PLIM_OP_MAX_IN, which no kernel takes, the first. */
void plim_graph_describe(const plim_graph *graph, int32_t op, plim_op_desc *out);

/* Id of the value or op of that name, -1 when there is none. O(n). */
int32_t plim_graph_find_value(const plim_graph *graph, const char *name);
int32_t plim_graph_find_op(const plim_graph *graph, const char *name);

/* Bytes of storages alive all the time, each rounded up to PLIM_ALIGN. */
int64_t plim_graph_persistent_bytes(const plim_graph *graph);

/* Canonical JSON; strict. Errors name file, line or field. The file is replaced whole. */
PLIM_MUST_USE plim_status plim_graph_save(const plim_graph *graph, const char *path);
PLIM_MUST_USE plim_status plim_graph_load(plim_context *ctx, const char *path, plim_graph **out);

#ifdef __cplusplus
}
#endif
#endif

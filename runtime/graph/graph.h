/* The graph document: one training (or evaluation) step as ops in program order over values.
 *
 * A *value* is a byte range of a *storage*, usually all of it. A view is a second value over the same storage. Each
 * storage is written by one op, its producer, or from outside (roles input, param, state, staging). Planner, executor
 * and arena work on storages; kernels see values.
 *
 * These rules hold for every document (graph, profile, plan, trace):
 *   A document is plain data, and immutable after the function that made it. Any number of threads may read it.
 *   Its context must outlive it. A document made from a graph has the graph's context.
 *   A function without a context parameter uses the document's context, for memory and for the sentence of a failure.
 *   Such a function belongs to the thread of that context.
 *   On failure outputs are untouched. Any function that returns a status may return PLIM_ENOMEM. One that reads or
 *   writes a file may return PLIM_ECANCEL: the context was cancelled while the other end of a pipe was waited for.
 *   Equal inputs give equal documents, and files that are equal byte for byte.
 *
 * The functions stand in builder.c and freeze.c (making a graph), graph_read.c, graph_write.c, and graph.c. */
#ifndef PLIM_RUNTIME_GRAPH_GRAPH_H
#define PLIM_RUNTIME_GRAPH_GRAPH_H

#include "kernels/op.h"
#include "runtime/base/context.h"
#include "runtime/graph/costs.h"
#include "runtime/graph/handles.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The role of a storage says what it is for and when it is live:
 *   input         written from outside before the step; live from command 0 to its last reader
 *   param, state  persistent: live during the whole step; updated by effect ops only
 *   staging       persistent; no op uses it (the next batch)
 *   activation, gradient  written by an op; the plan places, evicts and recomputes it
 *   output        written by an op; live from its last run to the end of the step */
/* clang-format off */
#define PLIM_ROLES(X)                                                                      \
  X(INPUT, "input") X(PARAM, "param") X(STATE, "state") X(STAGING, "staging")              \
  X(ACTIVATION, "activation") X(GRADIENT, "gradient") X(OUTPUT, "output")
/* clang-format on */
#define PLIM_X(id, name) PLIM_ROLE_##id,
typedef enum plim_role { PLIM_ROLES(PLIM_X) PLIM_ROLE_COUNT } plim_role;
#undef PLIM_X

/* The part of the step to which an op belongs. */
#define PLIM_PHASES(X) X(FORWARD, "forward") X(BACKWARD, "backward") X(UPDATE, "update")
#define PLIM_X(id, name) PLIM_PHASE_##id,
typedef enum plim_phase { PLIM_PHASES(PLIM_X) PLIM_PHASE_COUNT } plim_phase;
#undef PLIM_X

typedef struct plim_storage {
  int64_t bytes; /* not rounded; > 0, but an activation or gradient may have 0 */
  plim_role role;
  int32_t producer; /* op that writes it, PLIM_NONE: it is written from outside; derived */
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
  plim_op_class cls; /* class of the kind; a custom op has the class of its spec */
  plim_phase phase;
  plim_attrs attrs;
  int32_t n_in, n_out, n_upd, n_pairs;
  const int32_t *in, *out, *upd; /* [n_in], [n_out], [n_upd] values, in the kind's operand order */
  /* their shapes, of lists that are longer than a plim_op_desc holds itself; else NULL */
  const plim_shape *many_in, *many_out, *many_upd;
  const plim_pair *pair; /* [n_pairs] in-place pairs: whole storages of equal bytes, the input's read once */
  int64_t time_ns;       /* of one run, from an imported file, or PLIM_UNKNOWN */
  int64_t id;            /* of the op in the imported file, or PLIM_NONE */
  /* derived: storages, each once */
  int32_t n_reads, n_writes, n_updates;
  const int32_t *reads, *writes, *updates; /* [n_reads], [n_writes], [n_updates] */
} plim_op;

enum { PLIM_FINGERPRINT_BYTES = 65 }; /* 64 hexadecimal digits of SHA-256 and a NUL */

typedef struct plim_graph {
  plim_context *ctx;
  const char *name;
  int32_t batch;    /* images a step, 0 when it has no meaning */
  int32_t unpacked; /* 1: a published instance without addresses; plan it with plim_plan_options.unpacked */
  int32_t n_storages, n_values, n_ops;
  const plim_storage *storage;              /* [n_storages] */
  const plim_value *value;                  /* [n_values] */
  const plim_op *op;                        /* [n_ops] in program order */
  const plim_handles *handles;              /* handle program of the imported program; NULL: none */
  const plim_costs *costs;                  /* costs by device from the imported file, beside time_ns; NULL: none */
  char fingerprint[PLIM_FINGERPRINT_BYTES]; /* of the canonical document */
  /* derived: the ops that read storage s, in program order, are reader[reader_first[s] .. reader_first[s + 1]); those
   * that update it are updater[updater_first[s] .. updater_first[s + 1]). Both `first` are [n_storages + 1] */
  const int32_t *reader_first, *reader, *updater_first, *updater;
} plim_graph;

/* The name of a role or phase, a static string; NULL when out of range. The role or phase of a name, or PLIM_NONE.
 */
const char *plim_role_name(plim_role role);
int plim_role_find(const char *name);
const char *plim_phase_name(plim_phase phase);
int plim_phase_find(const char *name);

/* Are storages of that role live during the whole step in every plan? True for param, state and staging. */
int plim_role_persistent(plim_role role);
/* Is the storage among the op's `reads`; among its `reads` or `writes`? Updates do not count. O(operands). */
int plim_op_reads(const plim_op *op, int32_t storage);
int plim_op_touches(const plim_op *op, int32_t storage);
/* May a plan write the output of one of the op's pairs over the input, once nothing else reads that? Not over an output
 * of the graph, which stays, nor where there are no bytes. The checker does not use this function. O(1). */
int plim_op_may_overwrite(const plim_graph *graph, const plim_op *op, plim_pair pair);

/* ---- building: begin, add storages, values and ops, end ---- */

/* A graph under construction. Functions copy what they add. A failed call adds nothing, and the builder stays usable.
 */
typedef struct plim_graph_builder plim_graph_builder;

/* Begin an empty graph.
 *   name   in   copied
 *   batch  in   images a step, 0 when it has no meaning; negative: PLIM_EDATA
 *   out    out  give it to plim_graph_end or plim_graph_builder_free */
PLIM_MUST_USE plim_status plim_graph_begin(plim_context *ctx, const char *name, int32_t batch,
                                           plim_graph_builder **out);
/* Add a storage of `bytes`, not rounded; *out is its id (0, 1, ...). PLIM_EDATA: there is no such role, or the size is
 * not allowed. PLIM_EOVERFLOW: there are 2^31 - 1 storages already; the same limit holds for values and ops. */
PLIM_MUST_USE plim_status plim_graph_add_storage(plim_graph_builder *builder, plim_role role, int64_t bytes,
                                                 int32_t *out);
/* Add a value over the bytes [offset, offset + bytes of the shape) of a storage that was added before; *out is its id.
 * PLIM_EDATA: the shape is not allowed, the range exceeds the storage, or `offset` is no multiple of the element's
 * bytes. */
PLIM_MUST_USE plim_status plim_graph_add_value(plim_graph_builder *builder, const char *name, int32_t storage,
                                               int64_t offset, const plim_shape *shape, int32_t *out);
/* Add a storage of exactly the shape's bytes, and a value over all of it, whose id is *out_value. The errors of both
 * functions above. */
PLIM_MUST_USE plim_status plim_graph_add(plim_graph_builder *builder, const char *name, plim_role role,
                                         const plim_shape *shape, int32_t *out_value);

/* Mark the graph as a published instance, whose plans have no addresses (plim_graph.unpacked). */
void plim_graph_set_unpacked(plim_graph_builder *builder);
/* Set the handle program. The builder owns it, and later the graph. plim_graph_end compares it with the graph. */
void plim_graph_set_handles(plim_graph_builder *builder, plim_handles *handles);
/* Set the costs by device. The builder owns them, and later the graph. plim_graph_end checks them. */
void plim_graph_set_costs(plim_graph_builder *builder, plim_costs *costs);

typedef struct plim_op_spec {
  const char *name;
  plim_op_kind kind;
  plim_op_class cls; /* read for custom only */
  plim_phase phase;
  plim_attrs attrs;
  int32_t n_in, n_out, n_upd, n_pairs;
  int32_t in[PLIM_OP_MAX_IN], out[PLIM_OP_MAX_OUT], upd[PLIM_OP_MAX_UPD];
  /* [n_in], [n_out], [n_upd]  Read in place of the arrays when not NULL: lists of any number of operands */
  const int32_t *many_in, *many_out, *many_upd;
  /* Read for custom only. Other kinds get the pairs of their kind that are possible: both values are all of their
   * storages and have equal bytes, and the input is not persistent and is the op's only read of its storage. */
  plim_pair pair[PLIM_OP_MAX_PAIRS];
  int64_t time_ns;   /* or PLIM_UNKNOWN */
  const int64_t *id; /* in the imported file; NULL: none */
} plim_op_spec;
/* Add an op at the end of the program; *out is its id. PLIM_EDATA: a kind, class, phase, operand, attribute, pair or
 * time is not allowed; the sentence names op and operand. */
PLIM_MUST_USE plim_status plim_graph_add_op(plim_graph_builder *builder, const plim_op_spec *spec, int32_t *out);

/* Check the graph, and make it from the builder, which is freed in every case.
 *   out  out  free with plim_graph_free
 * The rules: names are unique, and ids in range; every storage is written once, before it is read; shapes lie inside
 * their storages; effect ops have no outputs; updates are of param and state only, after every op that reads them; no
 * op uses staging; there is at least one op. PLIM_EDATA when one is broken; the sentence names op and value.
 * O(n log n). */
PLIM_MUST_USE plim_status plim_graph_end(plim_graph_builder *builder, plim_graph **out);
void plim_graph_builder_free(plim_graph_builder *builder); /* abandon; NULL is legal */
void plim_graph_free(plim_graph *graph);                   /* NULL is legal */

/* The precision for which the graph was made: bf16 when a value that is no state has that type; else tf32 when a
 * product may round its factors; else fp32. O(n). */
plim_precision plim_graph_precision(const plim_graph *graph);

/* Describe an op, which must be in range, with the shapes of its operands, of which *out borrows the long lists. */
void plim_graph_describe(const plim_graph *graph, int32_t op, plim_op_desc *out);

/* Id of the value or op of that name, or PLIM_NONE. O(n). */
int32_t plim_graph_find_value(const plim_graph *graph, const char *name);
int32_t plim_graph_find_op(const plim_graph *graph, const char *name);

/* The name by which messages call a storage: that of the first value over it, borrowed from the graph. `otherwise` when
 * there is no such value, and for PLIM_WORKSPACE. O(n). */
const char *plim_graph_storage_name(const plim_graph *graph, int32_t storage, const char *otherwise);

/* Sum of the bytes of persistent storages, each rounded up to PLIM_ALIGN; -1 on overflow. O(n). */
int64_t plim_graph_persistent_bytes(const plim_graph *graph);

/* Write and read canonical JSON (docs/formats.md). Saving replaces the whole file, or leaves it as it was. Loading is
 * strict. PLIM_EIO: the system cannot write or read. PLIM_ENOFILE: there is no such file. PLIM_EDATA: the contents are
 * wrong; the sentence names the file, and the line or the field. O(file). */
PLIM_MUST_USE plim_status plim_graph_save(const plim_graph *graph, const char *path);
PLIM_MUST_USE plim_status plim_graph_load(plim_context *ctx, const char *path, plim_graph **out);

#ifdef __cplusplus
}
#endif
#endif

/* Copies a graph and its profile op by op. Ops of the copy may have other inputs, and it may have ops of its own. */
#ifndef PLIM_PLANNER_PAGING_GRAPH_COPY_H
#define PLIM_PLANNER_PAGING_GRAPH_COPY_H

#include "planner/planner.h"

typedef struct plim_graph_copy {
  plim_context *ctx;
  const plim_graph *from;
  const plim_profile *profile; /* of `from` */
  int32_t more_ops;            /* at most so many ops of the copy's own */
  plim_graph_builder *builder; /* storages and values are the caller's to add */
  int32_t *input;              /* inputs of the op in hand: twice as many as any op has, and PLIM_OP_MAX_UPD */
  int32_t *first;              /* of the copy's profile, [ops + 1] */
  plim_variant *variant;       /* rows of the ops so far */
  int32_t n_variants;
} plim_graph_copy;

/* Begin a copy that has no storages, values and ops. Free it also after a failure. PLIM_ENOMEM. O(ops). */
PLIM_MUST_USE plim_status plim_graph_copy_begin(plim_context *ctx, const plim_graph *from, const plim_profile *profile,
                                                int32_t more_ops, plim_graph_copy *out);
void plim_graph_copy_free(plim_graph_copy *copy);

/* The shape of so many bytes without a type, for storages and values of the copy's own. */
plim_shape plim_graph_copy_bytes(int64_t bytes);

/* Returns op `op` of `from` with the same outputs and updates. The caller writes its inputs to copy->input. */
plim_op_spec plim_graph_copy_spec(const plim_graph_copy *copy, int32_t op);

/* Add an op with the variants of op `op` of `from`, or an op of the copy's own with one variant.
 *   name  in   of that variant, and its numerics key
 *   id    out  of the op. The rows of its variants are variant[first[id]] to variant[first[id + 1] - 1] */
PLIM_MUST_USE plim_status plim_graph_copy_add(plim_graph_copy *copy, const plim_op_spec *spec, int32_t op, int32_t *id);
PLIM_MUST_USE plim_status plim_graph_copy_add_own(plim_graph_copy *copy, const plim_op_spec *spec, const char *name,
                                                  int64_t time_ns, int32_t *id);

/* Make the graph and the profile of the copy. PLIM_EDATA: what was added is no graph. */
PLIM_MUST_USE plim_status plim_graph_copy_end(plim_graph_copy *copy, plim_graph **graph, plim_profile **profile);

#endif

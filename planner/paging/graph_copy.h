/* A copy of a graph with its profile, op by op: for graphs that have other inputs, or ops of their own beside those. */
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

/* The storages of the copy may have other bytes: shape of so many. */
plim_shape plim_graph_copy_bytes(int64_t bytes);

/* An op of `from`, with the same values as outputs and updates; its inputs are to be written to copy->input. */
plim_op_spec plim_graph_copy_spec(const plim_graph_copy *copy, int32_t op);

/* Add an op, with the variants of op `op` of `from`; or an own one, with one variant.
 *   name  in   of the variant, and its numerics key
 *   id    out  of the op. The rows of its variants are variant[first[id]] to variant[first[id + 1] - 1] */
PLIM_MUST_USE plim_status plim_graph_copy_add(plim_graph_copy *copy, const plim_op_spec *spec, int32_t op, int32_t *id);
PLIM_MUST_USE plim_status plim_graph_copy_add_own(plim_graph_copy *copy, const plim_op_spec *spec, const char *name,
                                                  int64_t time_ns, int32_t *id);

/* *graph, *profile: of the copy. PLIM_EDATA: what was added is no graph. */
PLIM_MUST_USE plim_status plim_graph_copy_end(plim_graph_copy *copy, plim_graph **graph, plim_profile **profile);

#endif

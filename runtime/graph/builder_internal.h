/* State of the graph builder, shared by builder.c, which adds rows, and freeze.c, which makes the graph. Functions run
 * on the thread of the context. */
#ifndef PLIM_RUNTIME_GRAPH_BUILDER_INTERNAL_H
#define PLIM_RUNTIME_GRAPH_BUILDER_INTERNAL_H

#include "runtime/graph/builder.h"

/* While the builder grows, names are offsets into `chars`, because the text may move. */
typedef struct plim_draft_value {
  plim_value value; /* name not set */
  int64_t name;
} plim_draft_value;

typedef struct plim_draft_op {
  plim_op_kind kind;
  plim_op_class cls;
  plim_phase phase;
  plim_attrs attrs;
  int32_t n_in, n_out, n_upd, n_pairs;
  plim_pair pair[PLIM_OP_MAX_PAIRS]; /* [n_pairs] in-place pairs that its operands allow */
  int64_t time_ns, id;
  int64_t name, operands; /* offsets into chars and operand, where inputs, outputs and updates follow each other */
} plim_draft_op;

struct plim_graph_builder {
  plim_context *ctx;
  int32_t batch, unpacked;
  plim_handles *handles; /* NULL: none */
  plim_costs *costs;     /* NULL: none */
  char *chars;           /* NUL-terminated names; the graph's own is the first */
  plim_storage *storage;
  plim_draft_value *value;
  plim_draft_op *op;
  int32_t *operand; /* of every op, one after the other */
  int64_t n_chars, n_storages, n_values, n_ops, n_operands;
  int64_t cap_chars, cap_storages, cap_values, cap_ops, cap_operands;
};

#endif

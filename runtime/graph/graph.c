/* Reads facts from a graph: names of its enumerations, operand shapes, ids by name, persistent bytes. */
#include "runtime/graph/graph.h"

#include <string.h>

#include "runtime/graph/graph_internal.h"

#define PLIM_X(id, name) name,
static const char *const role_names[] = {PLIM_ROLES(PLIM_X)};
static const char *const phase_names[] = {PLIM_PHASES(PLIM_X)};
#undef PLIM_X

const char *plim_role_name(plim_role role) {
  return (int)role >= 0 && (int)role < PLIM_ROLE_COUNT ? role_names[role] : NULL;
}

int plim_role_find(const char *name) {
  for (int i = 0; i < PLIM_ROLE_COUNT; i++) {
    if (strcmp(role_names[i], name) == 0) return i;
  }
  return PLIM_NONE;
}

const char *plim_phase_name(plim_phase phase) {
  return (int)phase >= 0 && (int)phase < PLIM_PHASE_COUNT ? phase_names[phase] : NULL;
}

int plim_phase_find(const char *name) {
  for (int i = 0; i < PLIM_PHASE_COUNT; i++) {
    if (strcmp(phase_names[i], name) == 0) return i;
  }
  return PLIM_NONE;
}

int plim_op_reads(const plim_op *op, int32_t storage) {
  for (int32_t k = 0; k < op->n_reads; k++) {
    if (op->reads[k] == storage) return 1;
  }
  return 0;
}

int plim_op_touches(const plim_op *op, int32_t storage) {
  if (plim_op_reads(op, storage)) return 1;
  for (int32_t k = 0; k < op->n_writes; k++) {
    if (op->writes[k] == storage) return 1;
  }
  return 0;
}

int plim_op_may_overwrite(const plim_graph *graph, const plim_op *op, plim_pair pair) {
  const plim_storage *in = &graph->storage[graph->value[op->in[pair.in]].storage];
  return in->role != PLIM_ROLE_OUTPUT && in->bytes > 0;
}

int plim_role_persistent(plim_role role) {
  return role == PLIM_ROLE_PARAM || role == PLIM_ROLE_STATE || role == PLIM_ROLE_STAGING;
}

void plim_graph_free(plim_graph *graph) {
  if (!graph) return;
  plim_own_graph *own = (plim_own_graph *)graph; /* the graph is its first member */
  plim_handles_free(own->handles);
  plim_costs_free(own->costs);
  plim_release(graph->ctx, own, own->block_bytes, 1);
}

plim_precision plim_graph_precision(const plim_graph *graph) {
  for (int32_t v = 0; v < graph->n_values; v++) {
    const plim_value *value = &graph->value[v];
    if (value->shape.dtype != PLIM_BF16 || graph->storage[value->storage].role == PLIM_ROLE_STATE) continue;
    return PLIM_PRECISION_BF16;
  }
  for (int32_t o = 0; o < graph->n_ops; o++) {
    if (graph->op[o].attrs.tf32) return PLIM_PRECISION_TF32;
  }
  return PLIM_PRECISION_FP32;
}

static void describe_list(const plim_graph *graph, int32_t n, const int32_t *value, int32_t capacity,
                          plim_shape *shape) {
  for (int32_t i = 0; i < n && n <= capacity; i++) shape[i] = graph->value[value[i]].shape;
}

void plim_graph_describe(const plim_graph *graph, int32_t op, plim_op_desc *out) {
  const plim_op *o = &graph->op[op];
  *out = (plim_op_desc){.kind = o->kind,
                        .attrs = o->attrs,
                        .n_in = o->n_in,
                        .n_out = o->n_out,
                        .n_upd = o->n_upd,
                        .many_in = o->many_in,
                        .many_out = o->many_out,
                        .many_upd = o->many_upd};
  describe_list(graph, o->n_in, o->in, PLIM_OP_MAX_IN, out->in);
  describe_list(graph, o->n_out, o->out, PLIM_OP_MAX_OUT, out->out);
  describe_list(graph, o->n_upd, o->upd, PLIM_OP_MAX_UPD, out->upd);
}

int32_t plim_graph_find_value(const plim_graph *graph, const char *name) {
  for (int32_t i = 0; i < graph->n_values; i++) {
    if (strcmp(graph->value[i].name, name) == 0) return i;
  }
  return PLIM_NONE;
}

int32_t plim_graph_find_op(const plim_graph *graph, const char *name) {
  for (int32_t i = 0; i < graph->n_ops; i++) {
    if (strcmp(graph->op[i].name, name) == 0) return i;
  }
  return PLIM_NONE;
}

const char *plim_graph_storage_name(const plim_graph *graph, int32_t storage, const char *otherwise) {
  for (int32_t i = 0; i < graph->n_values && storage >= 0; i++) {
    if (graph->value[i].storage == storage) return graph->value[i].name;
  }
  return otherwise;
}

int64_t plim_graph_persistent_bytes(const plim_graph *graph) {
  int64_t sum = 0;
  for (int32_t i = 0; i < graph->n_storages; i++) {
    const plim_storage *s = &graph->storage[i];
    if (plim_role_persistent(s->role)) sum = plim_add_checked(sum, plim_align_up(s->bytes, PLIM_ALIGN));
  }
  return sum;
}

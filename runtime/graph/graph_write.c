/* Writes a graph in canonical form: a fixed order of fields, and one row on each line. */
#include "runtime/graph/costs_text.h"
#include "runtime/graph/document.h"
#include "runtime/graph/graph_text.h"
#include "runtime/graph/handles_text.h"

static void write_number(plim_text *text, const plim_attr *attr, const plim_attrs *attrs, int k) {
  if (attr->type == PLIM_ATTR_FLOAT) {
    plim_text_float(text, plim_attr_float(attr, attrs, k));
  } else {
    plim_text_format(text, "%lld", (long long)plim_attr_int(attr, attrs, k));
  }
}

/* The attributes of the op's kind; those that are all zero are left out. */
static void write_attrs(plim_text *text, const plim_op *op) {
  const char *comma = "";
  const plim_attr *attr;
  plim_text_add(text, ", \"attrs\": {");
  for (int i = 0; (attr = plim_op_kind_attr(op->kind, i)) != NULL; i++) {
    if (plim_attr_is_zero(attr, &op->attrs)) continue;
    plim_text_format(text, "%s\"%s\": %s", comma, attr->name, attr->count > 1 ? "[" : "");
    for (int k = 0; k < attr->count; k++) {
      if (k > 0) plim_text_add(text, ", ");
      write_number(text, attr, &op->attrs, k);
    }
    if (attr->count > 1) plim_text_add(text, "]");
    comma = ", ";
  }
  plim_text_add(text, "}");
}

static void write_numbers(plim_text *text, const int64_t *number, int32_t n) {
  for (int32_t i = 0; i < n; i++) plim_text_format(text, i > 0 ? ", %lld" : "%lld", (long long)number[i]);
}

static void write_value(plim_text *text, const plim_value *value) {
  plim_text_add(text, "{\"name\": ");
  plim_text_quote(text, value->name);
  plim_text_format(text, ", \"storage\": %d, \"offset\": %lld, \"dtype\": \"%s\", \"layout\": \"%s\", \"shape\": [",
                   value->storage, (long long)value->offset, plim_dtype_name(value->shape.dtype),
                   plim_layout_name(value->shape.layout));
  write_numbers(text, value->shape.dim, value->shape.rank);
  if (plim_shape_is_strided(&value->shape)) {
    plim_text_add(text, "], \"strides\": [");
    write_numbers(text, value->shape.stride, value->shape.rank);
  }
  plim_text_add(text, "]}");
}

static int has_costs(const plim_graph *graph) {
  return graph->costs && plim_costs_any(graph->costs);
}

static void write_op(plim_text *text, const plim_graph *graph, int32_t o, int version) {
  const plim_op *op = &graph->op[o];
  plim_text_add(text, "{");
  if (version >= 2) {
    plim_text_add(text, "\"id\": ");
    plim_document_write_int(text, op->id, PLIM_NONE);
    plim_text_add(text, ", ");
  }
  plim_text_add(text, "\"name\": ");
  plim_text_quote(text, op->name);
  plim_text_format(text, ", \"kind\": \"%s\", \"class\": \"%s\", \"phase\": \"%s\"", plim_op_kind_name(op->kind),
                   plim_op_class_name(op->cls), plim_phase_name(op->phase));
  write_attrs(text, op);
  plim_text_add(text, ", \"in\": ");
  plim_document_write_ids(text, op->in, op->n_in);
  plim_text_add(text, ", \"out\": ");
  plim_document_write_ids(text, op->out, op->n_out);
  plim_text_add(text, ", \"upd\": ");
  plim_document_write_ids(text, op->upd, op->n_upd);
  plim_text_add(text, ", \"pairs\": ");
  plim_document_write_pairs(text, op->pair, op->n_pairs);
  plim_text_add(text, ", \"time_ns\": ");
  plim_document_write_int(text, op->time_ns, PLIM_UNKNOWN);
  if (has_costs(graph)) plim_costs_write_op(text, graph->costs, o);
  plim_text_add(text, "}");
}

/* Has the op operands that earlier versions do not have? Every sgd of those has a velocity, and none has squares. */
static int is_newer_sgd(const plim_op *op) {
  return op->kind == PLIM_OP_SGD && (op->n_in > 2 || op->n_upd < 2);
}

/* Does the graph need version 5? Earlier versions have no newer kinds, no strides, no states in bf16, and fewer sizes,
 * outputs and updates. */
static int is_fifth(const plim_graph *graph) {
  enum { OLD_RANK = 4, OLD_OUTPUTS = 8, OLD_UPDATES = 2 };
  for (int32_t v = 0; v < graph->n_values; v++) {
    const plim_value *value = &graph->value[v];
    const int is_state = graph->storage[value->storage].role == PLIM_ROLE_STATE;
    if (value->shape.rank > OLD_RANK || plim_shape_is_strided(&value->shape)) return 1;
    if (is_state && value->shape.dtype == PLIM_BF16) return 1;
  }
  for (int32_t o = 0; o < graph->n_ops; o++) {
    const plim_op *op = &graph->op[o];
    if (plim_op_kind_row(op->kind)->version >= 5 || op->n_upd > OLD_UPDATES || op->n_out > OLD_OUTPUTS) return 1;
    if (is_newer_sgd(op)) return 1;
  }
  return 0;
}

int plim_graph_version(const plim_graph *graph) {
  if (is_fifth(graph)) return 5;
  if (has_costs(graph)) return 4;
  if (plim_graph_precision(graph) != PLIM_PRECISION_FP32) return 3;
  enum { OLD_INPUTS = 8 };
  int second = graph->unpacked || graph->handles;
  for (int32_t s = 0; s < graph->n_storages && !second; s++) second = graph->storage[s].bytes == 0;
  for (int32_t o = 0; o < graph->n_ops && !second; o++) second = graph->op[o].id >= 0 || graph->op[o].n_in > OLD_INPUTS;
  return second ? 2 : 1;
}

void plim_graph_write(plim_text *text, const plim_graph *graph, int with_fingerprint) {
  int version = plim_graph_version(graph);
  plim_document_write_version(text, "graph", version);
  if (with_fingerprint) plim_text_format(text, "  \"fingerprint\": \"%s\",\n", graph->fingerprint);
  plim_text_add(text, "  \"name\": ");
  plim_text_quote(text, graph->name);
  plim_text_format(text, ",\n  \"batch\": %d,\n", graph->batch);
  if (version >= 2) plim_text_format(text, "  \"addresses\": \"%s\",\n", graph->unpacked ? "none" : "packed");
  if (has_costs(graph)) plim_costs_write_devices(text, graph->costs);
  plim_text_add(text, "  \"storages\": [");
  for (int32_t i = 0; i < graph->n_storages; i++) {
    plim_text_format(text, "%s\n    {\"role\": \"%s\", \"bytes\": %lld}", i > 0 ? "," : "",
                     plim_role_name(graph->storage[i].role), (long long)graph->storage[i].bytes);
  }
  plim_text_add(text, "\n  ],\n  \"values\": [");
  for (int32_t i = 0; i < graph->n_values; i++) {
    plim_text_add(text, i > 0 ? ",\n    " : "\n    ");
    write_value(text, &graph->value[i]);
  }
  plim_text_add(text, "\n  ],\n  \"ops\": [");
  for (int32_t i = 0; i < graph->n_ops; i++) {
    plim_text_add(text, i > 0 ? ",\n    " : "\n    ");
    write_op(text, graph, i, version);
  }
  plim_text_add(text, "\n  ]");
  if (graph->handles) {
    plim_text_add(text, ",\n  \"handles\": ");
    plim_handles_write(text, graph->handles);
  }
  plim_text_add(text, "\n}\n");
}

plim_status plim_graph_save(const plim_graph *graph, const char *path) {
  plim_text text = {graph->ctx, NULL, 0, 0, PLIM_OK};
  plim_graph_write(&text, graph, 1);
  return plim_document_save(&text, path);
}

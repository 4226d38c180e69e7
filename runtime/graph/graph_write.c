/* Writes a graph in canonical form: fixed order of fields, one row a line. */
#include "runtime/graph/costs_text.h"
#include "runtime/graph/document.h"
#include "runtime/graph/graph_text.h"
#include "runtime/graph/handles_text.h"

static void write_two(plim_text *t, const char **comma, const char *key, const int32_t *x) {
  if (x[0] == 0 && x[1] == 0) return;
  plim_text_format(t, "%s\"%s\": [%d, %d]", *comma, key, x[0], x[1]);
  *comma = ", ";
}

static void write_int(plim_text *t, const char **comma, const char *key, int64_t x) {
  if (x == 0) return;
  plim_text_format(t, "%s\"%s\": %lld", *comma, key, (long long)x);
  *comma = ", ";
}

static void write_floats(plim_text *t, const char **comma, const char *key, const float *x, int n) {
  int zero = 1;
  for (int i = 0; i < n; i++) zero = zero && x[i] == 0;
  if (zero) return;
  plim_text_format(t, "%s\"%s\": %s", *comma, key, n > 1 ? "[" : "");
  for (int i = 0; i < n; i++) {
    if (i > 0) plim_text_add(t, ", ");
    plim_text_float(t, x[i]);
  }
  if (n > 1) plim_text_add(t, "]");
  *comma = ", ";
}

/* Attributes that are all zero are left out. */
static void write_attrs(plim_text *t, const plim_attrs *a) {
  const char *comma = "";
  plim_text_add(t, ", \"attrs\": {");
  write_two(t, &comma, "kernel", a->kernel);
  write_two(t, &comma, "stride", a->stride);
  write_two(t, &comma, "pad", a->pad);
  write_int(t, &comma, "relu", a->relu);
  write_int(t, &comma, "add", a->add);
  write_int(t, &comma, "tf32", a->tf32);
  write_floats(t, &comma, "eps", &a->eps, 1);
  write_floats(t, &comma, "momentum", &a->momentum, 1);
  write_floats(t, &comma, "drop", &a->drop, 1);
  write_int(t, &comma, "count", a->count);
  write_floats(t, &comma, "scale", a->scale, 4);
  write_floats(t, &comma, "shift", a->shift, 4);
  plim_text_add(t, "}");
}

static void write_value(plim_text *t, const plim_value *v) {
  plim_text_add(t, "{\"name\": ");
  plim_text_quote(t, v->name);
  plim_text_format(t, ", \"storage\": %d, \"offset\": %lld, \"dtype\": \"%s\", \"layout\": \"%s\", \"shape\": [",
                   v->storage, (long long)v->offset, plim_dtype_name(v->shape.dtype),
                   plim_layout_name(v->shape.layout));
  for (int32_t i = 0; i < v->shape.rank; i++) {
    plim_text_format(t, i > 0 ? ", %lld" : "%lld", (long long)v->shape.dim[i]);
  }
  plim_text_add(t, "]}");
}

static void write_op(plim_text *t, const plim_graph *g, int32_t o, int version) {
  const plim_op *op = &g->op[o];
  plim_text_add(t, "{");
  if (version >= 2) {
    plim_text_add(t, "\"id\": ");
    plim_document_write_int(t, op->id, -1);
    plim_text_add(t, ", ");
  }
  plim_text_add(t, "\"name\": ");
  plim_text_quote(t, op->name);
  plim_text_format(t, ", \"kind\": \"%s\", \"class\": \"%s\", \"phase\": \"%s\"", plim_op_kind_name(op->kind),
                   plim_op_class_name(op->cls), plim_phase_name(op->phase));
  write_attrs(t, &op->attrs);
  plim_text_add(t, ", \"in\": ");
  plim_document_write_ids(t, op->in, op->n_in);
  plim_text_add(t, ", \"out\": ");
  plim_document_write_ids(t, op->out, op->n_out);
  plim_text_add(t, ", \"upd\": ");
  plim_document_write_ids(t, op->upd, op->n_upd);
  plim_text_add(t, ", \"pairs\": ");
  plim_document_write_pairs(t, op->pair, op->n_pairs);
  plim_text_add(t, ", \"time_ns\": ");
  plim_document_write_int(t, op->time_ns, -1);
  if (version >= 4) plim_costs_write_op(t, g->costs, o);
  plim_text_add(t, "}");
}

int plim_graph_version(const plim_graph *g) {
  if (g->costs && plim_costs_any(g->costs)) return 4;
  if (plim_graph_precision(g) != PLIM_PRECISION_FP32) return 3;
  int second = g->unpacked || g->handles;
  for (int32_t s = 0; s < g->n_storages && !second; s++) second = g->storage[s].bytes == 0;
  for (int32_t o = 0; o < g->n_ops && !second; o++) second = g->op[o].id >= 0 || g->op[o].n_in > PLIM_OP_MAX_IN;
  return second ? 2 : 1;
}

void plim_graph_write(plim_text *t, const plim_graph *g, int whole) {
  int version = plim_graph_version(g);
  plim_document_write_version(t, "graph", version);
  if (whole) plim_text_format(t, "  \"fingerprint\": \"%s\",\n", g->fingerprint);
  plim_text_add(t, "  \"name\": ");
  plim_text_quote(t, g->name);
  plim_text_format(t, ",\n  \"batch\": %d,\n", g->batch);
  if (version >= 2) plim_text_format(t, "  \"addresses\": \"%s\",\n", g->unpacked ? "none" : "packed");
  if (version >= 4) plim_costs_write_devices(t, g->costs);
  plim_text_add(t, "  \"storages\": [");
  for (int32_t i = 0; i < g->n_storages; i++) {
    plim_text_format(t, "%s\n    {\"role\": \"%s\", \"bytes\": %lld}", i > 0 ? "," : "",
                     plim_role_name(g->storage[i].role), (long long)g->storage[i].bytes);
  }
  plim_text_add(t, "\n  ],\n  \"values\": [");
  for (int32_t i = 0; i < g->n_values; i++) {
    plim_text_add(t, i > 0 ? ",\n    " : "\n    ");
    write_value(t, &g->value[i]);
  }
  plim_text_add(t, "\n  ],\n  \"ops\": [");
  for (int32_t i = 0; i < g->n_ops; i++) {
    plim_text_add(t, i > 0 ? ",\n    " : "\n    ");
    write_op(t, g, i, version);
  }
  plim_text_add(t, "\n  ]");
  if (g->handles) {
    plim_text_add(t, ",\n  \"handles\": ");
    plim_handles_write(t, g->handles);
  }
  plim_text_add(t, "\n}\n");
}

plim_status plim_graph_save(const plim_graph *graph, const char *path) {
  plim_text text = {graph->ctx, NULL, 0, 0, PLIM_OK};
  plim_graph_write(&text, graph, 1);
  return plim_document_save(&text, path);
}

/* Reads a graph. Every row is added to a builder, so that a loaded graph passes the same checks as a built one. Its
 * fingerprint must be the one that the document states. */
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/graph/builder_internal.h"
#include "runtime/graph/costs_text.h"
#include "runtime/graph/document.h"
#include "runtime/graph/graph_text.h"
#include "runtime/graph/handles_text.h"

static void read_storages(plim_json_at *root, plim_graph_builder *builder) {
  int32_t n = 0, id = 0;
  plim_json_at list = plim_json_list(root, "storages", &n);
  for (int32_t i = 0; i < n && root->doc->status == PLIM_OK; i++) {
    plim_json_at at = plim_json_item(&list, i);
    plim_role role = (plim_role)plim_json_name(&at, "role", plim_role_find);
    int64_t bytes = plim_json_amount(&at, "bytes");
    plim_json_end(&at);
    if (root->doc->status == PLIM_OK) plim_json_take(&at, plim_graph_add_storage(builder, role, bytes, &id));
  }
}

static void read_strides(plim_json_at *at, plim_shape *shape) {
  int32_t n = 0;
  plim_json_at list = plim_json_list(at, "strides", &n);
  if (n != shape->rank) plim_json_fail(&list, NULL, "has %d numbers, not %d", n, shape->rank);
  for (int32_t i = 0; i < shape->rank; i++) shape->stride[i] = plim_json_int_item(&list, i, 1, INT64_MAX);
}

static plim_shape read_shape(plim_json_at *at, int version) {
  plim_shape shape = {.dtype = PLIM_F32};
  int32_t rank = 0;
  shape.dtype = (plim_dtype)plim_json_name(at, "dtype", plim_dtype_find);
  shape.layout = (plim_layout)plim_json_name(at, "layout", plim_layout_find);
  plim_json_at sizes = plim_json_list(at, "shape", &rank);
  if (rank < 1 || rank > PLIM_MAX_RANK) {
    plim_json_fail(&sizes, NULL, "has %d sizes, 1 to %d are allowed", rank, PLIM_MAX_RANK);
    return shape;
  }
  shape.rank = rank;
  for (int32_t i = 0; i < PLIM_MAX_RANK; i++) {
    shape.dim[i] = i < rank ? plim_json_int_item(&sizes, i, 0, INT64_MAX) : 1;
  }
  if (version >= 5 && plim_json_has(at, "strides")) read_strides(at, &shape);
  return shape;
}

static void read_values(plim_json_at *root, int version, plim_graph_builder *builder) {
  int32_t n = 0, id = 0;
  plim_json_at list = plim_json_list(root, "values", &n);
  for (int32_t i = 0; i < n && root->doc->status == PLIM_OK; i++) {
    plim_json_at at = plim_json_item(&list, i);
    const char *name = plim_json_text(&at, "name");
    int32_t storage = plim_json_index(&at, "storage");
    int64_t offset = plim_json_amount(&at, "offset");
    plim_shape shape = read_shape(&at, version);
    plim_json_end(&at);
    if (root->doc->status == PLIM_OK) {
      plim_json_take(&at, plim_graph_add_value(builder, name, storage, offset, &shape, &id));
    }
  }
}

/* ---- attributes: those that are zero are left out ---- */

static void read_number(const plim_json_at *list, int k, const plim_attr *attr, plim_attrs *attrs) {
  if (attr->type == PLIM_ATTR_FLOAT) {
    plim_attr_set_float(attr, attrs, k, plim_json_float_item(list, k));
  } else {
    plim_attr_set_int(attr, attrs, k, plim_json_int_item(list, k, 0, attr->most));
  }
}

static void read_attr(plim_json_at *at, const plim_attr *attr, plim_attrs *attrs) {
  int32_t n = 0;
  if (!plim_json_has(at, attr->name)) return;
  if (attr->count > 1) {
    plim_json_at list = plim_json_list(at, attr->name, &n);
    if (n != attr->count) plim_json_fail(&list, NULL, "has %d numbers, not %d", n, attr->count);
    for (int k = 0; k < attr->count; k++) read_number(&list, k, attr, attrs);
  } else if (attr->type == PLIM_ATTR_FLOAT) {
    plim_attr_set_float(attr, attrs, 0, plim_json_float(at, attr->name));
  } else {
    plim_attr_set_int(attr, attrs, 0, plim_json_int(at, attr->name, 1, attr->most));
  }
  if (plim_attr_is_zero(attr, attrs)) plim_json_fail(at, attr->name, "is zero: attributes that are zero are left out");
}

static void read_attrs(plim_json_at *op, plim_op_kind kind, plim_attrs *attrs) {
  const plim_attr *attr;
  plim_json_at at = plim_json_object(op, "attrs");
  for (int i = 0; op->doc->status == PLIM_OK && (attr = plim_op_kind_attr(kind, i)) != NULL; i++) {
    read_attr(&at, attr, attrs);
  }
  plim_json_end(&at);
}

/* ---- ops ---- */

/* A list of an op's operands, any number of them, in an array that grows. */
typedef struct operands {
  int32_t *id;
  int64_t capacity;
} operands;

static int32_t read_operands(plim_json_at *op, const char *key, operands *to) {
  int32_t n = 0;
  plim_json_at list = plim_json_list(op, key, &n);
  if (op->doc->status != PLIM_OK) return 0;
  plim_json_take(&list, plim_array_reserve(op->doc->ctx, &to->id, &to->capacity, n, sizeof *to->id));
  if (op->doc->status != PLIM_OK) return 0;
  for (int32_t i = 0; i < n; i++) to->id[i] = (int32_t)plim_json_int_item(&list, i, 0, INT32_MAX);
  return n;
}

enum { IN, OUT, UPD, LISTS };

static void read_op(plim_json_at *at, int version, operands *list, int64_t *id, plim_op_spec *spec) {
  if (version >= 2) *id = plim_json_int_or_null(at, "id", 0, INT64_MAX, PLIM_NONE);
  spec->id = *id >= 0 ? id : NULL;
  spec->name = plim_json_text(at, "name");
  spec->kind = (plim_op_kind)plim_json_name(at, "kind", plim_op_kind_find);
  spec->cls = (plim_op_class)plim_json_name(at, "class", plim_op_class_find);
  spec->phase = (plim_phase)plim_json_name(at, "phase", plim_phase_find);
  read_attrs(at, spec->kind, &spec->attrs);
  spec->n_in = read_operands(at, "in", &list[IN]);
  spec->n_out = read_operands(at, "out", &list[OUT]);
  spec->n_upd = read_operands(at, "upd", &list[UPD]);
  spec->many_in = list[IN].id;
  spec->many_out = list[OUT].id;
  spec->many_upd = list[UPD].id;
  spec->n_pairs = plim_document_read_pairs(at, spec->pair, PLIM_OP_MAX_PAIRS);
  spec->time_ns = plim_json_int_or_null(at, "time_ns", 0, INT64_MAX, PLIM_UNKNOWN);
}

static int equal_pairs(const plim_draft_op *a, const plim_op_spec *spec) {
  int equal = a->n_pairs == spec->n_pairs;
  for (int32_t i = 0; equal && i < a->n_pairs; i++) {
    equal = a->pair[i].out == spec->pair[i].out && a->pair[i].in == spec->pair[i].in;
  }
  return equal;
}

/* Add an op. Class and pairs follow from a built-in kind; the document must state the same. */
static void add_op(plim_json_at *at, plim_graph_builder *builder, const plim_op_spec *spec) {
  int32_t id = 0;
  plim_status status = plim_graph_add_op(builder, spec, &id);
  if (status != PLIM_OK) {
    plim_json_take(at, status);
    return;
  }
  const plim_draft_op *added = &builder->op[id];
  if (added->cls != spec->cls) {
    plim_json_fail(at, "class", "a %s is %s, not %s", plim_op_kind_name(spec->kind), plim_op_class_name(added->cls),
                   plim_op_class_name(spec->cls));
  }
  if (!equal_pairs(added, spec)) {
    plim_json_fail(at, "pairs", "are not the %d that its kind and operands allow", added->n_pairs);
  }
}

static void read_ops(plim_json_at *root, int version, plim_graph_builder *builder) {
  operands operand[LISTS] = {{NULL, 0}};
  plim_costs *costs = NULL;
  int32_t n = 0;
  plim_json_at list = plim_json_list(root, "ops", &n);
  if (version == 4 || (version > 4 && plim_json_has(root, "devices"))) plim_costs_read_devices(root, n, &costs);
  plim_graph_set_costs(builder, costs);
  for (int32_t i = 0; i < n && root->doc->status == PLIM_OK; i++) {
    plim_json_at at = plim_json_item(&list, i);
    plim_op_spec spec = {.name = ""};
    int64_t id = PLIM_NONE;
    read_op(&at, version, operand, &id, &spec);
    if (costs && root->doc->status == PLIM_OK) plim_costs_read_op(&at, costs, i);
    plim_json_end(&at);
    if (root->doc->status == PLIM_OK) add_op(&at, builder, &spec);
  }
  for (int i = 0; i < LISTS; i++) plim_release(root->doc->ctx, operand[i].id, operand[i].capacity, sizeof *operand->id);
}

/* ---- the document ---- */

static void read_handles(plim_json_at *root, int version, plim_graph_builder *builder) {
  plim_handles *handles = NULL;
  if (version < 2 || !plim_json_has(root, "handles")) return;
  plim_handles_read(root, &handles);
  if (handles) plim_graph_set_handles(builder, handles);
}

static int find_addresses(const char *name) {
  return strcmp(name, "none") == 0 ? 0 : strcmp(name, "packed") == 0 ? 1 : -1;
}

static void read_graph(plim_json *doc, plim_graph **out) {
  char fingerprint[PLIM_FINGERPRINT_BYTES] = "";
  plim_graph_builder *builder = NULL;
  plim_graph *graph = NULL;
  plim_json_at root = plim_json_root(doc);
  int version = plim_document_read_version(&root, "graph", PLIM_GRAPH_NEWEST);
  plim_document_read_hash(&root, "fingerprint", fingerprint);
  const char *name = plim_json_text(&root, "name");
  int32_t batch = plim_json_index(&root, "batch");
  int unpacked = version >= 2 && plim_json_name(&root, "addresses", find_addresses) == 0;
  if (doc->status != PLIM_OK) return;
  plim_json_take(&root, plim_graph_begin(doc->ctx, name, batch, &builder));
  if (doc->status != PLIM_OK) return;
  if (unpacked) plim_graph_set_unpacked(builder);
  read_storages(&root, builder);
  read_values(&root, version, builder);
  read_ops(&root, version, builder);
  read_handles(&root, version, builder);
  plim_json_end(&root);
  if (doc->status != PLIM_OK) {
    plim_graph_builder_free(builder);
    return;
  }
  plim_json_take(&root, plim_graph_end(builder, &graph));
  if (doc->status != PLIM_OK) return;
  int needed = plim_graph_version(graph);
  if (needed != version) {
    plim_json_fail(&root, "version", "is %d, the contents belong into version %d", version, needed);
  } else if (strcmp(graph->fingerprint, fingerprint) != 0) {
    plim_json_fail(&root, "fingerprint", "is not that of the contents, %.12s...: they were changed",
                   graph->fingerprint);
  }
  if (doc->status == PLIM_OK) {
    *out = graph;
  } else {
    plim_graph_free(graph);
  }
}

plim_status plim_graph_parse(plim_context *ctx, const char *file, const char *text, int64_t bytes, plim_graph **out) {
  plim_json doc;
  if (plim_document_open(ctx, file, text, bytes, &doc) == PLIM_OK) read_graph(&doc, out);
  plim_json_close(&doc);
  return doc.status;
}

static plim_status parse(plim_context *ctx, const char *file, const char *text, int64_t bytes, void *out) {
  return plim_graph_parse(ctx, file, text, bytes, out);
}

plim_status plim_graph_load(plim_context *ctx, const char *path, plim_graph **out) {
  return plim_document_load(ctx, path, parse, out);
}

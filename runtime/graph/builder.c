/* Builds a graph: begin, add storages, values and ops. Rules about one row are checked when the row is added. Rules
 * about the whole graph are checked in freeze.c. */
#include "runtime/graph/builder_internal.h"

#include <math.h>
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/graph/operands.h"
#include "runtime/graph/printable.h"

static plim_status add_name(plim_graph_builder *builder, const char *what, const char *name, int64_t *out) {
  PLIM_TRY(plim_printable_name(builder->ctx, what, name));
  int64_t bytes = (int64_t)strlen(name) + 1;
  PLIM_TRY(plim_array_reserve(builder->ctx, &builder->chars, &builder->cap_chars, builder->n_chars + bytes, 1));
  memcpy(builder->chars + builder->n_chars, name, (size_t)bytes);
  *out = builder->n_chars;
  builder->n_chars += bytes;
  return PLIM_OK;
}

/* Make room for one more row of an array whose ids are int32_t. */
static plim_status add_row(plim_graph_builder *builder, const char *what, void *array, int64_t *capacity, int64_t count,
                           size_t size) {
  if (count >= INT32_MAX) return plim_fail(builder->ctx, PLIM_EOVERFLOW, "a graph has at most %d %s", INT32_MAX, what);
  return plim_array_reserve(builder->ctx, array, capacity, count + 1, size);
}

plim_status plim_graph_begin(plim_context *ctx, const char *name, int32_t batch, plim_graph_builder **out) {
  if (batch < 0) return plim_fail(ctx, PLIM_EDATA, "batch %d is negative", batch);
  plim_graph_builder *builder = NULL;
  int64_t at = 0;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *builder, &builder));
  builder->ctx = ctx;
  builder->batch = batch;
  plim_status status = add_name(builder, "graph", name, &at);
  if (status != PLIM_OK) {
    plim_graph_builder_free(builder);
    return status;
  }
  *out = builder;
  return PLIM_OK;
}

void plim_graph_builder_free(plim_graph_builder *builder) {
  if (!builder) return;
  plim_handles_free(builder->handles);
  plim_costs_free(builder->costs);
  plim_release(builder->ctx, builder->chars, builder->cap_chars, 1);
  plim_release(builder->ctx, builder->storage, builder->cap_storages, sizeof *builder->storage);
  plim_release(builder->ctx, builder->value, builder->cap_values, sizeof *builder->value);
  plim_release(builder->ctx, builder->op, builder->cap_ops, sizeof *builder->op);
  plim_release(builder->ctx, builder->operand, builder->cap_operands, sizeof *builder->operand);
  plim_release(builder->ctx, builder, 1, sizeof *builder);
}

void plim_graph_set_unpacked(plim_graph_builder *builder) {
  builder->unpacked = 1;
}

void plim_graph_set_handles(plim_graph_builder *builder, plim_handles *handles) {
  plim_handles_free(builder->handles);
  builder->handles = handles;
}

void plim_graph_set_costs(plim_graph_builder *builder, plim_costs *costs) {
  plim_costs_free(builder->costs);
  builder->costs = costs;
}

plim_status plim_graph_add_storage(plim_graph_builder *builder, plim_role role, int64_t bytes, int32_t *out) {
  long long id = builder->n_storages;
  if (!plim_role_name(role)) return plim_fail(builder->ctx, PLIM_EDATA, "storage %lld: role %d is none", id, (int)role);
  int may_be_empty = role == PLIM_ROLE_ACTIVATION || role == PLIM_ROLE_GRADIENT;
  if (bytes < 0 || (bytes == 0 && !may_be_empty) || bytes > INT64_MAX - PLIM_ALIGN) {
    return plim_fail(builder->ctx, PLIM_EDATA, "storage %lld: %lld bytes is not a size", id, (long long)bytes);
  }
  PLIM_TRY(add_row(builder, "storages", &builder->storage, &builder->cap_storages, builder->n_storages,
                   sizeof *builder->storage));
  builder->storage[id] = (plim_storage){bytes, role, PLIM_NONE};
  builder->n_storages++;
  *out = (int32_t)id;
  return PLIM_OK;
}

/* Bytes of a value: those of its shape, 0 for u8 [0], -1 for a shape that is not allowed. */
static int64_t value_bytes(const plim_shape *shape) {
  if (shape->dtype == PLIM_U8 && shape->layout == PLIM_FLAT && shape->rank == 1 && shape->dim[0] == 0) return 0;
  return plim_shape_bytes(shape);
}

static int element_bytes(plim_dtype dtype) {
  return dtype == PLIM_F32 || dtype == PLIM_I32 ? 4 : dtype == PLIM_BF16 ? 2 : 1;
}

static plim_status check_shape(const plim_graph_builder *builder, const char *name, const plim_shape *shape) {
  if (plim_dtype_name(shape->dtype) && plim_layout_name(shape->layout) && value_bytes(shape) >= 0) return PLIM_OK;
  return plim_fail(builder->ctx, PLIM_EDATA,
                   "value '%.255s': the shape is not allowed (rank 1 to %d, sizes > 0 that suit the layout)", name,
                   PLIM_MAX_RANK);
}

plim_status plim_graph_add_value(plim_graph_builder *builder, const char *name, int32_t storage, int64_t offset,
                                 const plim_shape *shape, int32_t *out) {
  PLIM_TRY(plim_printable_name(builder->ctx, "value", name));
  if (storage < 0 || storage >= builder->n_storages) {
    return plim_fail(builder->ctx, PLIM_EDATA, "value '%.255s': storage %d is none of the %lld storages", name, storage,
                     (long long)builder->n_storages);
  }
  PLIM_TRY(check_shape(builder, name, shape));
  int64_t bytes = value_bytes(shape), end = plim_add_checked(offset, bytes);
  int empty_part = bytes == 0 && builder->storage[storage].bytes > 0;
  if (end < 0 || end > builder->storage[storage].bytes || empty_part) {
    return plim_fail(builder->ctx, PLIM_EDATA,
                     "value '%.255s': %lld bytes at offset %lld leave storage %d of %lld bytes", name, (long long)bytes,
                     (long long)offset, storage, (long long)builder->storage[storage].bytes);
  }
  int element = element_bytes(shape->dtype);
  if (offset % element != 0) {
    return plim_fail(builder->ctx, PLIM_EDATA,
                     "value '%.255s': offset %lld is not a multiple of the element's %d bytes", name, (long long)offset,
                     element);
  }
  int64_t at = 0;
  PLIM_TRY(
      add_row(builder, "values", &builder->value, &builder->cap_values, builder->n_values, sizeof *builder->value));
  PLIM_TRY(add_name(builder, "value", name, &at));
  plim_shape strided = plim_shape_make(shape->dtype, shape->layout, shape->rank, shape->dim);
  memcpy(strided.stride, shape->stride, sizeof strided.stride);
  builder->value[builder->n_values] = (plim_draft_value){{NULL, storage, offset, strided, bytes}, at};
  *out = (int32_t)builder->n_values++;
  return PLIM_OK;
}

plim_status plim_graph_add(plim_graph_builder *builder, const char *name, plim_role role, const plim_shape *shape,
                           int32_t *out_value) {
  int32_t storage = PLIM_NONE;
  PLIM_TRY(plim_printable_name(builder->ctx, "value", name));
  PLIM_TRY(check_shape(builder, name, shape));
  PLIM_TRY(plim_graph_add_storage(builder, role, value_bytes(shape), &storage));
  plim_status status = plim_graph_add_value(builder, name, storage, 0, shape, out_value);
  if (status != PLIM_OK) builder->n_storages--;
  return status;
}

static plim_status check_attr(plim_context *ctx, const plim_op_spec *spec, const plim_attr *attr) {
  for (int k = 0; k < attr->count; k++) {
    if (attr->type == PLIM_ATTR_FLOAT) {
      if (isfinite(plim_attr_float(attr, &spec->attrs, k))) continue;
      return plim_fail(ctx, PLIM_EDATA, "op '%.255s': its %s is not finite", spec->name, attr->name);
    }
    const int64_t x = plim_attr_int(attr, &spec->attrs, k);
    if (x >= 0 && x <= attr->most) continue;
    return plim_fail(ctx, PLIM_EDATA, "op '%.255s': its %s is %lld, not 0 to %lld", spec->name, attr->name,
                     (long long)x, (long long)attr->most);
  }
  return PLIM_OK;
}

/* Check the attributes: those of the kind are in range, and all others are zero. -0 becomes 0, so that documents, which
 * leave out attributes that are zero, have one form. */
static plim_status set_attrs(plim_context *ctx, plim_op_spec *spec) {
  const plim_attr *attr;
  const plim_attrs zero = {0};
  plim_attrs kept = zero, rest = spec->attrs;
  for (int i = 0; (attr = plim_op_kind_attr(spec->kind, i)) != NULL; i++) {
    PLIM_TRY(check_attr(ctx, spec, attr));
    for (int k = 0; k < attr->count; k++) {
      if (attr->type == PLIM_ATTR_FLOAT) {
        plim_attr_set_float(attr, &kept, k, plim_attr_float(attr, &spec->attrs, k) + 0.0F);
        plim_attr_set_float(attr, &rest, k, 0);
      } else {
        plim_attr_set_int(attr, &kept, k, plim_attr_int(attr, &spec->attrs, k));
        plim_attr_set_int(attr, &rest, k, 0);
      }
    }
  }
  if (!plim_attrs_are_zero(&rest)) {
    return plim_fail(ctx, PLIM_EDATA, "op '%.255s': a %s has no such attribute as is set", spec->name,
                     plim_op_kind_name(spec->kind));
  }
  spec->attrs = kept;
  return PLIM_OK;
}

static plim_status check_operands(const plim_graph_builder *builder, const char *op, const char *list,
                                  const int32_t *value, int32_t count, int32_t most) {
  if (count < 0 || count > most) {
    return plim_fail(builder->ctx, PLIM_EDATA, "op '%.255s': %d values in '%s', at most %d are allowed", op, count,
                     list, most);
  }
  for (int32_t i = 0; i < count; i++) {
    if (value[i] < 0 || value[i] >= builder->n_values) {
      return plim_fail(builder->ctx, PLIM_EDATA, "op '%.255s': %s[%d] = %d is none of the %lld values", op, list, i,
                       value[i], (long long)builder->n_values);
    }
  }
  return PLIM_OK;
}

static const int32_t *inputs_of(const plim_op_spec *spec) {
  return spec->many_in ? spec->many_in : spec->in;
}
static const int32_t *outputs_of(const plim_op_spec *spec) {
  return spec->many_out ? spec->many_out : spec->out;
}
static const int32_t *updates_of(const plim_op_spec *spec) {
  return spec->many_upd ? spec->many_upd : spec->upd;
}

/* The most operands of a list that has `fixed` places in the spec, or as many as it likes in `many`. The row of the
 * kind may allow fewer. */
static int32_t most_of(const int32_t *many, int32_t fixed) {
  return many ? INT32_MAX : fixed;
}

static plim_status check_lists(const plim_graph_builder *builder, const plim_op_spec *spec) {
  PLIM_TRY(
      check_operands(builder, spec->name, "in", inputs_of(spec), spec->n_in, most_of(spec->many_in, PLIM_OP_MAX_IN)));
  PLIM_TRY(check_operands(builder, spec->name, "out", outputs_of(spec), spec->n_out,
                          most_of(spec->many_out, PLIM_OP_MAX_OUT)));
  return check_operands(builder, spec->name, "upd", updates_of(spec), spec->n_upd,
                        most_of(spec->many_upd, PLIM_OP_MAX_UPD));
}

/* Check that results have no strides: bytes between strides would be written by no op, or by two. */
static plim_status check_dense(const plim_graph_builder *builder, const plim_op_spec *spec, const int32_t *value,
                               int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    if (!plim_shape_is_strided(&builder->value[value[i]].value.shape)) continue;
    return plim_fail(builder->ctx, PLIM_EDATA, "op '%.255s' writes '%.255s', which has strides: only inputs may",
                     spec->name, builder->chars + builder->value[value[i]].name);
  }
  return PLIM_OK;
}

/* Where the shapes of a list go: into the description, or for a long list into memory of its own. */
static plim_status copy_shapes(const plim_graph_builder *builder, const int32_t *value, int32_t count, int32_t capacity,
                               plim_shape *shape, plim_shape **many) {
  if (count > capacity) PLIM_TRY(plim_allocate(builder->ctx, count, sizeof **many, many));
  for (int32_t i = 0; i < count; i++) (*many ? *many : shape)[i] = builder->value[value[i]].value.shape;
  return PLIM_OK;
}

static plim_status check_types(const plim_graph_builder *builder, const plim_op_spec *spec) {
  plim_op_desc op = {
      .kind = spec->kind, .attrs = spec->attrs, .n_in = spec->n_in, .n_out = spec->n_out, .n_upd = spec->n_upd};
  plim_shape *in = NULL, *out = NULL, *upd = NULL;
  plim_status status;
  if (spec->kind == PLIM_OP_CUSTOM) return PLIM_OK;
  PLIM_TRY_OR_DONE(copy_shapes(builder, inputs_of(spec), spec->n_in, PLIM_OP_MAX_IN, op.in, &in));
  PLIM_TRY_OR_DONE(copy_shapes(builder, outputs_of(spec), spec->n_out, PLIM_OP_MAX_OUT, op.out, &out));
  PLIM_TRY_OR_DONE(copy_shapes(builder, updates_of(spec), spec->n_upd, PLIM_OP_MAX_UPD, op.upd, &upd));
  op.many_in = in;
  op.many_out = out;
  op.many_upd = upd;
  status = plim_operands_check_types(builder->ctx, spec->name, &op);
done:
  plim_release(builder->ctx, in, spec->n_in, sizeof *in);
  plim_release(builder->ctx, out, spec->n_out, sizeof *out);
  plim_release(builder->ctx, upd, spec->n_upd, sizeof *upd);
  return status;
}

static plim_status check_spec(const plim_graph_builder *builder, plim_op_spec *spec) {
  plim_context *ctx = builder->ctx;
  if (!plim_op_kind_name(spec->kind)) {
    return plim_fail(ctx, PLIM_EDATA, "op '%.255s': kind %d is none", spec->name, spec->kind);
  }
  if (!plim_op_class_name(spec->cls)) {
    return plim_fail(ctx, PLIM_EDATA, "op '%.255s': class %d is none", spec->name, spec->cls);
  }
  if (!plim_phase_name(spec->phase)) {
    return plim_fail(ctx, PLIM_EDATA, "op '%.255s': phase %d is none", spec->name, spec->phase);
  }
  PLIM_TRY(check_lists(builder, spec));
  PLIM_TRY(check_dense(builder, spec, outputs_of(spec), spec->n_out));
  PLIM_TRY(check_dense(builder, spec, updates_of(spec), spec->n_upd));
  if (spec->cls == PLIM_OP_EFFECT && (spec->n_out > 0 || spec->n_upd == 0)) {
    return plim_fail(ctx, PLIM_EDATA, "op '%.255s': an effect op updates at least one value and has no outputs, not %d",
                     spec->name, spec->n_out);
  }
  if (spec->cls != PLIM_OP_EFFECT && (spec->n_out == 0 || spec->n_upd > 0)) {
    return plim_fail(ctx, PLIM_EDATA, "op '%.255s': a %s op has outputs (%d given) and updates nothing (%d given)",
                     spec->name, plim_op_class_name(spec->cls), spec->n_out, spec->n_upd);
  }
  PLIM_TRY(plim_operands_check(ctx, spec));
  PLIM_TRY(set_attrs(ctx, spec));
  PLIM_TRY(check_types(builder, spec));
  if (spec->time_ns < -1) {
    return plim_fail(ctx, PLIM_EDATA, "op '%.255s': time_ns %lld is negative", spec->name, (long long)spec->time_ns);
  }
  if (spec->id && *spec->id < 0) {
    return plim_fail(ctx, PLIM_EDATA, "op '%.255s': id %lld", spec->name, (long long)*spec->id);
  }
  return PLIM_OK;
}

static int spans_storage(const plim_graph_builder *builder, const plim_value *value) {
  return value->offset == 0 && value->bytes == builder->storage[value->storage].bytes;
}

/* The reason why the op may not write the pair's output over its input; NULL: it may. */
static const char *pair_fault(const plim_graph_builder *builder, const plim_op_spec *spec, plim_pair pair) {
  if (pair.out < 0 || pair.out >= spec->n_out || pair.in < 0 || pair.in >= spec->n_in) return "is not of its operands";
  const plim_value *out = &builder->value[outputs_of(spec)[pair.out]].value,
                   *in = &builder->value[inputs_of(spec)[pair.in]].value;
  if (out->bytes != in->bytes) return "has different bytes";
  if (plim_shape_is_strided(&in->shape)) return "would overwrite a strided input";
  if (!spans_storage(builder, out) || !spans_storage(builder, in)) {
    return "is of values that are not all of their storages";
  }
  if (plim_role_persistent(builder->storage[in->storage].role)) return "would overwrite a persistent storage";
  for (int32_t i = 0; i < spec->n_in; i++) {
    if (i != pair.in && builder->value[inputs_of(spec)[i]].value.storage == in->storage) {
      return "overwrites another input as well";
    }
  }
  return NULL;
}

static plim_status check_pairs(const plim_graph_builder *builder, const plim_op_spec *spec) {
  if (spec->n_pairs < 0 || spec->n_pairs > PLIM_OP_MAX_PAIRS) {
    return plim_fail(builder->ctx, PLIM_EDATA, "op '%.255s': %d pairs, at most %d are allowed", spec->name,
                     spec->n_pairs, PLIM_OP_MAX_PAIRS);
  }
  for (int32_t i = 0; i < spec->n_pairs; i++) {
    const char *fault = pair_fault(builder, spec, spec->pair[i]);
    for (int32_t j = 0; j < i && !fault; j++) {
      if (spec->pair[j].out == spec->pair[i].out && spec->pair[j].in == spec->pair[i].in) fault = "is there twice";
    }
    if (fault) {
      return plim_fail(builder->ctx, PLIM_EDATA, "op '%.255s': in-place pair [%d, %d] %s", spec->name,
                       spec->pair[i].out, spec->pair[i].in, fault);
    }
  }
  return PLIM_OK;
}

/* Set the pairs of the kind that these operands allow. */
static void set_kind_pairs(const plim_graph_builder *builder, plim_op_spec *spec) {
  const plim_pair *pair = NULL;
  int count = plim_op_kind_pairs(spec->kind, &pair);
  spec->n_pairs = 0;
  for (int i = 0; i < count; i++) {
    if (!pair_fault(builder, spec, pair[i])) spec->pair[spec->n_pairs++] = pair[i];
  }
}

/* Append operands after those of the op before. The caller has made room. */
static void add_operands(plim_graph_builder *builder, int32_t n, const int32_t *value) {
  if (n > 0) memcpy(builder->operand + builder->n_operands, value, (size_t)n * sizeof *value);
  builder->n_operands += n;
}

plim_status plim_graph_add_op(plim_graph_builder *builder, const plim_op_spec *spec, int32_t *out) {
  plim_op_spec s = *spec;
  if (s.kind != PLIM_OP_CUSTOM) s.cls = plim_op_kind_class(s.kind);
  PLIM_TRY(plim_printable_name(builder->ctx, "op", s.name));
  PLIM_TRY(check_spec(builder, &s));
  if (s.kind == PLIM_OP_CUSTOM) {
    PLIM_TRY(check_pairs(builder, &s));
  } else {
    set_kind_pairs(builder, &s);
  }
  const int64_t n = (int64_t)s.n_in + s.n_out + s.n_upd;
  int64_t at = 0;
  PLIM_TRY(add_row(builder, "ops", &builder->op, &builder->cap_ops, builder->n_ops, sizeof *builder->op));
  PLIM_TRY(plim_array_reserve(builder->ctx, &builder->operand, &builder->cap_operands, builder->n_operands + n,
                              sizeof *builder->operand));
  PLIM_TRY(add_name(builder, "op", s.name, &at));
  plim_draft_op *op = &builder->op[builder->n_ops];
  *op = (plim_draft_op){.kind = s.kind,
                        .cls = s.cls,
                        .phase = s.phase,
                        .attrs = s.attrs,
                        .n_in = s.n_in,
                        .n_out = s.n_out,
                        .n_upd = s.n_upd,
                        .n_pairs = s.n_pairs,
                        .time_ns = s.time_ns,
                        .id = s.id ? *s.id : PLIM_NONE,
                        .name = at,
                        .operands = builder->n_operands};
  memcpy(op->pair, s.pair, sizeof op->pair);
  add_operands(builder, s.n_in, inputs_of(&s));
  add_operands(builder, s.n_out, outputs_of(&s));
  add_operands(builder, s.n_upd, updates_of(&s));
  *out = (int32_t)builder->n_ops++;
  return PLIM_OK;
}

/* ---- for imports ---- */

int64_t plim_graph_builder_ops(const plim_graph_builder *builder) {
  return builder->n_ops;
}

int32_t plim_graph_builder_storage(const plim_graph_builder *builder, int32_t value) {
  return builder->value[value].value.storage;
}

plim_role plim_graph_builder_role(const plim_graph_builder *builder, int32_t storage) {
  return builder->storage[storage].role;
}

void plim_graph_builder_set_role(plim_graph_builder *builder, int32_t storage, plim_role role) {
  builder->storage[storage].role = role;
}

void plim_graph_builder_set_bytes(plim_graph_builder *builder, int32_t value, int64_t bytes) {
  plim_value *v = &builder->value[value].value;
  v->shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &bytes);
  v->bytes = builder->storage[v->storage].bytes = bytes;
}

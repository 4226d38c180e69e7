/* Names, rows, shapes and cost formulas of ops: tables and arithmetic, no kernels. A program's own rows are in a table
 * of slots, which are filled once and in order. */
#include "kernels/op.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "kernels/op_rows.h"

#define PLIM_X(id, name) name,
static const char *const dtype_names[] = {PLIM_DTYPES(PLIM_X)};
static const char *const layout_names[] = {PLIM_LAYOUTS(PLIM_X)};
static const char *const precision_names[] = {PLIM_PRECISIONS(PLIM_X)};
static const char *const class_names[] = {PLIM_OP_CLASSES(PLIM_X)};
#undef PLIM_X

enum { OWN_KINDS = 256 };
static _Atomic(const plim_op_row *) own_rows[OWN_KINDS]; /* NULL after the last */

static const char *name_at(const char *const *names, int count, int i) {
  return i >= 0 && i < count ? names[i] : NULL;
}

static int name_find(const char *const *names, int count, const char *name) {
  for (int i = 0; name && i < count; i++) {
    if (strcmp(names[i], name) == 0) return i;
  }
  return -1;
}

const char *plim_dtype_name(plim_dtype dtype) {
  return name_at(dtype_names, PLIM_DTYPE_COUNT, (int)dtype);
}
const char *plim_layout_name(plim_layout layout) {
  return name_at(layout_names, PLIM_LAYOUT_COUNT, (int)layout);
}
const char *plim_precision_name(plim_precision math) {
  return name_at(precision_names, PLIM_PRECISION_COUNT, (int)math);
}
const char *plim_op_class_name(plim_op_class cls) {
  return name_at(class_names, PLIM_OP_CLASS_COUNT, (int)cls);
}
int plim_dtype_find(const char *name) {
  return name_find(dtype_names, PLIM_DTYPE_COUNT, name);
}
int plim_layout_find(const char *name) {
  return name_find(layout_names, PLIM_LAYOUT_COUNT, name);
}
int plim_precision_find(const char *name) {
  return name_find(precision_names, PLIM_PRECISION_COUNT, name);
}
int plim_op_class_find(const char *name) {
  return name_find(class_names, PLIM_OP_CLASS_COUNT, name);
}

/* ---- kinds ---- */

const plim_op_row *plim_op_kind_row(plim_op_kind kind) {
  const int64_t i = (int64_t)kind;
  if (i < 0 || i >= PLIM_OP_KIND_COUNT + OWN_KINDS) return NULL;
  return i < PLIM_OP_KIND_COUNT ? &plim_builtin_rows[i] : atomic_load(&own_rows[i - PLIM_OP_KIND_COUNT]);
}

const char *plim_op_kind_name(plim_op_kind kind) {
  const plim_op_row *row = plim_op_kind_row(kind);
  return row ? row->name : NULL;
}

int plim_op_kind_find(const char *name) {
  const plim_op_row *row;
  for (int i = 0; name && (row = plim_op_kind_row((plim_op_kind)i)) != NULL; i++) {
    if (strcmp(row->name, name) == 0) return i;
  }
  return -1;
}

const char *plim_op_kind_add(const plim_op_row *row, plim_op_kind *out) {
  const char *fault = plim_op_row_fault(row);
  if (fault) return fault;
  if (row->version != PLIM_OWN_KIND_VERSION) return "the version of a program's own kind is PLIM_OWN_KIND_VERSION";
  if (!strchr(row->name, '.')) return "the name of a program's own kind has no dot in it";
  for (int i = 0; i < OWN_KINDS; i++) {
    const plim_op_row *there = NULL;
    if (!atomic_compare_exchange_strong(&own_rows[i], &there, row) && there != row) {
      if (strcmp(there->name, row->name) == 0) return "there is another row of that name";
      continue;
    }
    *out = (plim_op_kind)(PLIM_OP_KIND_COUNT + i);
    return NULL;
  }
  return "there is no room for more kinds";
}

plim_op_class plim_op_kind_class(plim_op_kind kind) {
  const plim_op_row *row = plim_op_kind_row(kind);
  return row ? row->cls : PLIM_OP_PURE;
}

int plim_op_class_once(plim_op_class cls) {
  return cls == PLIM_OP_EFFECT || cls == PLIM_OP_ONCE;
}

/* ---- operands ---- */

enum { LIST = PLIM_ROW_OPERANDS };

const plim_op_operand *plim_op_operand_at(const plim_op_operand *list, int32_t i) {
  for (int32_t k = 0; k < LIST && list[k].name; k++) {
    if (k == i || (list[k].many && i > k)) return &list[k];
  }
  return NULL;
}

int32_t plim_op_operands_most(const plim_op_operand *list) {
  int32_t n = 0;
  for (; n < LIST && list[n].name; n++) {
    if (list[n].many) return INT32_MAX;
  }
  return n;
}

int32_t plim_op_operands_least(const plim_op_operand *list) {
  int32_t n = 0;
  while (n < LIST && list[n].name && !list[n].optional) n++;
  return n;
}

static plim_dtype fixed_type(char letter) {
  switch (letter) {
    case 'f':
      return PLIM_F32;
    case 'i':
      return PLIM_I32;
    case 'u':
      return PLIM_U8;
    case 'b':
      return PLIM_BITS;
    default:
      return PLIM_BF16;
  }
}

/* Do the operands of one list have their types, and strides only where they may? `type` PLIM_DTYPE_COUNT: the op's own
 * is not known yet. */
static int types_fit(const plim_op_operand *list, const plim_shape *shape, int count, plim_dtype *type) {
  for (int i = 0; i < count; i++) {
    const plim_op_operand *operand = plim_op_operand_at(list, i);
    const plim_dtype is = shape[i].dtype;
    if (operand && !operand->strided && plim_shape_is_strided(&shape[i])) return 0;
    if (!operand || operand->type == '*') continue;
    if (operand->type == 't') {
      if (*type == PLIM_DTYPE_COUNT && (is == PLIM_F32 || is == PLIM_BF16)) *type = is;
      if (is != *type) return 0;
      continue;
    }
    if (is != fixed_type(operand->type)) return 0;
    if (operand->type == 'h') *type = PLIM_BF16;
  }
  return 1;
}

const plim_shape *plim_op_inputs(const plim_op_desc *op) {
  return op->n_in > PLIM_OP_MAX_IN ? op->many_in : op->in;
}
const plim_shape *plim_op_outputs(const plim_op_desc *op) {
  return op->n_out > PLIM_OP_MAX_OUT ? op->many_out : op->out;
}
const plim_shape *plim_op_updates(const plim_op_desc *op) {
  return op->n_upd > PLIM_OP_MAX_UPD ? op->many_upd : op->upd;
}

int plim_op_type(const plim_op_desc *op, plim_dtype *type) {
  const plim_op_row *row = plim_op_kind_row(op->kind);
  plim_dtype found = PLIM_DTYPE_COUNT;
  if (!row || !types_fit(row->in, plim_op_inputs(op), op->n_in, &found) ||
      !types_fit(row->out, plim_op_outputs(op), op->n_out, &found) ||
      !types_fit(row->upd, plim_op_updates(op), op->n_upd, &found)) {
    return 0;
  }
  *type = found == PLIM_DTYPE_COUNT ? PLIM_F32 : found;
  return 1;
}

plim_precision plim_op_math(const plim_op_desc *op) {
  plim_dtype type;
  if (plim_op_type(op, &type) && type == PLIM_BF16) return PLIM_PRECISION_BF16;
  return op->attrs.tf32 ? PLIM_PRECISION_TF32 : PLIM_PRECISION_FP32;
}

int plim_op_kind_pairs(plim_op_kind kind, const plim_pair **pair) {
  const plim_op_row *row = plim_op_kind_row(kind);
  *pair = row ? row->pair : NULL;
  return row ? row->n_pairs : 0;
}

/* ---- attributes ---- */

/* Is the word in the text? */
static int has_word(const char *text, const char *word) {
  const size_t wanted = strlen(word);
  for (size_t length; text && (length = plim_word_next(&text)) > 0; text += length) {
    if (length == wanted && strncmp(text, word, length) == 0) return 1;
  }
  return 0;
}

const plim_attr *plim_op_kind_attr(plim_op_kind kind, int i) {
  const plim_op_row *row = plim_op_kind_row(kind);
  if (!row) return NULL;
  for (const plim_attr *attr = plim_builtin_attrs; attr->name; attr++) {
    const int has =
        row->version < PLIM_OWN_KIND_VERSION ? attr->version < PLIM_OWN_KIND_VERSION : has_word(row->attrs, attr->name);
    if (has && i-- == 0) return attr;
  }
  return i < PLIM_ROW_OWN && row->own[i].name ? &row->own[i] : NULL;
}

int64_t plim_attr_int(const plim_attr *attr, const plim_attrs *attrs, int k) {
  const char *at = (const char *)attrs + attr->at;
  int32_t narrow;
  int64_t wide;
  if (attr->type == PLIM_ATTR_INT64) {
    memcpy(&wide, at + (size_t)k * sizeof wide, sizeof wide);
    return wide;
  }
  memcpy(&narrow, at + (size_t)k * sizeof narrow, sizeof narrow);
  return narrow;
}

float plim_attr_float(const plim_attr *attr, const plim_attrs *attrs, int k) {
  float x;
  memcpy(&x, (const char *)attrs + attr->at + (size_t)k * sizeof x, sizeof x);
  return x;
}

void plim_attr_set_int(const plim_attr *attr, plim_attrs *attrs, int k, int64_t to) {
  char *at = (char *)attrs + attr->at;
  const int32_t narrow = (int32_t)to;
  if (attr->type == PLIM_ATTR_INT64) {
    memcpy(at + (size_t)k * sizeof to, &to, sizeof to);
  } else {
    memcpy(at + (size_t)k * sizeof narrow, &narrow, sizeof narrow);
  }
}

void plim_attr_set_float(const plim_attr *attr, plim_attrs *attrs, int k, float to) {
  memcpy((char *)attrs + attr->at + (size_t)k * sizeof to, &to, sizeof to);
}

int plim_attr_is_zero(const plim_attr *attr, const plim_attrs *attrs) {
  for (int k = 0; k < attr->count; k++) {
    if (attr->type == PLIM_ATTR_FLOAT ? plim_attr_float(attr, attrs, k) != 0 : plim_attr_int(attr, attrs, k) != 0)
      return 0;
  }
  return 1;
}

int plim_attrs_are_zero(const plim_attrs *attrs) {
  int zero = 1;
  for (const plim_attr *attr = plim_builtin_attrs; attr->name; attr++) zero &= plim_attr_is_zero(attr, attrs);
  for (int k = 0; k < 4; k++) zero &= attrs->own_int[k] == 0 && attrs->own_float[k] == 0;
  return zero;
}

/* ---- shapes ---- */

int plim_layout_block(plim_layout layout) {
  return layout == PLIM_NCHW8C ? 8 : layout == PLIM_NCHW16C ? 16 : 1;
}

static int64_t multiply(int64_t a, int64_t b) {
  if (a < 0 || b < 0) return -1;
  return b != 0 && a > INT64_MAX / b ? -1 : a * b;
}

int64_t plim_shape_elements(const plim_shape *shape) {
  if (shape->rank < 1 || shape->rank > PLIM_MAX_RANK) return -1;
  if (shape->layout != PLIM_FLAT && shape->rank != 4) return -1;
  if (shape->rank > 1 && shape->dim[1] % plim_layout_block(shape->layout) != 0) return -1;
  int64_t n = 1;
  for (int i = 0; i < shape->rank; i++) {
    if (shape->dim[i] <= 0) return -1;
    n = multiply(n, shape->dim[i]);
  }
  return n;
}

int plim_shape_is_strided(const plim_shape *shape) {
  int any = 0;
  for (int i = 0; i < PLIM_MAX_RANK; i++) any |= shape->stride[i] != 0;
  return any;
}

/* Elements from the first to the last of a strided shape, both counted; -1 when a stride is not allowed. */
static int64_t strided_reach(const plim_shape *shape) {
  int64_t reach = 1;
  if (shape->layout != PLIM_FLAT || shape->dtype == PLIM_BITS) return -1;
  for (int i = 0; i < PLIM_MAX_RANK; i++) {
    if ((shape->stride[i] > 0) != (i < shape->rank)) return -1;
    if (i >= shape->rank) continue;
    const int64_t more = multiply(shape->dim[i] - 1, shape->stride[i]);
    if (more < 0 || reach > INT64_MAX - more) return -1;
    reach += more;
  }
  return reach;
}

int64_t plim_shape_bytes(const plim_shape *shape) {
  int64_t n = plim_shape_elements(shape);
  if (n >= 0 && plim_shape_is_strided(shape)) n = strided_reach(shape);
  if (n < 0) return -1;
  switch (shape->dtype) {
    case PLIM_F32:
    case PLIM_I32:
      return multiply(n, 4);
    case PLIM_BF16:
      return multiply(n, 2);
    case PLIM_U8:
      return n;
    case PLIM_BITS:
      return n / 8 + (n % 8 != 0);
    default:
      return -1;
  }
}

plim_shape plim_shape_make(plim_dtype dtype, plim_layout layout, int rank, const int64_t *dim) {
  plim_shape shape = {.dtype = dtype, .layout = layout, .rank = rank};
  for (int i = 0; i < PLIM_MAX_RANK; i++) shape.dim[i] = i < rank ? dim[i] : 1;
  return shape;
}

/* ---- costs ---- */

static int64_t saturated(int64_t a, int64_t b) {
  int64_t product = multiply(a, b);
  return product < 0 ? INT64_MAX : product;
}

static int64_t most_elements(const plim_shape *shape, int32_t n) {
  int64_t most = 0;
  for (int32_t i = 0; i < n; i++) {
    const int64_t elements = plim_shape_elements(&shape[i]);
    if (elements > most) most = elements;
  }
  return most;
}

int64_t plim_op_flops(const plim_op_desc *op) {
  const plim_op_row *row = plim_op_kind_row(op->kind);
  plim_op_sizes sizes;
  if (row && row->flops && plim_op_fits(op, &sizes, NULL, 0)) {
    const int64_t flops = plim_op_product(&sizes, row->flops);
    if (flops >= 0) return flops;
  }
  const int64_t in = most_elements(plim_op_inputs(op), op->n_in), out = most_elements(plim_op_outputs(op), op->n_out);
  return saturated(4, in > out ? in : out);
}

/* Bytes that an operand moves once; -1 when its shape is not allowed. */
static int64_t moved_bytes(const plim_op_operand *operand, const plim_op_sizes *sizes, const plim_shape *shape) {
  plim_shape part = *shape;
  if (plim_shape_bytes(shape) < 0) return -1;
  part.dim[0] = plim_shape_elements(shape);
  if (operand && operand->moves && sizes) {
    const int64_t moved = plim_op_product(sizes, operand->moves);
    if (moved > 0 && moved < part.dim[0]) part.dim[0] = moved;
  }
  for (int i = 1; i < PLIM_MAX_RANK; i++) part.dim[i] = 1;
  memset(part.stride, 0, sizeof part.stride);
  part.layout = PLIM_FLAT;
  part.rank = 1;
  return plim_shape_bytes(&part);
}

int64_t plim_op_traffic(const plim_op_desc *op) {
  const plim_op_row *row = plim_op_kind_row(op->kind);
  plim_op_sizes found, *sizes = plim_op_fits(op, &found, NULL, 0) ? &found : NULL;
  const struct {
    const plim_op_operand *list;
    const plim_shape *shape;
    int32_t count, times;
  } lists[] = {{row ? row->in : NULL, plim_op_inputs(op), op->n_in, 1},
               {row ? row->out : NULL, plim_op_outputs(op), op->n_out, 1},
               {row ? row->upd : NULL, plim_op_updates(op), op->n_upd, 2}};
  int64_t sum = 0;
  for (int l = 0; l < 3; l++) {
    for (int32_t i = 0; i < lists[l].count; i++) {
      const plim_op_operand *operand = lists[l].list ? plim_op_operand_at(lists[l].list, i) : NULL;
      int64_t bytes = moved_bytes(operand, sizes, &lists[l].shape[i]);
      if (bytes < 0) return INT64_MAX;
      bytes = saturated(lists[l].times, bytes);
      sum = sum > INT64_MAX - bytes ? INT64_MAX : sum + bytes;
    }
  }
  return sum;
}

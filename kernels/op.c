/* Names, shapes and cost formulas of ops: tables and arithmetic, no kernels. */
#include "kernels/op.h"

#include <stddef.h>
#include <string.h>

#define PLIM_X(id, name) name,
static const char *const dtype_names[] = {PLIM_DTYPES(PLIM_X)};
static const char *const layout_names[] = {PLIM_LAYOUTS(PLIM_X)};
static const char *const math_names[] = {PLIM_MATHS(PLIM_X)};
static const char *const class_names[] = {PLIM_OP_CLASSES(PLIM_X)};
#undef PLIM_X
#define PLIM_X(id, name, cls) name,
static const char *const kind_names[] = {PLIM_OP_KINDS(PLIM_X)};
#undef PLIM_X
#define PLIM_X(id, name, cls) PLIM_OP_##cls,
static const plim_op_class kind_classes[] = {PLIM_OP_KINDS(PLIM_X)};
#undef PLIM_X

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
  return name_at(math_names, PLIM_PRECISION_COUNT, (int)math);
}
const char *plim_op_class_name(plim_op_class cls) {
  return name_at(class_names, PLIM_OP_CLASS_COUNT, (int)cls);
}
const char *plim_op_kind_name(plim_op_kind kind) {
  return name_at(kind_names, PLIM_OP_KIND_COUNT, (int)kind);
}
int plim_dtype_find(const char *name) {
  return name_find(dtype_names, PLIM_DTYPE_COUNT, name);
}
int plim_layout_find(const char *name) {
  return name_find(layout_names, PLIM_LAYOUT_COUNT, name);
}
int plim_precision_find(const char *name) {
  return name_find(math_names, PLIM_PRECISION_COUNT, name);
}
int plim_op_class_find(const char *name) {
  return name_find(class_names, PLIM_OP_CLASS_COUNT, name);
}
int plim_op_kind_find(const char *name) {
  return name_find(kind_names, PLIM_OP_KIND_COUNT, name);
}

plim_op_class plim_op_kind_class(plim_op_kind kind) {
  return (int)kind >= 0 && (int)kind < PLIM_OP_KIND_COUNT ? kind_classes[kind] : PLIM_OP_PURE;
}

int plim_op_class_once(plim_op_class cls) {
  return cls == PLIM_OP_EFFECT || cls == PLIM_OP_ONCE;
}

static const plim_op_operands kind_operands[PLIM_OP_KIND_COUNT] = {
    [PLIM_OP_CUSTOM] = {"", "", "", 0, 0},
    [PLIM_OP_IMAGE] = {"u", "t", "", 1, 1},
    [PLIM_OP_CONV2D] = {"ttf", "t", "", 2, 1},
    [PLIM_OP_CONV2D_BWD_DATA] = {"tt", "t", "", 2, 1},
    [PLIM_OP_CONV2D_BWD_WEIGHTS] = {"tt", "f", "", 2, 1},
    [PLIM_OP_LINEAR] = {"ttf", "t", "", 2, 1},
    [PLIM_OP_LINEAR_BWD_DATA] = {"tt", "t", "", 2, 1},
    [PLIM_OP_LINEAR_BWD_WEIGHTS] = {"tt", "f", "", 2, 1},
    [PLIM_OP_BIAS_BWD] = {"t", "f", "", 1, 1},
    [PLIM_OP_BN_STATS] = {"t", "f", "", 1, 1},
    [PLIM_OP_BN_APPLY] = {"tfft", "tb", "", 3, 1},
    [PLIM_OP_BN_RUNNING] = {"f", "", "f", 1, 0},
    [PLIM_OP_BN_BWD_REDUCE] = {"ttfb", "f", "", 3, 1},
    [PLIM_OP_BN_BWD_APPLY] = {"ttfffb", "t", "", 5, 1},
    [PLIM_OP_RELU] = {"t", "tb", "", 1, 1},
    [PLIM_OP_RELU_BWD] = {"btt", "t", "", 2, 1},
    [PLIM_OP_ADD] = {"tt", "tb", "", 2, 1},
    [PLIM_OP_MAX_POOL] = {"t", "tu", "", 1, 2},
    [PLIM_OP_MAX_POOL_BWD] = {"tu", "t", "", 2, 1},
    [PLIM_OP_AVG_POOL] = {"t", "t", "", 1, 1},
    [PLIM_OP_AVG_POOL_BWD] = {"t", "t", "", 1, 1},
    [PLIM_OP_GLOBAL_AVG_POOL] = {"t", "t", "", 1, 1},
    [PLIM_OP_GLOBAL_AVG_POOL_BWD] = {"t", "t", "", 1, 1},
    [PLIM_OP_DROPOUT] = {"t", "tb", "", 1, 2},
    [PLIM_OP_DROPOUT_BWD] = {"tb", "t", "", 2, 1},
    [PLIM_OP_SOFTMAX_XENT] = {"ti", "fif", "", 2, 3},
    [PLIM_OP_SOFTMAX_XENT_BWD] = {"fi", "t", "", 2, 1},
    [PLIM_OP_SGD] = {"ff", "", "ff", 2, 0},
    [PLIM_OP_CAST] = {"f", "h", "", 1, 1},
};

const plim_op_operands *plim_op_kind_operands(plim_op_kind kind) {
  return &kind_operands[kind];
}

/* Do the operands of one list have their letters' types? `type` PLIM_DTYPE_COUNT: none is known for t yet. */
static int types_fit(const char *letter, const plim_shape *shape, int count, plim_dtype *type) {
  for (int i = 0; i < count && letter[i]; i++) {
    const plim_dtype is = shape[i].dtype;
    switch (letter[i]) {
      case 't':
        if (*type == PLIM_DTYPE_COUNT && (is == PLIM_F32 || is == PLIM_BF16)) *type = is;
        if (is != *type) return 0;
        break;
      case 'h':
        *type = PLIM_BF16;
        if (is != PLIM_BF16) return 0;
        break;
      default:
        if (is != (letter[i] == 'f' ? PLIM_F32 : letter[i] == 'i' ? PLIM_I32 : letter[i] == 'u' ? PLIM_U8 : PLIM_BITS))
          return 0;
    }
  }
  return 1;
}

int plim_op_type(const plim_op_desc *op, plim_dtype *type) {
  const plim_op_operands *o = &kind_operands[op->kind];
  plim_dtype found = PLIM_DTYPE_COUNT;
  if (!types_fit(o->in, op->in, op->n_in, &found) || !types_fit(o->out, op->out, op->n_out, &found) ||
      !types_fit(o->upd, op->upd, op->n_upd, &found)) {
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

/* Only kernels that read an element before they write it, at the same place, may appear here. */
static const plim_pair pairs_first[] = {{0, 0}};
static const plim_pair pairs_second[] = {{0, 1}};
static const plim_pair pairs_either[] = {{0, 0}, {0, 1}};
static const plim_pair pairs_bn_apply[] = {{0, 0}, {0, 3}};
static const plim_pair pairs_relu_bwd[] = {{0, 1}, {0, 2}};
static const plim_pair pairs_softmax[] = {{2, 0}};

int plim_op_kind_pairs(plim_op_kind kind, const plim_pair **pair) {
  switch (kind) {
    case PLIM_OP_BN_APPLY:
      *pair = pairs_bn_apply;
      return 2;
    case PLIM_OP_BN_BWD_APPLY:
    case PLIM_OP_ADD:
      *pair = pairs_either;
      return 2;
    case PLIM_OP_RELU_BWD:
      *pair = pairs_relu_bwd;
      return 2;
    case PLIM_OP_RELU:
    case PLIM_OP_DROPOUT:
    case PLIM_OP_DROPOUT_BWD:
    case PLIM_OP_SOFTMAX_XENT_BWD:
      *pair = pairs_first;
      return 1;
    case PLIM_OP_SOFTMAX_XENT:
      *pair = pairs_softmax;
      return 1;
    default:
      *pair = pairs_second;
      return 0;
  }
}

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

int64_t plim_shape_bytes(const plim_shape *shape) {
  int64_t n = plim_shape_elements(shape);
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
  plim_shape shape = {dtype, layout, rank, {1, 1, 1, 1}};
  for (int i = 0; i < rank && i < PLIM_MAX_RANK; i++) shape.dim[i] = dim[i];
  return shape;
}

static int64_t saturated(int64_t a, int64_t b) {
  int64_t product = multiply(a, b);
  return product < 0 ? INT64_MAX : product;
}

/* Multiply-adds to one element of the operand that is summed over: taps times channels. */
static int64_t conv_flops(const plim_shape *y, const plim_shape *w) {
  int64_t taps = saturated(saturated(w->dim[1], w->dim[2]), w->dim[3]);
  return saturated(2, saturated(plim_shape_elements(y), taps));
}

int64_t plim_op_flops(const plim_op_desc *op) {
  switch (op->kind) {
    case PLIM_OP_CONV2D:
      return conv_flops(&op->out[0], &op->in[1]);
    case PLIM_OP_CONV2D_BWD_DATA:
      return conv_flops(&op->in[0], &op->in[1]);
    case PLIM_OP_CONV2D_BWD_WEIGHTS:
      return conv_flops(&op->in[0], &op->out[0]);
    case PLIM_OP_LINEAR:
      return saturated(2, saturated(plim_shape_elements(&op->out[0]), op->in[1].dim[1]));
    case PLIM_OP_LINEAR_BWD_DATA:
      return saturated(2, saturated(plim_shape_elements(&op->in[0]), op->in[1].dim[1]));
    case PLIM_OP_LINEAR_BWD_WEIGHTS:
      return saturated(2, saturated(plim_shape_elements(&op->out[0]), op->in[0].dim[0]));
    default:
      break;
  }
  int64_t most = 0;
  for (int i = 0; i < op->n_in; i++) {
    int64_t n = plim_shape_elements(&op->in[i]);
    if (n > most) most = n;
  }
  for (int i = 0; i < op->n_out; i++) {
    int64_t n = plim_shape_elements(&op->out[i]);
    if (n > most) most = n;
  }
  return saturated(4, most);
}

int64_t plim_op_traffic(const plim_op_desc *op) {
  int64_t sum = 0;
  for (int i = 0; i < op->n_in + op->n_out + op->n_upd; i++) {
    const plim_shape *s = i < op->n_in               ? &op->in[i]
                          : i < op->n_in + op->n_out ? &op->out[i - op->n_in]
                                                     : &op->upd[i - op->n_in - op->n_out];
    int64_t bytes = plim_shape_bytes(s);
    if (bytes < 0) return INT64_MAX;
    if (i >= op->n_in + op->n_out) bytes = saturated(2, bytes);
    sum = sum > INT64_MAX - bytes ? INT64_MAX : sum + bytes;
  }
  return sum;
}

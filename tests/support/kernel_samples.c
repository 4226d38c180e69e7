/* One function a family of kinds; the operand lists are those that kernels/op.h writes down. */
#include "tests/support/kernel_samples.h"

#include <string.h>

#include "tests/support/kernel_check.h"

enum { N = 5, C = 32, H = 9, W = 7, CLASSES = 10 };

static plim_op_desc batch_norm(plim_op_kind kind, plim_shape x) {
  const plim_shape pair = kernel_shape(PLIM_F32, 2, 2, C, 1, 1);
  plim_op_desc op = kernel_op(kind, 1, 1, x, x);
  op.in[1] = op.in[2] = op.in[3] = op.in[4] = pair;
  switch (kind) {
    case PLIM_OP_BN_STATS:
      op.out[0] = pair;
      break;
    case PLIM_OP_BN_APPLY:
      op.n_in = 4;
      op.in[3] = x;
      op.out[op.n_out++] = kernel_mask(x);
      op.attrs.add = op.attrs.relu = 1;
      break;
    case PLIM_OP_BN_RUNNING:
      op.in[0] = op.upd[0] = pair;
      op.n_out = 0;
      op.n_upd = 1;
      op.attrs.momentum = 0.1F;
      op.attrs.count = N * H * W;
      break;
    default: /* backward: dy, x, stats [, affine, daffine], mask */
      op.n_in = kind == PLIM_OP_BN_BWD_REDUCE ? 4 : 6;
      op.in[1] = x;
      op.in[op.n_in - 1] = kernel_mask(x);
      if (kind == PLIM_OP_BN_BWD_REDUCE) op.out[0] = pair;
      op.attrs.relu = 1;
  }
  return op;
}

/* Of a kind whose operands all have the rule "...": all of them, with the attributes that it may have. */
static int32_t operands_like(const plim_op_operand *list, plim_shape x, plim_shape *shape) {
  int32_t n = 0;
  for (const plim_op_operand *o; (o = plim_op_operand_at(list, n)) != NULL && n < PLIM_ROW_OPERANDS; n++) {
    shape[n] = o->type == 'b' ? kernel_mask(x) : x;
    if (o->type == 'h') shape[n].dtype = PLIM_BF16;
  }
  return n;
}

static plim_op_desc elementwise(plim_op_kind kind, plim_shape x) {
  const plim_op_row *row = plim_op_kind_row(kind);
  plim_op_desc op = {.kind = kind};
  const char *attrs = row->attrs ? row->attrs : "";
  if (strstr(attrs, "relu")) op.attrs.relu = 1;
  if (strstr(attrs, "drop")) op.attrs.drop = 0.25F;
  if (strstr(attrs, "count")) op.attrs.count = 3;
  op.n_in = operands_like(row->in, x, op.in);
  op.n_out = operands_like(row->out, x, op.out);
  op.n_upd = operands_like(row->upd, x, op.upd);
  return op;
}

static plim_op_desc loss(plim_op_kind kind) {
  const plim_shape rows = kernel_activation(PLIM_FLAT, N, CLASSES, 0, 0);
  plim_op_desc op = kernel_op(kind, 2, 1, rows, rows);
  op.in[1] = kernel_shape(PLIM_I32, 1, N, 1, 1, 1);
  if (kind == PLIM_OP_SOFTMAX_XENT) {
    op.n_out = 3;
    op.out[0] = kernel_shape(PLIM_F32, 1, 1, 1, 1, 1);
    op.out[1] = kernel_shape(PLIM_I32, 1, 2, 1, 1, 1);
    op.out[2] = rows;
  }
  return op;
}

static void set_window(plim_op_desc *op, int kernel, int stride, int pad) {
  for (int i = 0; i < 2; i++) {
    op->attrs.kernel[i] = kernel;
    op->attrs.stride[i] = stride;
    op->attrs.pad[i] = pad;
  }
}

/* Windows of 3 x 3 at every second position, padded. */
static plim_op_desc pooling(plim_op_kind kind, plim_layout layout) {
  const plim_shape x = kernel_activation(layout, N, C, H, W), y = kernel_activation(layout, N, C, 5, 4);
  const int backward = kind == PLIM_OP_MAX_POOL_BWD || kind == PLIM_OP_AVG_POOL_BWD;
  plim_op_desc op = kernel_op(kind, 1, 1, backward ? y : x, backward ? x : y);
  plim_shape index = y;
  index.dtype = PLIM_U8;
  if (kind == PLIM_OP_MAX_POOL) op.out[op.n_out++] = index;
  if (kind == PLIM_OP_MAX_POOL_BWD) op.in[op.n_in++] = index;
  set_window(&op, 3, 2, 1);
  return op;
}

static plim_op_desc product(plim_op_kind forward, plim_op_kind kind, plim_shape x, plim_shape w, plim_shape y) {
  plim_op_desc op = kernel_op(kind, 2, 1, y, x);
  op.in[1] = w;
  if (kind == forward) {
    op = kernel_op(kind, 3, 1, x, y);
    op.in[1] = w;
    op.in[2] = kernel_shape(PLIM_F32, 1, y.dim[1], 1, 1, 1);
  } else if (kind == forward + 2) { /* the gradient of the weights follows that of the data */
    op.in[1] = x;
    op.out[0] = w;
  }
  return op;
}

static plim_op_desc image(void) {
  plim_shape pixels = kernel_activation(PLIM_NHWC, N, 3, H, W);
  plim_op_desc op = kernel_op(PLIM_OP_IMAGE, 1, 1, pixels, pixels);
  op.in[0].dtype = PLIM_U8;
  for (int i = 0; i < 3; i++) {
    op.attrs.scale[i] = 0.25F;
    op.attrs.shift[i] = (float)-i;
  }
  return op;
}

/* 2 sequences of 21 tokens; 3 heads of 8; 40 words */
enum { B = 2, T = 21, D = 24, HEADS = 3, WORDS = 40 };

static plim_op_desc norm(plim_op_kind kind) {
  const plim_shape x = kernel_activation(PLIM_FLAT, 70, D, 0, 0);
  const int layer = kind == PLIM_OP_LAYER_NORM || kind == PLIM_OP_LAYER_NORM_BWD;
  const plim_shape affine = kernel_shape(PLIM_F32, layer ? 2 : 1, layer ? 2 : D, layer ? D : 1, 1, 1);
  const int backward = kind == PLIM_OP_LAYER_NORM_BWD || kind == PLIM_OP_RMS_NORM_BWD;
  plim_op_desc op = kernel_op(kind, backward ? 3 : 2, backward ? 2 : 1, x, x);
  op.in[1] = backward ? x : affine;
  op.in[2] = op.out[1] = affine;
  return op;
}

static plim_op_desc table_of_words(plim_op_kind kind) {
  const plim_shape token = kernel_shape(PLIM_I32, 2, B, T, 1, 1), words = kernel_shape(PLIM_F32, 2, WORDS, D, 1, 1);
  const plim_shape y = kernel_shape(PLIM_F32, 3, B, T, D, 1), position = kernel_shape(PLIM_F32, 2, T, D, 1, 1);
  const int backward = kind == PLIM_OP_EMBEDDING_BWD;
  plim_op_desc op = kernel_op(kind, 3, backward ? 2 : 1, backward ? y : token, backward ? words : y);
  op.in[1] = backward ? token : words;
  op.in[2] = backward ? words : position;
  op.out[1] = position;
  return op;
}

static plim_op_desc attention(plim_op_kind kind) {
  const plim_shape qkv = kernel_shape(PLIM_F32, 3, B, T, 3 * D, 1), y = kernel_shape(PLIM_F32, 3, B, T, D, 1);
  const plim_shape lse = kernel_shape(PLIM_F32, 3, B, T, HEADS, 1);
  const int backward = kind == PLIM_OP_ATTENTION_BWD;
  plim_op_desc op = kernel_op(kind, backward ? 4 : 1, backward ? 1 : 2, backward ? y : qkv, backward ? qkv : y);
  op.in[1] = qkv;
  op.in[2] = y;
  op.in[3] = op.out[1] = lse;
  return op;
}

static plim_op_desc loss_of_words(plim_op_kind kind) {
  const plim_shape x = kernel_activation(PLIM_FLAT, B * T, D, 0, 0), w = kernel_shape(PLIM_F32, 2, WORDS, D, 1, 1);
  const plim_shape lse = kernel_shape(PLIM_F32, 1, B * T, 1, 1, 1);
  plim_op_desc op = kernel_op(kind, 3, 3, x, kernel_shape(PLIM_F32, 1, 1, 1, 1, 1));
  op.in[1] = kernel_shape(PLIM_I32, 1, B * T, 1, 1, 1);
  op.in[2] = w;
  op.out[1] = kernel_shape(PLIM_I32, 1, 2, 1, 1, 1);
  op.out[2] = lse;
  if (kind == PLIM_OP_LINEAR_XENT_BWD) {
    op.in[op.n_in++] = lse;
    op.n_out = 2;
    op.out[0] = x;
    op.out[1] = w;
  }
  return op;
}

static plim_op_desc update(plim_op_kind kind, plim_shape x) {
  const plim_shape one = kernel_shape(PLIM_F32, 1, 1, 1, 1, 1);
  const int sgd = kind == PLIM_OP_SGD;
  plim_op_desc op = kernel_op(kind, 2, 1, x, one);
  op.in[1] = op.in[2] = one;
  if (kind == PLIM_OP_SUM_SQUARES) return op;
  op.in[1].dim[0] = sgd ? 4 : 8;
  op.n_in = op.n_upd = sgd ? 2 : 3;
  op.n_out = 0;
  op.upd[0] = op.upd[1] = op.upd[2] = x;
  op.attrs.decay = !sgd;
  return op;
}

static plim_op_desc mean_of_losses(void) {
  const plim_shape loss = kernel_shape(PLIM_F32, 1, 1, 1, 1, 1), hits = kernel_shape(PLIM_I32, 1, 2, 1, 1, 1);
  plim_op_desc op = kernel_op(PLIM_OP_MEAN_LOSS, 4, 2, loss, loss);
  op.in[2] = loss;
  op.in[1] = op.in[3] = op.out[1] = hits;
  return op;
}

/* Two sizes of products, more than a block of each size of one. */
static plim_op_desc products(plim_op_kind kind) {
  enum { OUTER = 2, INNER = 3, ROWS = 33, COLUMNS = 67, DEPTH = 70 };
  const int tn = kind == PLIM_OP_MATMUL_TN, nt = kind == PLIM_OP_MATMUL_NT;
  const plim_shape y = kernel_shape(PLIM_F32, 4, OUTER, INNER, ROWS, COLUMNS);
  const plim_shape a = kernel_shape(PLIM_F32, 4, OUTER, INNER, tn ? DEPTH : ROWS, tn ? ROWS : DEPTH);
  plim_op_desc op = kernel_op(kind, 2, 1, a, y);
  op.in[1] = kernel_shape(PLIM_F32, 4, OUTER, INNER, nt ? COLUMNS : DEPTH, nt ? DEPTH : COLUMNS);
  return op;
}

static plim_op_desc rows_of_softmax(plim_op_kind kind) {
  const plim_shape x = kernel_shape(PLIM_F32, 3, 3, 7, 37, 1);
  plim_op_desc op = kernel_op(kind, kind == PLIM_OP_SOFTMAX_BWD ? 2 : 1, 1, x, x);
  op.in[1] = x;
  return op;
}

static plim_op_desc sample_of_text(plim_op_kind kind, plim_shape x) {
  switch (kind) {
    case PLIM_OP_LAYER_NORM:
    case PLIM_OP_LAYER_NORM_BWD:
    case PLIM_OP_RMS_NORM:
    case PLIM_OP_RMS_NORM_BWD:
      return norm(kind);
    case PLIM_OP_SOFTMAX:
    case PLIM_OP_SOFTMAX_BWD:
      return rows_of_softmax(kind);
    case PLIM_OP_MATMUL:
    case PLIM_OP_MATMUL_NT:
    case PLIM_OP_MATMUL_TN:
      return products(kind);
    case PLIM_OP_EMBEDDING:
    case PLIM_OP_EMBEDDING_BWD:
      return table_of_words(kind);
    case PLIM_OP_ATTENTION:
    case PLIM_OP_ATTENTION_BWD:
      return attention(kind);
    case PLIM_OP_LINEAR_XENT:
    case PLIM_OP_LINEAR_XENT_BWD:
      return loss_of_words(kind);
    case PLIM_OP_SGD:
    case PLIM_OP_ADAM:
    case PLIM_OP_ADAMW:
    case PLIM_OP_SUM_SQUARES:
      return update(kind, x);
    case PLIM_OP_MEAN_LOSS:
      return mean_of_losses();
    default: /* every kind of one elementwise kernel */
      return elementwise(kind, x);
  }
}

/* Three parts of 16, 32 and 16 channels. */
static plim_op_desc concatenation(plim_op_kind kind, plim_layout layout) {
  const plim_shape whole = kernel_activation(layout, N, 64, H, W);
  plim_op_desc op = kernel_op(kind, kind == PLIM_OP_CONCAT ? 3 : 1, kind == PLIM_OP_CONCAT ? 1 : 3, whole, whole);
  plim_shape *part = kind == PLIM_OP_CONCAT ? op.in : op.out;
  for (int i = 0; i < 3; i++) part[i] = kernel_activation(layout, N, i == 1 ? 32 : 16, H, W);
  return op;
}

plim_op_desc kernel_sample(plim_op_kind kind, plim_layout layout) {
  const plim_shape x = kernel_activation(layout, N, C, H, W);
  switch (kind) {
    case PLIM_OP_IMAGE:
      return image();
    case PLIM_OP_CONV2D:
    case PLIM_OP_CONV2D_BWD_DATA:
    case PLIM_OP_CONV2D_BWD_WEIGHTS: {
      plim_op_desc op = product(PLIM_OP_CONV2D, kind, x, kernel_shape(PLIM_F32, 4, 16, C, 3, 3),
                                kernel_activation(layout, N, 16, 5, 4));
      set_window(&op, 3, 2, 1);
      return op;
    }
    case PLIM_OP_LINEAR:
    case PLIM_OP_LINEAR_BWD_DATA:
    case PLIM_OP_LINEAR_BWD_WEIGHTS:
      return product(PLIM_OP_LINEAR, kind, kernel_activation(PLIM_FLAT, N, C, 0, 0),
                     kernel_shape(PLIM_F32, 2, CLASSES, C, 1, 1), kernel_activation(PLIM_FLAT, N, CLASSES, 0, 0));
    case PLIM_OP_DEPTHWISE_CONV2D:
    case PLIM_OP_DEPTHWISE_CONV2D_BWD_DATA:
    case PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS: {
      plim_op_desc op = product(PLIM_OP_DEPTHWISE_CONV2D, kind, x, kernel_shape(PLIM_F32, 4, C, 1, 3, 3),
                                kernel_activation(layout, N, C, 5, 4));
      op.n_in = 2;
      set_window(&op, 3, 2, 1);
      return op;
    }
    case PLIM_OP_CONV_TRANSPOSE2D: {
      plim_op_desc op = kernel_op(kind, 2, 1, kernel_activation(layout, N, 16, 5, 4), x);
      op.in[1] = kernel_shape(PLIM_F32, 4, 16, C, 3, 3);
      set_window(&op, 3, 2, 1);
      return op;
    }
    case PLIM_OP_CONCAT:
    case PLIM_OP_SPLIT:
      return concatenation(kind, layout);
    case PLIM_OP_BIAS_BWD:
      return kernel_op(kind, 1, 1, x, kernel_shape(PLIM_F32, 1, C, 1, 1, 1));
    case PLIM_OP_BN_STATS:
    case PLIM_OP_BN_APPLY:
    case PLIM_OP_BN_RUNNING:
    case PLIM_OP_BN_BWD_REDUCE:
    case PLIM_OP_BN_BWD_APPLY:
      return batch_norm(kind, x);
    case PLIM_OP_MAX_POOL:
    case PLIM_OP_MAX_POOL_BWD:
    case PLIM_OP_AVG_POOL:
    case PLIM_OP_AVG_POOL_BWD:
      return pooling(kind, layout);
    case PLIM_OP_GLOBAL_AVG_POOL:
      return kernel_op(kind, 1, 1, x, kernel_activation(PLIM_FLAT, N, C, 0, 0));
    case PLIM_OP_GLOBAL_AVG_POOL_BWD:
      return kernel_op(kind, 1, 1, kernel_activation(PLIM_FLAT, N, C, 0, 0), x);
    case PLIM_OP_SOFTMAX_XENT:
    case PLIM_OP_SOFTMAX_XENT_BWD:
      return loss(kind);
    default:
      return sample_of_text(kind, x);
  }
}

static void to_bf16(const plim_op_operand *list, plim_shape *shape, int count) {
  for (int i = 0; i < count; i++) {
    if (plim_op_operand_at(list, i)->type == 't') shape[i].dtype = PLIM_BF16;
  }
}

void kernel_to_bf16(plim_op_desc *op) {
  const plim_op_row *row = plim_op_kind_row(op->kind);
  to_bf16(row->in, op->in, op->n_in);
  to_bf16(row->out, op->out, op->n_out);
  to_bf16(row->upd, op->upd, op->n_upd);
}

plim_op_desc kernel_sample_bf16(plim_op_kind kind, plim_layout layout) {
  plim_op_desc op = kernel_sample(kind, layout);
  kernel_to_bf16(&op);
  return op;
}

/* The reference: dense, channel and loss ops here, windows (convolution, pooling) in kernel_reference_window.c. */
#include "tests/support/kernel_reference.h"

#include <math.h>
#include <stddef.h>

#include "tests/support/kernel_reference_text.h"
#include "tests/support/kernel_reference_window.h"

static int64_t strided_address(const plim_shape *shape, int64_t i) {
  int64_t at = 0;
  for (int32_t d = shape->rank - 1; d >= 0; d--) {
    at += i % shape->dim[d] * shape->stride[d];
    i /= shape->dim[d];
  }
  return at;
}

int64_t reference_address(const plim_shape *shape, int64_t i) {
  const int64_t channels = shape->dim[1], height = shape->dim[2], width = shape->dim[3];
  if (plim_shape_is_strided(shape)) return strided_address(shape, i);
  if (shape->layout == PLIM_FLAT) return i;
  const int64_t w = i % width, h = i / width % height, c = i / width / height % channels,
                n = i / width / height / channels;
  if (shape->layout == PLIM_NHWC) return ((n * height + h) * width + w) * channels + c;
  const int64_t block = shape->layout == PLIM_NCHW8C ? 8 : 16;
  return (((n * (channels / block) + c / block) * height + h) * width + w) * block + c % block;
}

double reference_of_bf16(uint16_t bits) {
  const int exponent = bits >> 7 & 0xff, fraction = bits & 0x7f;
  const double sign = bits >> 15 ? -1 : 1;
  if (exponent == 0xff) return fraction ? (double)NAN : sign * (double)INFINITY;
  return sign * (exponent ? ldexp(128 + fraction, exponent - 134) : ldexp(fraction, -133));
}

double reference_get(const plim_shape *shape, const void *memory, int64_t i) {
  const int64_t at = reference_address(shape, i);
  switch (shape->dtype) {
    case PLIM_F32:
      return (double)((const float *)memory)[at];
    case PLIM_BF16:
      return reference_of_bf16(((const uint16_t *)memory)[at]);
    case PLIM_I32:
      return (double)((const int32_t *)memory)[at];
    case PLIM_U8:
      return (double)((const uint8_t *)memory)[at];
    default:
      return ((const uint8_t *)memory)[at / 8] >> (at % 8) & 1;
  }
}

static double in_at(const plim_op_desc *op, void *const *in, int operand, int64_t i) {
  return reference_get(&op->in[operand], in[operand], i);
}

/* Channel of logical element i. */
static int64_t channel_of(const plim_shape *shape, int64_t i) {
  return i / (shape->dim[2] * shape->dim[3]) % shape->dim[1];
}

static double clamp(double v, int relu) {
  return relu && v <= 0 ? 0 : v;
}

static void image(const plim_op_desc *op, void *const *in, double *y) {
  for (int64_t i = 0; i < plim_shape_elements(&op->in[0]); i++) {
    const int64_t c = channel_of(&op->in[0], i);
    y[i] = in_at(op, in, 0, i) * (double)op->attrs.scale[c] + (double)op->attrs.shift[c];
  }
}

static void bn_stats(const plim_op_desc *op, void *const *in, double *stats) {
  const int64_t elements = plim_shape_elements(&op->in[0]), channels = op->in[0].dim[1];
  const double count = (double)elements / (double)channels;
  for (int64_t i = 0; i < 2 * channels; i++) stats[i] = 0;
  for (int64_t i = 0; i < elements; i++) stats[channel_of(&op->in[0], i)] += in_at(op, in, 0, i) / count;
  for (int64_t i = 0; i < elements; i++) {
    const int64_t c = channel_of(&op->in[0], i);
    const double d = in_at(op, in, 0, i) - stats[c];
    stats[channels + c] += d * d / count;
  }
}

static void bn_apply(const plim_op_desc *op, void *const *in, double *y, double *mask) {
  const int64_t channels = op->in[0].dim[1];
  for (int64_t i = 0; i < plim_shape_elements(&op->in[0]); i++) {
    const int64_t c = channel_of(&op->in[0], i);
    const double rstd = 1 / sqrt(in_at(op, in, 1, channels + c) + (double)op->attrs.eps);
    double v =
        (in_at(op, in, 0, i) - in_at(op, in, 1, c)) * rstd * in_at(op, in, 2, c) + in_at(op, in, 2, channels + c);
    if (op->attrs.add) v += in_at(op, in, 3, i);
    y[i] = clamp(v, op->attrs.relu);
    if (mask) mask[i] = v > 0;
  }
}

static double upd_at(const plim_op_desc *op, void *const *upd, int operand, int64_t i) {
  return reference_get(&op->upd[operand], upd[operand], i);
}

static void bn_running(const plim_op_desc *op, void *const *in, void *const *before, double *after) {
  const int64_t channels = op->in[0].dim[1];
  const double n = (double)op->attrs.count, unbiased = n > 1 ? n / (n - 1) : 1;
  for (int64_t i = 0; i < 2 * channels; i++) {
    const double value = in_at(op, in, 0, i) * (i < channels ? 1 : unbiased);
    const double old = upd_at(op, before, 0, i);
    after[i] = old + (double)op->attrs.momentum * (value - old);
  }
}

/* The gradient after the fused ReLU. */
static double bn_gradient(const plim_op_desc *op, void *const *in, int mask, int64_t i) {
  return op->attrs.relu && in_at(op, in, mask, i) == 0 ? 0 : in_at(op, in, 0, i);
}

static double bn_normalised(const plim_op_desc *op, void *const *in, int64_t i) {
  const int64_t c = channel_of(&op->in[1], i), channels = op->in[1].dim[1];
  return (in_at(op, in, 1, i) - in_at(op, in, 2, c)) / sqrt(in_at(op, in, 2, channels + c) + (double)op->attrs.eps);
}

static void bn_bwd_reduce(const plim_op_desc *op, void *const *in, double *daffine) {
  const int64_t channels = op->in[1].dim[1];
  for (int64_t i = 0; i < 2 * channels; i++) daffine[i] = 0;
  for (int64_t i = 0; i < plim_shape_elements(&op->in[1]); i++) {
    const int64_t c = channel_of(&op->in[1], i);
    const double g = bn_gradient(op, in, 3, i);
    daffine[c] += g * bn_normalised(op, in, i);
    daffine[channels + c] += g;
  }
}

static void bn_bwd_apply(const plim_op_desc *op, void *const *in, double *dx) {
  const int64_t channels = op->in[1].dim[1], elements = plim_shape_elements(&op->in[1]);
  const double count = (double)elements / (double)channels;
  for (int64_t i = 0; i < elements; i++) {
    const int64_t c = channel_of(&op->in[1], i);
    const double rstd = 1 / sqrt(in_at(op, in, 2, channels + c) + (double)op->attrs.eps);
    const double mean_g = in_at(op, in, 4, channels + c) / count, mean_gx = in_at(op, in, 4, c) / count;
    dx[i] = in_at(op, in, 3, c) * rstd * (bn_gradient(op, in, 5, i) - mean_g - bn_normalised(op, in, i) * mean_gx);
  }
}

static void elementwise(const plim_op_desc *op, void *const *in, const void *kept, double **out) {
  const plim_shape *y = &op->out[0];
  for (int64_t i = 0; i < plim_shape_elements(y); i++) {
    double v = 0, keep = 1;
    if (op->kind == PLIM_OP_RELU) v = clamp(in_at(op, in, 0, i), 1);
    if (op->kind == PLIM_OP_ADD) v = clamp(in_at(op, in, 0, i) + in_at(op, in, 1, i), op->attrs.relu);
    if (op->kind == PLIM_OP_RELU_BWD) {
      v = in_at(op, in, 0, i) * (in_at(op, in, 1, i) + (op->n_in > 2 ? in_at(op, in, 2, i) : 0));
    }
    if (op->kind == PLIM_OP_DROPOUT) keep = reference_get(&op->out[1], kept, i);
    if (op->kind == PLIM_OP_DROPOUT_BWD) keep = in_at(op, in, 1, i);
    if (op->kind == PLIM_OP_DROPOUT || op->kind == PLIM_OP_DROPOUT_BWD) {
      v = keep * in_at(op, in, 0, i) / (1 - (double)op->attrs.drop);
    }
    out[0][i] = v;
    if (op->n_out > 1) out[1][i] = op->kind == PLIM_OP_DROPOUT ? keep : v != 0;
  }
}

static void sgd(const plim_op_desc *op, void *const *in, void *const *before, double **after) {
  const double rate = in_at(op, in, 1, 0), momentum = in_at(op, in, 1, 1), decay = in_at(op, in, 1, 2);
  const double norm = op->n_in > 2 ? sqrt(in_at(op, in, 2, 0)) : 0, most = op->n_in > 2 ? in_at(op, in, 1, 7) : 0;
  const double clip = most > 0 && norm > most ? most / norm : 1;
  for (int64_t i = 0; i < plim_shape_elements(&op->upd[0]); i++) {
    const double param = upd_at(op, before, 0, i);
    const double old = op->n_upd > 1 ? momentum * upd_at(op, before, 1, i) : 0;
    const double velocity = old + (in_at(op, in, 0, i) * clip + decay * param);
    if (op->n_upd > 1) after[1][i] = velocity;
    after[0][i] = param - rate * velocity;
  }
}

static int is_counted(const plim_op_desc *op, void *const *in, int64_t n) {
  return in_at(op, in, 1, n) >= 0;
}

static void softmax_xent(const plim_op_desc *op, void *const *in, double **out) {
  const int64_t rows = op->in[0].dim[0], classes = op->in[0].dim[1];
  double loss = 0, correct = 0, counted = 0;
  for (int64_t n = 0; n < rows; n++) {
    double largest = -INFINITY, sum = 0;
    int64_t best = 0;
    for (int64_t c = 0; c < classes; c++) {
      const double v = in_at(op, in, 0, n * classes + c);
      if (v > largest) {
        largest = v;
        best = c;
      }
    }
    for (int64_t c = 0; c < classes; c++) sum += exp(in_at(op, in, 0, n * classes + c) - largest);
    for (int64_t c = 0; c < classes; c++) {
      out[2][n * classes + c] = exp(in_at(op, in, 0, n * classes + c) - largest) / sum;
    }
    if (!is_counted(op, in, n)) continue;
    const int64_t label = (int64_t)in_at(op, in, 1, n);
    loss += log(sum) + largest - in_at(op, in, 0, n * classes + label);
    correct += best == label;
    counted++;
  }
  out[0][0] = counted > 0 ? loss / counted : 0;
  out[1][0] = correct;
  out[1][1] = counted;
}

static void softmax_xent_bwd(const plim_op_desc *op, void *const *in, double *dlogits) {
  const int64_t rows = op->in[0].dim[0], classes = op->in[0].dim[1];
  double counted = 0;
  for (int64_t n = 0; n < rows; n++) counted += is_counted(op, in, n);
  for (int64_t i = 0; i < rows * classes; i++) {
    const int64_t n = i / classes;
    const int at_label = (int64_t)in_at(op, in, 1, n) == i % classes;
    dlogits[i] = is_counted(op, in, n) ? (in_at(op, in, 0, i) - at_label) / counted : 0;
  }
}

static void linear(const plim_op_desc *op, void *const *in, double *y) {
  const int64_t rows = op->in[0].dim[0], inputs = op->in[0].dim[1], outputs = op->in[1].dim[0];
  for (int64_t n = 0; n < rows; n++) {
    for (int64_t o = 0; o < outputs; o++) {
      double sum = op->n_in > 2 ? in_at(op, in, 2, o) : 0;
      for (int64_t i = 0; i < inputs; i++) sum += in_at(op, in, 0, n * inputs + i) * in_at(op, in, 1, o * inputs + i);
      y[n * outputs + o] = sum;
    }
  }
}

static void linear_bwd(const plim_op_desc *op, void *const *in, double *result) {
  const int data = op->kind == PLIM_OP_LINEAR_BWD_DATA;
  const int64_t rows = op->in[0].dim[0], outputs = op->in[0].dim[1], inputs = op->in[1].dim[1];
  for (int64_t i = 0; i < plim_shape_elements(&op->out[0]); i++) result[i] = 0;
  for (int64_t n = 0; n < rows; n++) {
    for (int64_t o = 0; o < outputs; o++) {
      const double dy = in_at(op, in, 0, n * outputs + o);
      for (int64_t i = 0; i < inputs; i++) {
        if (data) result[n * inputs + i] += dy * in_at(op, in, 1, o * inputs + i);
        if (!data) result[o * inputs + i] += dy * in_at(op, in, 1, n * inputs + i);
      }
    }
  }
}

static void bias_bwd(const plim_op_desc *op, void *const *in, double *dbias) {
  for (int64_t c = 0; c < op->in[0].dim[1]; c++) dbias[c] = 0;
  for (int64_t i = 0; i < plim_shape_elements(&op->in[0]); i++) dbias[channel_of(&op->in[0], i)] += in_at(op, in, 0, i);
}

static void global_avg_pool(const plim_op_desc *op, void *const *in, double *y) {
  const plim_shape *image_shape = op->kind == PLIM_OP_GLOBAL_AVG_POOL ? &op->in[0] : &op->out[0];
  const int64_t spatial = image_shape->dim[2] * image_shape->dim[3];
  if (op->kind == PLIM_OP_GLOBAL_AVG_POOL_BWD) {
    for (int64_t i = 0; i < plim_shape_elements(image_shape); i++)
      y[i] = in_at(op, in, 0, i / spatial) / (double)spatial;
    return;
  }
  for (int64_t i = 0; i < plim_shape_elements(&op->out[0]); i++) {
    y[i] = 0;
    for (int64_t s = 0; s < spatial; s++) y[i] += in_at(op, in, 0, i * spatial + s) / (double)spatial;
  }
}

/* Element i of part p, at its place in the whole. */
static int64_t in_whole(const plim_shape *whole, const plim_shape *part, int64_t channels_before, int64_t i) {
  int64_t rest = 1;
  for (int d = 2; d < part->rank; d++) rest *= part->dim[d];
  const int64_t n = i / rest / part->dim[1], c = i / rest % part->dim[1];
  return (n * whole->dim[1] + channels_before + c) * rest + i % rest;
}

static void concat(const plim_op_desc *op, void *const *in, double **out) {
  const int to_whole = op->kind == PLIM_OP_CONCAT, parts = to_whole ? op->n_in : op->n_out;
  const plim_shape *part = to_whole ? op->in : op->out, *whole = to_whole ? &op->out[0] : &op->in[0];
  int64_t channels = 0;
  for (int p = 0; p < parts; p++) {
    for (int64_t i = 0; i < plim_shape_elements(&part[p]); i++) {
      const int64_t at = in_whole(whole, &part[p], channels, i);
      if (to_whole) out[0][at] = in_at(op, in, p, i);
      if (!to_whole) out[p][i] = in_at(op, in, 0, at);
    }
    channels += part[p].dim[1];
  }
}

void reference_run(const plim_op_desc *op, void *const *in, void *const *upd_before, const void *kept, double **out,
                   double **upd) {
  switch (op->kind) {
    case PLIM_OP_IMAGE:
      image(op, in, out[0]);
      break;
    case PLIM_OP_BN_STATS:
      bn_stats(op, in, out[0]);
      break;
    case PLIM_OP_BN_APPLY:
      bn_apply(op, in, out[0], op->n_out > 1 ? out[1] : NULL);
      break;
    case PLIM_OP_BN_BWD_REDUCE:
      bn_bwd_reduce(op, in, out[0]);
      break;
    case PLIM_OP_BN_BWD_APPLY:
      bn_bwd_apply(op, in, out[0]);
      break;
    case PLIM_OP_BN_RUNNING:
      bn_running(op, in, upd_before, upd[0]);
      break;
    case PLIM_OP_CAST:
      for (int64_t i = 0; i < plim_shape_elements(&op->in[0]); i++) out[0][i] = in_at(op, in, 0, i);
      break;
    case PLIM_OP_SGD:
      sgd(op, in, upd_before, upd);
      break;
    case PLIM_OP_RELU:
    case PLIM_OP_RELU_BWD:
    case PLIM_OP_ADD:
    case PLIM_OP_DROPOUT:
    case PLIM_OP_DROPOUT_BWD:
      elementwise(op, in, kept, out);
      break;
    case PLIM_OP_SOFTMAX_XENT:
      softmax_xent(op, in, out);
      break;
    case PLIM_OP_SOFTMAX_XENT_BWD:
      softmax_xent_bwd(op, in, out[0]);
      break;
    case PLIM_OP_LINEAR:
      linear(op, in, out[0]);
      break;
    case PLIM_OP_LINEAR_BWD_DATA:
    case PLIM_OP_LINEAR_BWD_WEIGHTS:
      linear_bwd(op, in, out[0]);
      break;
    case PLIM_OP_BIAS_BWD:
      bias_bwd(op, in, out[0]);
      break;
    case PLIM_OP_CONCAT:
    case PLIM_OP_SPLIT:
      concat(op, in, out);
      break;
    case PLIM_OP_GLOBAL_AVG_POOL:
    case PLIM_OP_GLOBAL_AVG_POOL_BWD:
      global_avg_pool(op, in, out[0]);
      break;
    default:
      if (!reference_run_text(op, in, upd_before, out, upd)) reference_run_window(op, in, out);
  }
}

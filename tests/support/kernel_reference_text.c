/* Naive loops in double, each matrix written down whole. */
#include "tests/support/kernel_reference_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/kernel_reference.h"

static double in_at(const plim_op_desc *op, void *const *in, int operand, int64_t i) {
  return reference_get(&op->in[operand], in[operand], i);
}

/* ---- activations ---- */

static double gelu(double x) {
  return 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

static double gelu_slope(double x) {
  const double a = sqrt(2 / 3.14159265358979323846), t = tanh(a * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * a * (1 + 3 * 0.044715 * x * x);
}

static double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}

static void activation(const plim_op_desc *op, void *const *in, double *y) {
  for (int64_t i = 0; i < plim_shape_elements(&op->out[0]); i++) {
    const double a = in_at(op, in, 0, i), x = op->n_in > 1 ? in_at(op, in, 1, i) : 0;
    switch (op->kind) {
      case PLIM_OP_GELU:
        y[i] = gelu(a);
        break;
      case PLIM_OP_GELU_BWD:
        y[i] = a * gelu_slope(x);
        break;
      case PLIM_OP_SILU:
        y[i] = a * sigmoid(a);
        break;
      default:
        y[i] = a * (sigmoid(x) + x * sigmoid(x) * (1 - sigmoid(x)));
    }
  }
}

/* ---- norms ---- */

/* Mean and 1 / deviation of row n of operand `operand`; an RMS norm has no mean. */
static void row_statistics(const plim_op_desc *op, void *const *in, int operand, int64_t row, double *mean,
                           double *rstd) {
  const int64_t c = op->in[operand].dim[1];
  double squares = 0;
  *mean = 0;
  if (op->kind == PLIM_OP_LAYER_NORM || op->kind == PLIM_OP_LAYER_NORM_BWD) {
    for (int64_t i = 0; i < c; i++) *mean += in_at(op, in, operand, row * c + i) / (double)c;
  }
  for (int64_t i = 0; i < c; i++) squares += pow(in_at(op, in, operand, row * c + i) - *mean, 2);
  *rstd = 1 / sqrt(squares / (double)c + (double)op->attrs.eps);
}

static void norm(const plim_op_desc *op, void *const *in, double *y) {
  const int64_t c = op->in[0].dim[1];
  for (int64_t n = 0; n < op->in[0].dim[0]; n++) {
    double mean, rstd;
    row_statistics(op, in, 0, n, &mean, &rstd);
    for (int64_t i = 0; i < c; i++) {
      y[n * c + i] = (in_at(op, in, 0, n * c + i) - mean) * rstd * in_at(op, in, 1, i);
      if (op->kind == PLIM_OP_LAYER_NORM) y[n * c + i] += in_at(op, in, 1, c + i);
    }
  }
}

static void norm_bwd(const plim_op_desc *op, void *const *in, double *dx, double *daffine) {
  const int64_t c = op->in[0].dim[1];
  const int centred = op->kind == PLIM_OP_LAYER_NORM_BWD;
  memset(daffine, 0, (size_t)plim_shape_elements(&op->out[1]) * sizeof *daffine);
  for (int64_t n = 0; n < op->in[0].dim[0]; n++) {
    double mean, rstd, sum = 0, along = 0;
    row_statistics(op, in, 1, n, &mean, &rstd);
    for (int64_t i = 0; i < c; i++) {
      const double dy = in_at(op, in, 0, n * c + i), x = (in_at(op, in, 1, n * c + i) - mean) * rstd;
      sum += dy * in_at(op, in, 2, i) / (double)c;
      along += dy * in_at(op, in, 2, i) * x / (double)c;
      daffine[i] += dy * x;
      if (centred) daffine[c + i] += dy;
    }
    for (int64_t i = 0; i < c; i++) {
      const double g = in_at(op, in, 0, n * c + i) * in_at(op, in, 2, i);
      dx[n * c + i] = rstd * (g - (centred ? sum : 0) - (in_at(op, in, 1, n * c + i) - mean) * rstd * along);
    }
  }
}

/* ---- softmax ---- */

static void softmax(const plim_op_desc *op, void *const *in, double *y) {
  const int64_t n = plim_shape_elements(&op->in[0]), c = op->in[0].dim[op->in[0].rank - 1];
  for (int64_t row = 0; row < n; row += c) {
    double most = -INFINITY, sum = 0;
    for (int64_t i = row; i < row + c; i++) most = fmax(most, in_at(op, in, 0, i));
    for (int64_t i = row; i < row + c; i++) sum += exp(in_at(op, in, 0, i) - most);
    for (int64_t i = row; i < row + c; i++) y[i] = exp(in_at(op, in, 0, i) - most) / sum;
  }
}

static void softmax_bwd(const plim_op_desc *op, void *const *in, double *dx) {
  const int64_t n = plim_shape_elements(&op->in[0]), c = op->in[0].dim[op->in[0].rank - 1];
  for (int64_t row = 0; row < n; row += c) {
    double along = 0;
    for (int64_t i = row; i < row + c; i++) along += in_at(op, in, 0, i) * in_at(op, in, 1, i);
    for (int64_t i = row; i < row + c; i++) dx[i] = in_at(op, in, 1, i) * (in_at(op, in, 0, i) - along);
  }
}

/* ---- products of matrices ---- */

static void matmul(const plim_op_desc *op, void *const *in, double *y) {
  const plim_shape *a = &op->in[0], *result = &op->out[0];
  const int tn = op->kind == PLIM_OP_MATMUL_TN, nt = op->kind == PLIM_OP_MATMUL_NT;
  const int64_t m = result->dim[result->rank - 2], n = result->dim[result->rank - 1];
  const int64_t depth = a->dim[tn ? a->rank - 2 : a->rank - 1], products = plim_shape_elements(result) / (m * n);
  for (int64_t e = 0; e < products * m * n; e++) {
    const int64_t product = e / (m * n), row = e / n % m, column = e % n;
    y[e] = 0;
    for (int64_t k = 0; k < depth; k++) {
      const int64_t at_a = tn ? k * m + row : row * depth + k, at_b = nt ? column * depth + k : k * n + column;
      y[e] += in_at(op, in, 0, product * m * depth + at_a) * in_at(op, in, 1, product * n * depth + at_b);
    }
  }
}

/* ---- tables ---- */

static void embedding(const plim_op_desc *op, void *const *in, double *y) {
  const int64_t t = op->out[0].dim[1], c = op->out[0].dim[2];
  for (int64_t n = 0; n < op->out[0].dim[0] * t; n++) {
    const int64_t token = (int64_t)in_at(op, in, 0, n);
    for (int64_t i = 0; i < c; i++) {
      y[n * c + i] = token >= 0 && token < op->in[1].dim[0] ? in_at(op, in, 1, token * c + i) : 0;
      if (op->n_in > 2) y[n * c + i] += in_at(op, in, 2, n % t * c + i);
    }
  }
}

static void embedding_bwd(const plim_op_desc *op, void *const *in, double **out) {
  const int64_t t = op->in[0].dim[1], c = op->in[0].dim[2], words = op->out[0].dim[0];
  for (int64_t i = 0; i < words * c; i++) out[0][i] = op->n_in > 2 ? in_at(op, in, 2, i) : 0;
  for (int64_t i = 0; op->n_out > 1 && i < t * c; i++) out[1][i] = 0;
  for (int64_t n = 0; n < op->in[0].dim[0] * t; n++) {
    const int64_t token = (int64_t)in_at(op, in, 1, n);
    for (int64_t i = 0; i < c; i++) {
      if (token >= 0 && token < words) out[0][token * c + i] += in_at(op, in, 0, n * c + i);
      if (op->n_out > 1) out[1][n % t * c + i] += in_at(op, in, 0, n * c + i);
    }
  }
}

/* ---- attention ---- */

/* Part (0 queries, 1 keys, 2 values) of a token of sequence b, head h. */
static int64_t part_at(int64_t b, int64_t token, int part, int64_t h, int64_t d, const plim_shape *y, int64_t heads) {
  const int64_t c = y->dim[2];
  return ((b * y->dim[1] + token) * 3 + part) * c + h * (c / heads) + d;
}

static double score(const plim_op_desc *op, void *const *in, int qkv, const plim_shape *y, int64_t heads, int64_t b,
                    int64_t h, int64_t query, int64_t key) {
  const int64_t depth = y->dim[2] / heads;
  double sum = 0;
  for (int64_t d = 0; d < depth; d++) {
    sum += in_at(op, in, qkv, part_at(b, query, 0, h, d, y, heads)) *
           in_at(op, in, qkv, part_at(b, key, 1, h, d, y, heads));
  }
  return sum / sqrt((double)depth);
}

static void attention_query(const plim_op_desc *op, void *const *in, int64_t b, int64_t h, int64_t query,
                            double **out) {
  const plim_shape *y = &op->out[0];
  const int64_t heads = op->out[1].dim[2], depth = y->dim[2] / heads, row = b * y->dim[1] + query;
  double total = 0, *to = out[0] + row * y->dim[2] + h * depth;
  for (int64_t d = 0; d < depth; d++) to[d] = 0;
  for (int64_t key = 0; key <= query; key++) {
    const double weight = exp(score(op, in, 0, y, heads, b, h, query, key));
    total += weight;
    for (int64_t d = 0; d < depth; d++) to[d] += weight * in_at(op, in, 0, part_at(b, key, 2, h, d, y, heads));
  }
  for (int64_t d = 0; d < depth; d++) to[d] /= total;
  out[1][row * heads + h] = log(total);
}

static void attention_bwd_pair(const plim_op_desc *op, void *const *in, int64_t b, int64_t h, int64_t query,
                               int64_t key, double *dqkv) {
  const plim_shape *y = &op->in[2];
  const int64_t heads = op->in[3].dim[2], depth = y->dim[2] / heads, row = b * y->dim[1] + query;
  const double weight = exp(score(op, in, 1, y, heads, b, h, query, key) - in_at(op, in, 3, row * heads + h));
  double along = 0, delta = 0;
  for (int64_t d = 0; d < depth; d++) {
    const double dy = in_at(op, in, 0, row * y->dim[2] + h * depth + d);
    along += dy * in_at(op, in, 1, part_at(b, key, 2, h, d, y, heads));
    delta += dy * in_at(op, in, 2, row * y->dim[2] + h * depth + d);
    dqkv[part_at(b, key, 2, h, d, y, heads)] += weight * dy;
  }
  const double dscore = weight * (along - delta) / sqrt((double)depth);
  for (int64_t d = 0; d < depth; d++) {
    const int64_t q = part_at(b, query, 0, h, d, y, heads), k = part_at(b, key, 1, h, d, y, heads);
    dqkv[q] += dscore * in_at(op, in, 1, k);
    dqkv[k] += dscore * in_at(op, in, 1, q);
  }
}

static void attention(const plim_op_desc *op, void *const *in, double **out) {
  const int backward = op->kind == PLIM_OP_ATTENTION_BWD;
  const plim_shape *y = backward ? &op->in[2] : &op->out[0];
  const int64_t heads = backward ? op->in[3].dim[2] : op->out[1].dim[2];
  if (backward) memset(out[0], 0, (size_t)plim_shape_elements(&op->out[0]) * sizeof **out);
  for (int64_t b = 0; b < y->dim[0]; b++) {
    for (int64_t h = 0; h < heads; h++) {
      for (int64_t query = 0; query < y->dim[1]; query++) {
        if (!backward) attention_query(op, in, b, h, query, out);
        for (int64_t key = 0; backward && key <= query; key++) attention_bwd_pair(op, in, b, h, query, key, out[0]);
      }
    }
  }
}

/* ---- the loss over a vocabulary ---- */

static double logit(const plim_op_desc *op, void *const *in, int64_t n, int64_t word) {
  const int64_t c = op->in[0].dim[1];
  double sum = 0;
  for (int64_t i = 0; i < c; i++) sum += in_at(op, in, 0, n * c + i) * in_at(op, in, 2, word * c + i);
  return sum;
}

/* Numbers of the labels that are words. */
static int64_t counted(const plim_op_desc *op, void *const *in) {
  int64_t n = 0;
  for (int64_t i = 0; i < op->in[0].dim[0]; i++) {
    n += in_at(op, in, 1, i) >= 0 && in_at(op, in, 1, i) < (double)op->in[2].dim[0];
  }
  return n > 0 ? n : 1;
}

static void linear_xent(const plim_op_desc *op, void *const *in, double **out) {
  const int64_t words = op->in[2].dim[0];
  out[0][0] = out[1][0] = out[1][1] = 0;
  for (int64_t n = 0; n < op->in[0].dim[0]; n++) {
    const int64_t label = (int64_t)in_at(op, in, 1, n);
    double total = 0, most = -INFINITY;
    int64_t best = 0;
    for (int64_t word = 0; word < words; word++) {
      const double value = logit(op, in, n, word);
      total += exp(value);
      if (value > most) best = word;
      most = fmax(most, value);
    }
    out[2][n] = log(total);
    if (label < 0 || label >= words) continue;
    out[0][0] += (log(total) - logit(op, in, n, label)) / (double)counted(op, in);
    out[1][0] += best == label;
    out[1][1]++;
  }
}

static void linear_xent_bwd(const plim_op_desc *op, void *const *in, double **out) {
  const int64_t words = op->in[2].dim[0], c = op->in[0].dim[1];
  memset(out[0], 0, (size_t)plim_shape_elements(&op->out[0]) * sizeof **out);
  memset(out[1], 0, (size_t)plim_shape_elements(&op->out[1]) * sizeof **out);
  for (int64_t n = 0; n < op->in[0].dim[0]; n++) {
    const int64_t label = (int64_t)in_at(op, in, 1, n);
    if (label < 0 || label >= words) continue;
    for (int64_t word = 0; word < words; word++) {
      const double prob = exp(logit(op, in, n, word) - in_at(op, in, 3, n));
      const double dlogit = (prob - (word == label)) / (double)counted(op, in);
      for (int64_t i = 0; i < c; i++) {
        out[0][n * c + i] += dlogit * in_at(op, in, 2, word * c + i);
        out[1][word * c + i] += dlogit * in_at(op, in, 0, n * c + i);
      }
    }
  }
}

/* ---- updates ---- */

static void adam(const plim_op_desc *op, void *const *in, void *const *before, double **upd) {
  double h[8];
  for (int i = 0; i < 8; i++) h[i] = in_at(op, in, 1, i);
  const double norm = op->n_in > 2 ? sqrt(in_at(op, in, 2, 0)) : 0, clip = h[7] > 0 && norm > h[7] ? h[7] / norm : 1;
  const double decay = op->attrs.decay ? h[2] : 0;
  for (int64_t i = 0; i < plim_shape_elements(&op->in[0]); i++) {
    double p = reference_get(&op->upd[0], before[0], i), g = in_at(op, in, 0, i) * clip;
    if (op->kind == PLIM_OP_ADAM) g += decay * p;
    upd[1][i] = h[1] * reference_get(&op->upd[1], before[1], i) + (1 - h[1]) * g;
    upd[2][i] = h[3] * reference_get(&op->upd[2], before[2], i) + (1 - h[3]) * g * g;
    if (op->kind == PLIM_OP_ADAMW) p -= h[0] * decay * p;
    upd[0][i] = p - h[0] * (upd[1][i] / h[5]) / (sqrt(upd[2][i] / h[6]) + h[4]);
  }
}

static void sum_squares(const plim_op_desc *op, void *const *in, double *sum) {
  sum[0] = op->n_in > 1 ? in_at(op, in, 1, 0) : 0;
  for (int64_t i = 0; i < plim_shape_elements(&op->in[0]); i++) sum[0] += pow(in_at(op, in, 0, i), 2);
}

static void accumulate(const plim_op_desc *op, void *const *in, double *y) {
  const double count = op->attrs.count > 1 ? (double)op->attrs.count : 1;
  for (int64_t i = 0; i < plim_shape_elements(&op->in[0]); i++)
    y[i] = (in_at(op, in, 0, i) + in_at(op, in, 1, i)) / count;
}

static void mean_loss(const plim_op_desc *op, void *const *in, double **out) {
  const double a = in_at(op, in, 1, 1), b = in_at(op, in, 3, 1);
  out[0][0] = a + b > 0 ? (a * in_at(op, in, 0, 0) + b * in_at(op, in, 2, 0)) / (a + b) : 0;
  for (int i = 0; i < 2; i++) out[1][i] = in_at(op, in, 1, i) + in_at(op, in, 3, i);
}

int reference_run_text(const plim_op_desc *op, void *const *in, void *const *upd_before, double **out, double **upd) {
  switch (op->kind) {
    case PLIM_OP_GELU:
    case PLIM_OP_GELU_BWD:
    case PLIM_OP_SILU:
    case PLIM_OP_SILU_BWD:
      activation(op, in, out[0]);
      return 1;
    case PLIM_OP_LAYER_NORM:
    case PLIM_OP_RMS_NORM:
      norm(op, in, out[0]);
      return 1;
    case PLIM_OP_LAYER_NORM_BWD:
    case PLIM_OP_RMS_NORM_BWD:
      norm_bwd(op, in, out[0], out[1]);
      return 1;
    case PLIM_OP_SOFTMAX:
      softmax(op, in, out[0]);
      return 1;
    case PLIM_OP_SOFTMAX_BWD:
      softmax_bwd(op, in, out[0]);
      return 1;
    case PLIM_OP_MATMUL:
    case PLIM_OP_MATMUL_NT:
    case PLIM_OP_MATMUL_TN:
      matmul(op, in, out[0]);
      return 1;
    case PLIM_OP_EMBEDDING:
      embedding(op, in, out[0]);
      return 1;
    case PLIM_OP_EMBEDDING_BWD:
      embedding_bwd(op, in, out);
      return 1;
    case PLIM_OP_ATTENTION:
    case PLIM_OP_ATTENTION_BWD:
      attention(op, in, out);
      return 1;
    case PLIM_OP_LINEAR_XENT:
      linear_xent(op, in, out);
      return 1;
    case PLIM_OP_LINEAR_XENT_BWD:
      linear_xent_bwd(op, in, out);
      return 1;
    case PLIM_OP_ADAM:
    case PLIM_OP_ADAMW:
      adam(op, in, upd_before, upd);
      return 1;
    case PLIM_OP_SUM_SQUARES:
      sum_squares(op, in, out[0]);
      return 1;
    case PLIM_OP_ACCUMULATE:
      accumulate(op, in, out[0]);
      return 1;
    case PLIM_OP_MEAN_LOSS:
      mean_loss(op, in, out);
      return 1;
    default:
      return 0;
  }
}

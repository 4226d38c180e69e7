#include "tests/support/product_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/kernel_reference.h"
#include "tests/support/op_memory.h"

/* The convolution as one set of triples (x, w, y) that are multiplied and added; each direction sums over it. */
typedef void triple(void *user, int64_t x, int64_t w, int64_t y);

typedef struct conv {
  const plim_shape *x, *w, *y;
  const plim_attrs *attrs;
  triple *visit;
  void *user;
  int depthwise;
} conv;

static void visit_window(const conv *c, int64_t n, int64_t o, int64_t row, int64_t column) {
  int64_t y = op_element(c->y, n, o, row, column);
  for (int64_t input = 0; input < c->w->dim[1]; input++) {
    const int64_t i = c->depthwise ? o : input;
    for (int64_t kh = 0; kh < c->w->dim[2]; kh++) {
      int64_t h = row * c->attrs->stride[0] - c->attrs->pad[0] + kh;
      if (h < 0 || h >= c->x->dim[2]) continue;
      for (int64_t kw = 0; kw < c->w->dim[3]; kw++) {
        int64_t w = column * c->attrs->stride[1] - c->attrs->pad[1] + kw;
        if (w < 0 || w >= c->x->dim[3]) continue;
        c->visit(c->user, op_element(c->x, n, i, h, w), op_element(c->w, o, input, kh, kw), y);
      }
    }
  }
}

static void visit_all(const conv *c) {
  for (int64_t n = 0; n < c->y->dim[0]; n++) {
    for (int64_t o = 0; o < c->y->dim[1]; o++) {
      for (int64_t row = 0; row < c->y->dim[2]; row++) {
        for (int64_t column = 0; column < c->y->dim[3]; column++) visit_window(c, n, o, row, column);
      }
    }
  }
}

typedef struct sums {
  const float *a, *b;
  double *out;
} sums;

static void add_y(void *user, int64_t x, int64_t w, int64_t y) {
  sums *s = user;
  s->out[y] += (double)s->a[x] * s->b[w];
}
static void add_x(void *user, int64_t x, int64_t w, int64_t y) {
  sums *s = user;
  s->out[x] += (double)s->a[y] * s->b[w];
}
static void add_w(void *user, int64_t x, int64_t w, int64_t y) {
  sums *s = user;
  s->out[w] += (double)s->a[y] * s->b[x];
}

static void conv_bias(const plim_op_desc *d, const float *bias, double *out) {
  const plim_shape *y = &d->out[0];
  for (int64_t n = 0; n < y->dim[0]; n++) {
    for (int64_t o = 0; o < y->dim[1]; o++) {
      for (int64_t h = 0; h < y->dim[2]; h++) {
        for (int64_t w = 0; w < y->dim[3]; w++) out[op_element(y, n, o, h, w)] += bias[o];
      }
    }
  }
}

/* out[i][j] = sum over k of a(i,k) b(k,j), operands read by strides. */
static void matrix_product(const plim_op_desc *d, float *const *in, double *out) {
  const plim_shape *y = &d->out[0];
  int64_t rows = y->dim[0], columns = y->dim[1];
  int transposed = d->kind == PLIM_OP_LINEAR_BWD_WEIGHTS; /* the first operand */
  int64_t inner = transposed ? d->in[0].dim[0] : d->in[0].dim[1];
  const float *a = in[0], *b = in[1], *bias = d->n_in > 2 ? in[2] : NULL;
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < columns; j++) {
      double sum = bias ? bias[j] : 0;
      for (int64_t k = 0; k < inner; k++) {
        double left = transposed ? a[k * rows + i] : a[i * inner + k];
        sum += left * (d->kind == PLIM_OP_LINEAR ? b[j * inner + k] : b[k * columns + j]);
      }
      out[i * columns + j] = sum;
    }
  }
}

/* The same for each index of the sizes before the last two; operands may be strided. */
static void matrix_products(const plim_op_desc *d, float *const *in, double *out) {
  const plim_shape *a = &d->in[0], *b = &d->in[1], *y = &d->out[0];
  const int tn = d->kind == PLIM_OP_MATMUL_TN, nt = d->kind == PLIM_OP_MATMUL_NT;
  const int64_t rows = y->dim[2], columns = y->dim[3], depth = a->dim[tn ? 2 : 3];
  for (int64_t e = 0; e < plim_shape_elements(y); e++) {
    const int64_t product = e / (rows * columns), i = e / columns % rows, j = e % columns;
    for (int64_t k = 0; k < depth; k++) {
      const int64_t at_a = product * rows * depth + (tn ? k * rows + i : i * depth + k);
      const int64_t at_b = product * columns * depth + (nt ? j * depth + k : k * columns + j);
      out[e] += (double)in[0][reference_address(a, at_a)] * in[1][reference_address(b, at_b)];
    }
  }
}

/* Element e in order of memory. */
static float element(const plim_shape *shape, const void *memory, int64_t e) {
  return shape->dtype == PLIM_BF16 ? (float)reference_of_bf16(((const uint16_t *)memory)[e])
                                   : ((const float *)memory)[e];
}

static void run(const plim_op_desc *d, float *const *in, double *out) {
  const int depthwise = d->kind >= PLIM_OP_DEPTHWISE_CONV2D && d->kind <= PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS;
  sums s = {in[0], in[1], out};
  switch (d->kind) {
    case PLIM_OP_DEPTHWISE_CONV2D:
    case PLIM_OP_CONV2D:
      visit_all(&(conv){&d->in[0], &d->in[1], &d->out[0], &d->attrs, add_y, &s, depthwise});
      if (d->n_in > 2) conv_bias(d, in[2], out);
      return;
    case PLIM_OP_DEPTHWISE_CONV2D_BWD_DATA:
    case PLIM_OP_CONV_TRANSPOSE2D:
    case PLIM_OP_CONV2D_BWD_DATA:
      visit_all(&(conv){&d->out[0], &d->in[1], &d->in[0], &d->attrs, add_x, &s, depthwise});
      return;
    case PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS:
    case PLIM_OP_CONV2D_BWD_WEIGHTS:
      visit_all(&(conv){&d->in[1], &d->out[0], &d->in[0], &d->attrs, add_w, &s, depthwise});
      return;
    case PLIM_OP_MATMUL:
    case PLIM_OP_MATMUL_NT:
    case PLIM_OP_MATMUL_TN:
      matrix_products(d, in, out);
      return;
    default:
      matrix_product(d, in, out);
  }
}

/* An operand as floats, in its order of memory. */
static float *widened(const plim_shape *shape, const void *memory) {
  const int64_t n = plim_shape_bytes(shape) / (shape->dtype == PLIM_BF16 ? 2 : 4);
  float *wide = calloc((size_t)n, sizeof *wide);
  if (!wide) abort();
  for (int64_t e = 0; e < n; e++) wide[e] = element(shape, memory, e);
  return wide;
}

void product_reference(const plim_op_desc *d, void *const *in, double *out) {
  float *const wide[] = {widened(&d->in[0], in[0]), widened(&d->in[1], in[1]),
                         d->n_in > 2 ? widened(&d->in[2], in[2]) : NULL};
  memset(out, 0, (size_t)plim_shape_elements(&d->out[0]) * sizeof *out);
  run(d, wide, out);
  for (int i = 0; i < 3; i++) free(wide[i]);
}

double relative_rms(const plim_shape *shape, const void *actual, const double *expected) {
  double error = 0, size = 0;
  for (int64_t i = 0; i < plim_shape_elements(shape); i++) {
    double off = (double)element(shape, actual, i) - expected[i];
    error += off * off;
    size += expected[i] * expected[i];
  }
  return size > 0 ? sqrt(error / size) : sqrt(error);
}

/* Convolution and pooling by definition: for every output position and every position of its window, forward or, for
 * gradients, scattered back. */
#include "tests/support/kernel_reference_window.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "tests/support/kernel_reference.h"

/* One (image, output position, window position) with the input position that it falls on. */
typedef struct tap {
  int64_t n, oh, ow, ih, iw;
  int position; /* in the window, row-major */
} tap;

typedef struct window {
  const plim_op_desc *op;
  const plim_shape *x, *y; /* the larger image and the smaller one, by role */
  void *const *in;
  double **out;
  double counts; /* elements of a window, padding included */
} window;

static double get(const window *w, int operand, int64_t i) {
  return reference_get(&w->op->in[operand], w->in[operand], i);
}

static int64_t x_index(const window *w, const tap *t, int64_t c) {
  return ((t->n * w->x->dim[1] + c) * w->x->dim[2] + t->ih) * w->x->dim[3] + t->iw;
}

static int64_t y_index(const window *w, const tap *t, int64_t c) {
  return ((t->n * w->y->dim[1] + c) * w->y->dim[2] + t->oh) * w->y->dim[3] + t->ow;
}

static void conv_tap(const window *w, const tap *t) {
  const int64_t inputs = w->x->dim[1], outputs = w->y->dim[1];
  const int64_t taps = (int64_t)w->op->attrs.kernel[0] * w->op->attrs.kernel[1];
  for (int64_t o = 0; o < outputs; o++) {
    for (int64_t i = 0; i < inputs; i++) {
      const int64_t weight = (o * inputs + i) * taps + t->position;
      const int64_t at_x = x_index(w, t, i), at_y = y_index(w, t, o);
      if (w->op->kind == PLIM_OP_CONV2D) w->out[0][at_y] += get(w, 0, at_x) * get(w, 1, weight);
      if (w->op->kind == PLIM_OP_CONV2D_BWD_DATA) w->out[0][at_x] += get(w, 0, at_y) * get(w, 1, weight);
      if (w->op->kind == PLIM_OP_CONV2D_BWD_WEIGHTS) w->out[0][weight] += get(w, 0, at_y) * get(w, 1, at_x);
    }
  }
}

static void depthwise_tap(const window *w, const tap *t) {
  const int64_t taps = (int64_t)w->op->attrs.kernel[0] * w->op->attrs.kernel[1];
  for (int64_t c = 0; c < w->x->dim[1]; c++) {
    const int64_t weight = c * taps + t->position, at_x = x_index(w, t, c), at_y = y_index(w, t, c);
    if (w->op->kind == PLIM_OP_DEPTHWISE_CONV2D) w->out[0][at_y] += get(w, 0, at_x) * get(w, 1, weight);
    if (w->op->kind == PLIM_OP_DEPTHWISE_CONV2D_BWD_DATA) w->out[0][at_x] += get(w, 0, at_y) * get(w, 1, weight);
    if (w->op->kind == PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS) w->out[0][weight] += get(w, 0, at_y) * get(w, 1, at_x);
  }
}

/* y is the larger image: each element of x is scattered over a window of it. */
static void transposed_tap(const window *w, const tap *t) {
  const int64_t inputs = w->y->dim[1], outputs = w->x->dim[1];
  const int64_t taps = (int64_t)w->op->attrs.kernel[0] * w->op->attrs.kernel[1];
  for (int64_t i = 0; i < inputs; i++) {
    for (int64_t o = 0; o < outputs; o++) {
      w->out[0][x_index(w, t, o)] += get(w, 0, y_index(w, t, i)) * get(w, 1, (i * outputs + o) * taps + t->position);
    }
  }
}

static void pool_tap(const window *w, const tap *t) {
  for (int64_t c = 0; c < w->x->dim[1]; c++) {
    const int64_t at_x = x_index(w, t, c), at_y = y_index(w, t, c);
    switch (w->op->kind) {
      case PLIM_OP_MAX_POOL:
        if (get(w, 0, at_x) > w->out[0][at_y]) {
          w->out[0][at_y] = get(w, 0, at_x);
          w->out[1][at_y] = t->position;
        }
        break;
      case PLIM_OP_MAX_POOL_BWD:
        if (get(w, 1, at_y) == t->position) w->out[0][at_x] += get(w, 0, at_y);
        break;
      case PLIM_OP_AVG_POOL:
        w->out[0][at_y] += get(w, 0, at_x) / w->counts;
        break;
      default:
        w->out[0][at_x] += get(w, 0, at_y) / w->counts;
    }
  }
}

static void each_tap(const window *w, void (*visit)(const window *, const tap *)) {
  const plim_attrs *a = &w->op->attrs;
  tap t;
  for (t.n = 0; t.n < w->y->dim[0]; t.n++) {
    for (t.oh = 0; t.oh < w->y->dim[2]; t.oh++) {
      for (t.ow = 0; t.ow < w->y->dim[3]; t.ow++) {
        for (t.position = 0; t.position < a->kernel[0] * a->kernel[1]; t.position++) {
          t.ih = t.oh * a->stride[0] - a->pad[0] + t.position / a->kernel[1];
          t.iw = t.ow * a->stride[1] - a->pad[1] + t.position % a->kernel[1];
          if (t.ih >= 0 && t.iw >= 0 && t.ih < w->x->dim[2] && t.iw < w->x->dim[3]) visit(w, &t);
        }
      }
    }
  }
}

/* What an output holds before the first tap: the bias, minus infinity under a maximum, else 0. */
static void start(const window *w) {
  const plim_op_desc *op = w->op;
  for (int o = 0; o < op->n_out; o++) {
    for (int64_t i = 0; i < plim_shape_elements(&op->out[o]); i++) {
      w->out[o][i] = o == 0 && op->kind == PLIM_OP_MAX_POOL ? -INFINITY : 0;
      if (op->kind == PLIM_OP_CONV2D && op->n_in > 2) {
        w->out[o][i] = get(w, 2, i / (w->y->dim[2] * w->y->dim[3]) % w->y->dim[1]);
      }
    }
  }
}

void reference_run_window(const plim_op_desc *op, void *const *in, double **out) {
  window w = {op, NULL, NULL, in, out, (double)op->attrs.kernel[0] * op->attrs.kernel[1]};
  switch (op->kind) {
    case PLIM_OP_CONV2D:
    case PLIM_OP_DEPTHWISE_CONV2D:
    case PLIM_OP_MAX_POOL:
    case PLIM_OP_AVG_POOL:
      w.x = &op->in[0];
      w.y = &op->out[0];
      break;
    case PLIM_OP_CONV2D_BWD_DATA:
    case PLIM_OP_CONV_TRANSPOSE2D:
    case PLIM_OP_DEPTHWISE_CONV2D_BWD_DATA:
    case PLIM_OP_MAX_POOL_BWD:
    case PLIM_OP_AVG_POOL_BWD:
      w.x = &op->out[0];
      w.y = &op->in[0];
      break;
    default:
      assert(op->kind == PLIM_OP_CONV2D_BWD_WEIGHTS || op->kind == PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS);
      w.x = &op->in[1];
      w.y = &op->in[0];
  }
  start(&w);
  const int conv = op->kind >= PLIM_OP_CONV2D && op->kind <= PLIM_OP_CONV2D_BWD_WEIGHTS;
  const int depthwise = op->kind >= PLIM_OP_DEPTHWISE_CONV2D && op->kind <= PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS;
  const int transposed = op->kind == PLIM_OP_CONV_TRANSPOSE2D;
  each_tap(&w, conv ? conv_tap : depthwise ? depthwise_tap : transposed ? transposed_tap : pool_tap);
}

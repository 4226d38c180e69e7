#include "tests/support/product_cases.h"

#include <stdio.h>
#include <string.h>

typedef struct conv_shape {
  int64_t n, channels, height, width, filters, kernel, stride, pad;
} conv_shape;

static const conv_shape convs[] = {
    {9, 1, 28, 28, 16, 3, 1, 1}, /* stems */
    {2, 3, 32, 32, 16, 3, 1, 1},  {4, 16, 28, 28, 16, 3, 1, 1}, {3, 16, 28, 28, 32, 3, 2, 1},
    {5, 16, 28, 28, 32, 1, 2, 0}, {2, 32, 14, 14, 32, 3, 1, 1}, {9, 32, 14, 14, 64, 1, 2, 0},
    {1, 32, 14, 14, 64, 3, 2, 1}, {2, 64, 7, 7, 64, 3, 1, 1},   {3, 64, 8, 8, 64, 3, 1, 1},
    {1, 16, 7, 9, 16, 3, 1, 0}, /* no padding, not square */
    {7, 32, 5, 5, 16, 1, 1, 0},
};
/* Each channel by itself: what a case has as channels and filters is one number. */
static const conv_shape depthwise[] = {
    {3, 32, 14, 14, 32, 3, 1, 1}, {2, 64, 9, 7, 64, 3, 2, 1}, {2, 16, 8, 8, 16, 5, 1, 2}};
static const int64_t linears[][3] = {{9, 64, 10}, {1, 16, 16}, {32, 100, 48}}; /* images, inputs, units */

/* Products: outer and inner number, rows, columns, depth. */
static const int64_t matmuls[][5] = {{1, 1, 9, 20, 33}, {1, 5, 32, 48, 16}, {2, 3, 17, 24, 64}};

enum {
  CONVS = sizeof convs / sizeof *convs,
  LINEARS = sizeof linears / sizeof *linears,
  MATMULS = sizeof matmuls / sizeof *matmuls,
  MATMUL_FORMS =
      4, /* of matrices, the second transposed, the first; of heads beside each other, the second transposed */
  DEPTHWISE = sizeof depthwise / sizeof *depthwise,
  DEPTHWISE_FORMS = 4, /* forward, backward data, backward weights; a transposed convolution of the same sizes */
  FORMS = 4            /* forward, forward with bias, backward data, backward weights */
};

static void finish(plim_op_desc *d, const plim_op_kind *kinds, int form, plim_shape x, plim_shape w, plim_shape y) {
  d->kind = kinds[form < 2 ? 0 : form - 1];
  d->n_in = form == 1 ? 3 : 2;
  d->n_out = 1;
  d->in[0] = form < 2 ? x : y;
  d->in[1] = form == 3 ? x : w;
  d->in[2] = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, &w.dim[0]);
  d->out[0] = form < 2 ? y : form == 2 ? x : w;
}

static void conv_case(const conv_shape *s, plim_layout layout, int form, plim_op_desc *d) {
  static const plim_op_kind kinds[] = {PLIM_OP_CONV2D, PLIM_OP_CONV2D_BWD_DATA, PLIM_OP_CONV2D_BWD_WEIGHTS};
  plim_layout layout_x = s->channels % plim_layout_block(layout) == 0 ? layout : PLIM_FLAT;
  int64_t height = (s->height + 2 * s->pad - s->kernel) / s->stride + 1;
  int64_t width = (s->width + 2 * s->pad - s->kernel) / s->stride + 1;
  plim_shape x = plim_shape_make(PLIM_F32, layout_x, 4, (int64_t[]){s->n, s->channels, s->height, s->width});
  plim_shape w = plim_shape_make(PLIM_F32, PLIM_FLAT, 4, (int64_t[]){s->filters, s->channels, s->kernel, s->kernel});
  plim_shape y = plim_shape_make(PLIM_F32, layout, 4, (int64_t[]){s->n, s->filters, height, width});
  for (int i = 0; i < 2; i++) {
    d->attrs.kernel[i] = (int32_t)s->kernel;
    d->attrs.stride[i] = (int32_t)s->stride;
    d->attrs.pad[i] = (int32_t)s->pad;
  }
  finish(d, kinds, form, x, w, y);
}

static void depthwise_case(const conv_shape *s, plim_layout layout, int form, plim_op_desc *d) {
  static const plim_op_kind kinds[] = {PLIM_OP_DEPTHWISE_CONV2D, PLIM_OP_DEPTHWISE_CONV2D_BWD_DATA,
                                       PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS, PLIM_OP_CONV_TRANSPOSE2D};
  conv_case(s, layout, form == 0 ? 0 : form == 2 ? 3 : 2, d);
  d->kind = kinds[form];
  if (form < 3) (form == 2 ? &d->out[0] : &d->in[1])->dim[1] = 1;
}

static void linear_case(const int64_t *s, int form, plim_op_desc *d) {
  static const plim_op_kind kinds[] = {PLIM_OP_LINEAR, PLIM_OP_LINEAR_BWD_DATA, PLIM_OP_LINEAR_BWD_WEIGHTS};
  plim_shape x = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){s[0], s[1]});
  plim_shape w = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){s[2], s[1]});
  plim_shape y = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){s[0], s[2]});
  finish(d, kinds, form, x, w, y);
}

/* Heads of tokens, each of `depth` of the 3 heads depth elements of a token. */
static plim_shape heads(const int64_t *s, int64_t tokens) {
  plim_shape shape = plim_shape_make(PLIM_F32, PLIM_FLAT, 4, (int64_t[]){s[0], s[1], tokens, s[4]});
  const int64_t token = 3 * s[1] * s[4], stride[] = {tokens * token, s[4], token, 1};
  memcpy(shape.stride, stride, sizeof stride);
  return shape;
}

static void matmul_case(const int64_t *s, int form, plim_op_desc *d) {
  static const plim_op_kind kinds[] = {PLIM_OP_MATMUL, PLIM_OP_MATMUL_NT, PLIM_OP_MATMUL_TN, PLIM_OP_MATMUL_NT};
  const int tn = form == 2, nt = form == 1;
  const int64_t a[] = {s[0], s[1], tn ? s[4] : s[2], tn ? s[2] : s[4]};
  const int64_t b[] = {s[0], s[1], nt ? s[3] : s[4], nt ? s[4] : s[3]}, y[] = {s[0], s[1], s[2], s[3]};
  *d = (plim_op_desc){.kind = kinds[form], .n_in = 2, .n_out = 1};
  d->in[0] = form == 3 ? heads(s, s[2]) : plim_shape_make(PLIM_F32, PLIM_FLAT, 4, a);
  d->in[1] = form == 3 ? heads(s, s[3]) : plim_shape_make(PLIM_F32, PLIM_FLAT, 4, b);
  d->out[0] = plim_shape_make(PLIM_F32, PLIM_FLAT, 4, y);
}

static int float_case(int index, plim_op_desc *out) {
  const int per_layout = CONVS * FORMS;
  if (index < PLIM_LAYOUT_COUNT * per_layout) {
    int in_layout = index % per_layout;
    conv_case(&convs[in_layout / FORMS], (plim_layout)(index / per_layout), in_layout % FORMS, out);
    return 1;
  }
  index -= PLIM_LAYOUT_COUNT * per_layout;
  if (index < LINEARS * FORMS) {
    linear_case(linears[index / FORMS], index % FORMS, out);
    return 1;
  }
  index -= LINEARS * FORMS;
  const int of_layout = DEPTHWISE * DEPTHWISE_FORMS;
  if (index < PLIM_LAYOUT_COUNT * of_layout) {
    depthwise_case(&depthwise[index % of_layout / DEPTHWISE_FORMS], (plim_layout)(index / of_layout),
                   index % DEPTHWISE_FORMS, out);
    return 1;
  }
  index -= PLIM_LAYOUT_COUNT * of_layout;
  if (index >= MATMULS * MATMUL_FORMS) return 0;
  matmul_case(matmuls[index / MATMUL_FORMS], index % MATMUL_FORMS, out);
  return 1;
}

/* Of floats all cases, of bf16 the forms of every third shape: what their kernels have in common is tried enough. */
int product_case(int index, plim_op_desc *out) {
  const int depthwise_cases = PLIM_LAYOUT_COUNT * DEPTHWISE * DEPTHWISE_FORMS;
  const int cases = PLIM_LAYOUT_COUNT * CONVS * FORMS + LINEARS * FORMS + depthwise_cases + MATMULS * MATMUL_FORMS;
  const int half = index - cases;
  memset(out, 0, sizeof *out);
  if (half < 0) return float_case(index, out);
  if (!float_case(half / FORMS * 3 * FORMS + half % FORMS, out)) return 0;
  out->in[0].dtype = out->in[1].dtype = PLIM_BF16;
  const int is_weights = out->kind == PLIM_OP_CONV2D_BWD_WEIGHTS || out->kind == PLIM_OP_LINEAR_BWD_WEIGHTS ||
                         out->kind == PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS;
  if (!is_weights) out->out[0].dtype = PLIM_BF16; /* gradients of weights are floats */
  return 1;
}

const char *product_case_text(const plim_op_desc *d) {
  static char text[160];
  int n = snprintf(text, sizeof text, "%s %s", plim_dtype_name(d->in[0].dtype), plim_op_kind_name(d->kind));
  for (int i = 0; i <= d->n_in && n < (int)sizeof text; i++) {
    const plim_shape *s = i < d->n_in ? &d->in[i] : &d->out[0];
    n += snprintf(text + n, sizeof text - (size_t)n, "%s%s", i < d->n_in ? " " : " -> ", plim_layout_name(s->layout));
    for (int k = 0; k < s->rank && n < (int)sizeof text; k++)
      n += snprintf(text + n, sizeof text - (size_t)n, "%c%lld", k ? 'x' : ' ', (long long)s->dim[k]);
  }
  if (n < (int)sizeof text)
    snprintf(text + n, sizeof text - (size_t)n, " stride %d pad %d", d->attrs.stride[0], d->attrs.pad[0]);
  return text;
}

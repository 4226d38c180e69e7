/* Pooling and the single-source convolution. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/launch.h"
#include "tests/support/kernel_check.h"
#include "tests/support/kernel_reference.h"
#include "tests/support/kernel_samples.h"
#include "tests/support/test_random.h"

static const plim_layout layouts[] = {PLIM_FLAT, PLIM_NHWC, PLIM_NCHW8C, PLIM_NCHW16C};
enum { LAYOUTS = 4 };

/* Image height and width, window by rows and columns: overlapping, apart, padded, larger than wide, one position. */
static const struct {
  int height, width, kernel[2], stride[2], pad[2];
} windows[] = {
    {7, 5, {3, 3}, {1, 1}, {1, 1}}, {8, 9, {2, 2}, {2, 2}, {0, 0}},  {7, 8, {3, 3}, {2, 2}, {1, 1}},
    {9, 5, {1, 4}, {3, 2}, {0, 2}}, {5, 5, {5, 5}, {1, 1}, {0, 0}},  {6, 13, {2, 3}, {1, 2}, {1, 1}},
    {1, 1, {1, 1}, {1, 1}, {0, 0}}, {4, 17, {1, 1}, {2, 2}, {0, 0}},
};
enum { WINDOWS = sizeof windows / sizeof *windows };

static plim_attrs attrs_at(int i) {
  plim_attrs a = {.eps = 0};
  memcpy(a.kernel, windows[i].kernel, sizeof a.kernel);
  memcpy(a.stride, windows[i].stride, sizeof a.stride);
  memcpy(a.pad, windows[i].pad, sizeof a.pad);
  return a;
}

static plim_shape large(int i, plim_layout layout, int64_t n, int64_t c) {
  return kernel_activation(layout, n, c, windows[i].height, windows[i].width);
}

static plim_shape small(int i, plim_layout layout, int64_t n, int64_t c) {
  const plim_attrs a = attrs_at(i);
  return kernel_activation(layout, n, c, (windows[i].height + 2 * a.pad[0] - a.kernel[0]) / a.stride[0] + 1,
                           (windows[i].width + 2 * a.pad[1] - a.kernel[1]) / a.stride[1] + 1);
}

/* A channel count that suits a layout: 3 or 5 where any does. */
static int64_t channels(plim_layout layout, int64_t any) {
  return plim_layout_block(layout) > 1 ? plim_layout_block(layout) * (any > 4 ? 2 : 1) : any;
}

static void check(plim_op_desc op, int window, double tolerance) {
  op.attrs = attrs_at(window);
  kernel_check(&op, (uint64_t)window + 1, tolerance);
}

Test(kernels_window, max_pooling_finds_the_largest_and_where_it_was) {
  for (int l = 0; l < LAYOUTS; l++) {
    for (int i = 0; i < WINDOWS; i++) {
      const int64_t c = channels(layouts[l], i % 2 ? 3 : 24);
      const plim_shape x = large(i, layouts[l], 2, c), y = small(i, layouts[l], 2, c);
      plim_op_desc forward = kernel_op(PLIM_OP_MAX_POOL, 1, 2, x, y),
                   backward = kernel_op(PLIM_OP_MAX_POOL_BWD, 2, 1, y, x);
      forward.out[1] = backward.in[1] = y;
      forward.out[1].dtype = backward.in[1].dtype = PLIM_U8;
      check(forward, i, 0);
      check(backward, i, 1e-6);
    }
  }
}

Test(kernels_window, average_pooling_counts_padding_as_zeros) {
  for (int l = 0; l < LAYOUTS; l++) {
    for (int i = 0; i < WINDOWS; i++) {
      const int64_t c = channels(layouts[l], i % 2 ? 3 : 24);
      const plim_shape x = large(i, layouts[l], 2, c), y = small(i, layouts[l], 2, c);
      check(kernel_op(PLIM_OP_AVG_POOL, 1, 1, x, y), i, 1e-6);
      check(kernel_op(PLIM_OP_AVG_POOL_BWD, 1, 1, y, x), i, 1e-6);
    }
  }
}

Test(kernels_window, convolution_and_its_gradients_match_the_reference) {
  for (int l = 0; l < LAYOUTS; l++) {
    for (int i = 0; i < WINDOWS; i++) {
      const int64_t inputs = channels(layouts[l], i % 3 ? 3 : 10), outputs = channels(layouts[l], i % 2 ? 5 : 18);
      const plim_shape x = large(i, layouts[l], 2, inputs), y = small(i, layouts[l], 2, outputs);
      const plim_shape w = kernel_shape(PLIM_F32, 4, outputs, inputs, windows[i].kernel[0], windows[i].kernel[1]);
      plim_op_desc forward = kernel_op(PLIM_OP_CONV2D, 2, 1, x, y),
                   data = kernel_op(PLIM_OP_CONV2D_BWD_DATA, 2, 1, y, x),
                   weights = kernel_op(PLIM_OP_CONV2D_BWD_WEIGHTS, 2, 1, y, w);
      forward.in[1] = data.in[1] = w;
      weights.in[1] = x;
      check(forward, i, 2e-6);
      forward.in[forward.n_in++] = kernel_shape(PLIM_F32, 1, outputs, 1, 1, 1);
      check(forward, i, 2e-6);
      check(data, i, 2e-6);
      check(weights, i, 2e-6);
    }
  }
}

Test(kernels_window, depthwise_convolution_and_its_gradients_match_the_reference) {
  for (int l = 0; l < LAYOUTS; l++) {
    for (int i = 0; i < WINDOWS; i++) {
      const int64_t c = channels(layouts[l], i % 3 ? 27 : 8);
      const plim_shape x = large(i, layouts[l], 18, c), y = small(i, layouts[l], 18, c);
      const plim_shape w = kernel_shape(PLIM_F32, 4, c, 1, windows[i].kernel[0], windows[i].kernel[1]);
      plim_op_desc forward = kernel_op(PLIM_OP_DEPTHWISE_CONV2D, 2, 1, x, y),
                   data = kernel_op(PLIM_OP_DEPTHWISE_CONV2D_BWD_DATA, 2, 1, y, x),
                   weights = kernel_op(PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS, 2, 1, y, w);
      forward.in[1] = data.in[1] = w;
      weights.in[1] = x;
      check(forward, i, 2e-6);
      check(data, i, 2e-6);
      check(weights, i, 3e-6);
    }
  }
}

/* A plane of more elements than a thread block copies, in both directions; a filter as long as is allowed; strides that
 * leave one position. */
Test(kernels_window, depthwise_convolution_takes_large_planes_in_pieces) {
  static const struct {
    int64_t height, width;
    int32_t kernel[2], stride[2], pad[2];
  } cases[] = {{90, 70, {3, 3}, {1, 1}, {1, 1}},
               {1, 5003, {1, 5}, {1, 1}, {0, 2}},
               {4100, 3, {3, 3}, {2, 2}, {1, 1}},
               {77, 80, {7, 7}, {3, 2}, {3, 3}},
               {3, 2100, {1, 1024}, {1, 3}, {0, 512}},
               {70, 70, {1, 1}, {9, 70}, {0, 0}},
               {8, 8, {3, 3}, {INT32_MAX, 1000000}, {1, 1}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int64_t rows = (cases[i].height + 2 * cases[i].pad[0] - cases[i].kernel[0]) / cases[i].stride[0] + 1;
    const int64_t columns = (cases[i].width + 2 * cases[i].pad[1] - cases[i].kernel[1]) / cases[i].stride[1] + 1;
    const plim_shape x = kernel_activation(PLIM_FLAT, 1, 2, cases[i].height, cases[i].width);
    const plim_shape y = kernel_activation(PLIM_FLAT, 1, 2, rows, columns);
    const plim_shape w = kernel_shape(PLIM_F32, 4, 2, 1, cases[i].kernel[0], cases[i].kernel[1]);
    plim_op_desc op[] = {kernel_op(PLIM_OP_DEPTHWISE_CONV2D, 2, 1, x, y),
                         kernel_op(PLIM_OP_DEPTHWISE_CONV2D_BWD_DATA, 2, 1, y, x),
                         kernel_op(PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS, 2, 1, y, w)};
    op[0].in[1] = op[1].in[1] = w;
    op[2].in[1] = x;
    for (int k = 0; k < 3; k++) {
      memcpy(op[k].attrs.kernel, cases[i].kernel, sizeof cases[i].kernel);
      memcpy(op[k].attrs.stride, cases[i].stride, sizeof cases[i].stride);
      memcpy(op[k].attrs.pad, cases[i].pad, sizeof cases[i].pad);
      kernel_check(&op[k], i, 1e-5);
    }
  }
}

Test(kernels_window, transposed_convolution_matches_the_reference) {
  for (int l = 0; l < LAYOUTS; l++) {
    for (int i = 0; i < WINDOWS; i++) {
      const int64_t inputs = channels(layouts[l], i % 2 ? 5 : 18), outputs = channels(layouts[l], i % 3 ? 3 : 10);
      plim_op_desc op =
          kernel_op(PLIM_OP_CONV_TRANSPOSE2D, 2, 1, small(i, layouts[l], 2, inputs), large(i, layouts[l], 2, outputs));
      op.in[1] = kernel_shape(PLIM_F32, 4, inputs, outputs, windows[i].kernel[0], windows[i].kernel[1]);
      check(op, i, 2e-6);
    }
  }
}

/* ---- gradients against differences of the reference, in double ---- */

static double objective(const plim_op_desc *op, void *const *in, const float *dy, double *y) {
  double sum = 0;
  double *out[] = {y};
  reference_run(op, in, NULL, NULL, out, NULL);
  for (int64_t i = 0; i < plim_shape_elements(&op->out[0]); i++) sum += y[i] * (double)dy[i];
  return sum;
}

/* The slope of the objective along a random direction of an operand is the gradient times that direction. */
static void expect_slope(const plim_op_desc *op, kernel_operands *o, int operand, const float *dy,
                         const float *gradient, uint64_t seed) {
  const int64_t n = plim_shape_elements(&op->in[operand]);
  double *y = calloc((size_t)plim_shape_elements(&op->out[0]), sizeof *y), expected = 0, size = 0, at[2];
  float *x = o->in[operand], *before = malloc((size_t)n * sizeof *before);
  signed char *direction = malloc((size_t)n);
  cr_assert(y && before && direction);
  memcpy(before, x, (size_t)n * sizeof *x);
  for (int64_t i = 0; i < n; i++) {
    direction[i] = (signed char)test_random_between(&seed, -1, 1);
    expected += direction[i] * (double)gradient[i];
    size += fabs((double)gradient[i]);
  }
  for (int k = 0; k < 2; k++) { /* the op is linear in each operand: any step will do that floats hold */
    for (int64_t i = 0; i < n; i++) x[i] = (float)(k ? 1 : -1) * direction[i];
    at[k] = objective(op, o->in, dy, y);
  }
  memcpy(x, before, (size_t)n * sizeof *x);
  const double slope = (at[1] - at[0]) / 2;
  cr_assert(fabs(slope - expected) < 1e-6 * size, "%s, input %d: a slope of %g, not %g", plim_op_kind_name(op->kind),
            operand, slope, expected);
  free(direction);
  free(before);
  free(y);
}

static const struct {
  plim_op_kind forward, by_x, by_w;
  int transposed; /* 1: the gradient by w reads x first */
} slopes[] = {
    {PLIM_OP_DEPTHWISE_CONV2D, PLIM_OP_DEPTHWISE_CONV2D_BWD_DATA, PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS, 0},
    {PLIM_OP_CONV_TRANSPOSE2D, PLIM_OP_CONV2D, PLIM_OP_CONV2D_BWD_WEIGHTS, 1},
};

Test(kernels_window, gradients_of_convolutions_are_their_slopes) {
  for (int i = 0; i < 2 * LAYOUTS; i++) {
    const plim_op_desc f = kernel_sample(slopes[i / LAYOUTS].forward, layouts[i % LAYOUTS]);
    plim_op_desc by_x = f, by_w = f;
    kernel_operands o, g, w;
    by_x.kind = slopes[i / LAYOUTS].by_x;
    by_x.in[0] = f.out[0];
    by_x.out[0] = f.in[0];
    by_w.kind = slopes[i / LAYOUTS].by_w;
    by_w.in[0] = slopes[i / LAYOUTS].transposed ? f.in[0] : f.out[0];
    by_w.in[1] = slopes[i / LAYOUTS].transposed ? f.out[0] : f.in[0];
    by_w.out[0] = f.in[1];
    kernel_operands_make(&f, 1, 0, &o);
    kernel_operands_make(&by_x, 2, 0, &g);
    kernel_operands_make(&by_w, 3, 0, &w);
    const float *dy = g.in[0];
    memcpy(g.in[1], o.in[1], (size_t)plim_shape_bytes(&f.in[1]));
    memcpy(w.in[0], slopes[i / LAYOUTS].transposed ? o.in[0] : g.in[0], (size_t)plim_shape_bytes(&by_w.in[0]));
    memcpy(w.in[1], slopes[i / LAYOUTS].transposed ? g.in[0] : o.in[0], (size_t)plim_shape_bytes(&by_w.in[1]));
    kernel_run_once(&by_x, NULL, "single-source", 1, 0, &g);
    kernel_run_once(&by_w, NULL, "single-source", 1, 0, &w);
    /* in logical order, as the reference has its results: flat and the weights as they lie */
    float *logical = malloc((size_t)plim_shape_bytes(&f.out[0]));
    cr_assert(logical);
    for (int64_t e = 0; e < plim_shape_elements(&f.out[0]); e++) logical[e] = dy[reference_address(&f.out[0], e)];
    expect_slope(&f, &o, 0, logical, g.out[0], (uint64_t)i);
    expect_slope(&f, &o, 1, logical, w.out[0], (uint64_t)i);
    free(logical);
    kernel_operands_free(&f, &o);
    kernel_operands_free(&by_x, &g);
    kernel_operands_free(&by_w, &w);
  }
}

/* Parts of one channel, of few, of more than a vector holds, of more than a tile has. */
Test(kernels_window, concatenation_and_its_gradient_copy_every_element) {
  static const int64_t parts[][3] = {{1, 2, 3}, {16, 8, 40}, {5, 1, 300}, {64, 32, 32}};
  for (int l = 0; l < LAYOUTS; l++) {
    for (int i = 0; i < 4; i++) {
      const int64_t block = plim_layout_block(layouts[l]), side = i == 1 ? 11 : 3;
      plim_op_desc concat = {.kind = PLIM_OP_CONCAT, .n_in = 3, .n_out = 1};
      plim_op_desc split = {.kind = PLIM_OP_SPLIT, .n_in = 1, .n_out = 3};
      int64_t all = 0;
      for (int p = 0; p < 3; p++) {
        const int64_t c = (parts[i][p] + block - 1) / block * block;
        concat.in[p] = split.out[p] = kernel_activation(layouts[l], 2, c, side, 4);
        all += c;
      }
      concat.out[0] = split.in[0] = kernel_activation(layouts[l], 2, all, side, 4);
      kernel_check(&concat, 1, 0);
      kernel_check(&split, 1, 0);
    }
  }
  plim_op_desc rows = {.kind = PLIM_OP_CONCAT, .n_in = 2, .n_out = 1};
  rows.in[0] = kernel_activation(PLIM_FLAT, 7, 5, 0, 0);
  rows.in[1] = kernel_activation(PLIM_FLAT, 7, 9, 0, 0);
  rows.out[0] = kernel_activation(PLIM_FLAT, 7, 14, 0, 0);
  kernel_check(&rows, 1, 0);
}

Test(kernels_window, convolution_may_change_the_layout) {
  for (int from = 0; from < LAYOUTS; from++) {
    for (int to = 0; to < LAYOUTS; to++) {
      const plim_shape x = large(0, layouts[from], 1, 16), y = small(0, layouts[to], 1, 32);
      plim_op_desc op = kernel_op(PLIM_OP_CONV2D, 2, 1, x, y);
      op.in[1] = kernel_shape(PLIM_F32, 4, 32, 16, 3, 3);
      check(op, 0, 2e-6);
    }
  }
}

Test(kernels_window, windows_that_do_not_fit_are_not_served) {
  plim_kernel_table *table = NULL;
  cr_assert_eq(plim_kernel_table_new(NULL, NULL, &table), PLIM_KERNEL_OK);
  plim_op_desc op = kernel_op(PLIM_OP_AVG_POOL, 1, 1, large(2, PLIM_NHWC, 2, 4), small(2, PLIM_NHWC, 2, 4));
  op.attrs = attrs_at(2);
  cr_assert_eq(plim_kernel_list(table, &op, 1, NULL, 0), 1);
  op.attrs.pad[0] = 3; /* a window in the padding alone */
  cr_assert_eq(plim_kernel_list(table, &op, 1, NULL, 0), 0);
  op.attrs.pad[0] = 1;
  op.attrs.stride[1] = 0;
  cr_assert_eq(plim_kernel_list(table, &op, 1, NULL, 0), 0);
  op.attrs.stride[1] = 2;
  op.out[0].dim[3]++; /* a column too many */
  cr_assert_eq(plim_kernel_list(table, &op, 1, NULL, 0), 0);
  op.in[0].dim[2] = op.in[0].dim[3] = op.out[0].dim[2] = op.out[0].dim[3] = 1;
  for (int i = 0; i < 2; i++) { /* one window, whose area is no int */
    op.attrs.kernel[i] = op.attrs.stride[i] = 65536;
    op.attrs.pad[i] = 65535;
  }
  cr_assert_eq(plim_kernel_list(table, &op, 1, NULL, 0), 0);
  plim_kernel_table_free(table);
}

/* One channel of sums: its weights are filled up to K_WIDTH channels. */
Test(kernels_window, weights_whose_reordered_copy_has_more_bytes_than_63_bits_count_are_not_served) {
  const int64_t sizes[] = {INT64_C(1) << 50, INT64_C(1) << 58};
  for (int i = 0; i < 2; i++) {
    plim_op_desc op = kernel_op(PLIM_OP_CONV2D, 2, 1, kernel_shape(PLIM_F32, 4, 1, sizes[i], 1, 1),
                                kernel_shape(PLIM_F32, 4, 1, 1, 1, 1));
    k_launch launch;
    op.attrs = attrs_at(6);
    op.in[1] = kernel_shape(PLIM_F32, 4, 1, sizes[i], 1, 1);
    cr_assert_eq(k_launch_make(&op, &launch), i == 0);
    if (i == 0) cr_assert_eq(launch.workspace_bytes, sizes[i] * 16 * 4);
  }
}

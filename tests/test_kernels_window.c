/* Pooling and the single-source convolution. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "kernels/launch.h"
#include "tests/support/kernel_check.h"

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

/* Launches of convolutions, with matrix products as their special case. */
#include "kernels/conv_tiles.h"
#include "kernels/launch.h"

/* Multiply-adds of a convolution, as elements of an elementwise op. */
static double conv_elements(const k_call *call) {
  return (double)k_taps(call) * (double)call->x.channels * k_view_elements(&call->y) / K_PRODUCT_ELEMENTS;
}

/* From x to y (backward: from y to x): the weights reordered into the workspace, then rows of the result. */
static int conv_rows(k_launch *launch, int backward) {
  k_call *call = &launch->call;
  call->backward = backward;
  const int64_t tiles = k_conv_pack_tiles(call), sources = k_conv_source(call)->channels;
  /* the weights' bytes fit in 63 bits; with the last block filled up they may not */
  if (tiles > INT64_MAX / (K_WIDTH * (int64_t)sizeof(float)) / sources) return 0;
  launch->workspace_bytes = tiles * sources * K_WIDTH * (int64_t)sizeof(float);
  k_launch_add_phase(launch, K_KERNEL_conv_pack, tiles, (double)tiles * (double)sources * K_WIDTH);
  k_launch_add_phase(launch, backward ? K_KERNEL_conv_bwd_data : K_KERNEL_conv, k_conv_row_tiles(k_conv_result(call)),
                     conv_elements(call));
  return 1;
}

static int conv_weights(k_launch *launch) {
  const k_call *call = &launch->call;
  k_launch_add_phase(launch, K_KERNEL_conv_bwd_weights, k_conv_weights_tiles(call), conv_elements(call));
  return 1;
}

/* x, y and the weights [O][I][R][S] of a convolution, by role. */
static int conv(const plim_shape *x, const plim_shape *y, const plim_shape *w, k_launch *launch) {
  const plim_attrs *a = &launch->call.attrs;
  if (w->layout != PLIM_FLAT || w->dim[2] != a->kernel[0] || w->dim[3] != a->kernel[1]) return 0;
  return k_view_make(x, &launch->call.x) && k_view_make(y, &launch->call.y);
}

int k_launch_conv2d(const plim_op_desc *op, k_launch *launch) {
  if (!conv(&op->in[0], &op->out[0], &op->in[1], launch)) return 0;
  return conv_rows(launch, 0);
}

int k_launch_conv2d_bwd_data(const plim_op_desc *op, k_launch *launch) {
  if (!conv(&op->out[0], &op->in[0], &op->in[1], launch)) return 0;
  return conv_rows(launch, 1);
}

int k_launch_conv2d_bwd_weights(const plim_op_desc *op, k_launch *launch) {
  if (!conv(&op->in[1], &op->in[0], &op->out[0], launch)) return 0;
  return conv_weights(launch);
}

static k_view row_image(const plim_shape *matrix) {
  const int64_t rows = matrix->dim[0], columns = matrix->dim[1];
  return (k_view){
      .n = 1, .channels = columns, .groups = 1, .spatial = rows, .block = columns, .height = 1, .width = rows};
}

/* A product of x [N][I] with weights [O][I] is a convolution by one position over an NHWC image of one row of N. */
static void linear(const plim_shape *x, const plim_shape *y, k_launch *launch) {
  plim_attrs *a = &launch->call.attrs;
  for (int i = 0; i < 2; i++) {
    a->kernel[i] = a->stride[i] = 1;
    a->pad[i] = 0;
  }
  launch->call.x = row_image(x);
  launch->call.y = row_image(y);
}

int k_launch_linear(const plim_op_desc *op, k_launch *launch) {
  linear(&op->in[0], &op->out[0], launch);
  return conv_rows(launch, 0);
}

int k_launch_linear_bwd_data(const plim_op_desc *op, k_launch *launch) {
  linear(&op->out[0], &op->in[0], launch);
  return conv_rows(launch, 1);
}

int k_launch_linear_bwd_weights(const plim_op_desc *op, k_launch *launch) {
  linear(&op->in[1], &op->in[0], launch);
  return conv_weights(launch);
}

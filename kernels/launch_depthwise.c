/* Launches of depthwise convolution. Planes are cut into pieces whose copies fit into K_PLANE elements; otherwise the
 * weights are reordered by tap first, and gradients of weights are summed over some images at a time. */
#include "kernels/conv_tiles.h"
#include "kernels/launch.h"

enum { PARTIALS_MAX = 16, IMAGE_SIZE_MAX = 1 << 24 };

/* A stride beyond the padded image leaves one position, as one of its size does. Kernels walk over strides. */
static void limit_stride(k_call *call, int axis, int64_t size) {
  const int64_t padded = size + 2 * (int64_t)call->attrs.pad[axis];
  if (call->attrs.stride[axis] > padded) call->attrs.stride[axis] = (int32_t)padded;
}

/* x, y and the weights, by role. */
static int operands(const plim_shape *x, const plim_shape *y, const plim_shape *w, k_launch *launch) {
  k_call *call = &launch->call;
  if (x->layout != y->layout || w->layout != PLIM_FLAT) return 0;
  if (!k_view_make(x, &launch->call.x) || !k_view_make(y, &launch->call.y)) return 0;
  if (call->x.height > IMAGE_SIZE_MAX || call->x.width > IMAGE_SIZE_MAX) return 0;
  limit_stride(call, 0, call->x.height);
  limit_stride(call, 1, call->x.width);
  return plim_shape_elements(w) <= INT64_MAX / (int64_t)sizeof(float) / PARTIALS_MAX;
}

/* Multiply-adds, as elements of an elementwise op: four take as long as one. */
static double work(const k_call *call) {
  return (double)k_taps(call) * k_view_elements(&call->y) / 4;
}

/* Elements of the copy along an axis under `count` positions of the result, or a few more. */
static int64_t copied(const k_call *call, int axis, int64_t count) {
  const int64_t stride = call->attrs.stride[axis], kernel = call->attrs.kernel[axis];
  if (call->backward) return count + (kernel - 1) / stride + 2;
  return (stride < kernel ? stride : kernel) * (count + (kernel - 1) / stride);
}

/* Choose the pieces of a plane; returns how many there are. */
static int64_t pieces(k_call *call) {
  const k_view *result = k_conv_result(call);
  const plim_attrs *a = &call->attrs;
  const int64_t rows = call->backward ? k_divide_up(result->height, a->stride[0]) : result->height;
  const int64_t columns = call->backward ? k_divide_up(result->width, a->stride[1]) : result->width;
  k_pieces *piece = &call->pieces;
  *piece = (k_pieces){.rows = rows, .columns = columns, .planes = 1};
  while (copied(call, 0, piece->rows) > K_PLANE / copied(call, 1, piece->columns)) {
    if (piece->rows == 1 && piece->columns == 1) return 0;
    if (piece->rows > 1) {
      piece->rows = (piece->rows + 1) / 2;
    } else {
      piece->columns = (piece->columns + 1) / 2;
    }
  }
  return k_divide_up(rows, piece->rows) * k_divide_up(columns, piece->columns);
}

static int add_rows(k_launch *launch, int backward) {
  k_call *call = &launch->call;
  call->backward = backward;
  const k_view *result = k_conv_result(call);
  const int64_t taps = k_taps(call);
  if (call->x.block == 1) {
    const int64_t of_plane = pieces(call), planes = call->x.n * call->x.channels;
    k_pieces *piece = &call->pieces;
    if (of_plane == 1) piece->planes = K_PLANE / (copied(call, 0, piece->rows) * copied(call, 1, piece->columns));
    k_launch_add_phase(launch, K_KERNEL_depthwise_plane, k_divide_up(planes, piece->planes) * of_plane, work(call));
    return of_plane > 0;
  }
  launch->workspace_bytes = taps * call->x.channels * (int64_t)sizeof(float);
  k_launch_add_phase(launch, K_KERNEL_depthwise_pack, taps, (double)taps * (double)call->x.channels);
  k_launch_add_phase(launch, K_KERNEL_depthwise, call->x.n * call->x.groups * result->height, work(call));
  return 1;
}

int k_launch_depthwise_conv2d(const plim_op_desc *op, k_launch *launch) {
  return operands(&op->in[0], &op->out[0], &op->in[1], launch) && add_rows(launch, 0);
}

int k_launch_depthwise_conv2d_bwd_data(const plim_op_desc *op, k_launch *launch) {
  return operands(&op->out[0], &op->in[0], &op->in[1], launch) && add_rows(launch, 1);
}

int k_launch_depthwise_conv2d_bwd_weights(const plim_op_desc *op, k_launch *launch) {
  k_call *call = &launch->call;
  if (!operands(&op->in[1], &op->in[0], &op->out[0], launch)) return 0;
  if (call->x.block == 1) {
    const int64_t of_plane = pieces(call);
    k_launch_add_phase(launch, K_KERNEL_depthwise_bwd_weights_plane, call->x.channels, work(call));
    return of_plane > 0;
  }
  call->cut.size = k_divide_up(call->x.n, PARTIALS_MAX);
  call->cut.all = k_divide_up(call->x.n, call->cut.size);
  launch->workspace_bytes = call->cut.all * plim_shape_bytes(&op->out[0]);
  k_launch_add_phase(launch, K_KERNEL_depthwise_bwd_weights, call->cut.all, work(call));
  k_launch_add_phase(launch, K_KERNEL_depthwise_combine, k_tiles(call->x.channels, K_KERNEL_depthwise_combine),
                     (double)call->cut.all * (double)plim_shape_elements(&op->out[0]));
  return 1;
}

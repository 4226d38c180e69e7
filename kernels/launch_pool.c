/* Launches of pooling. */
#include "kernels/launch.h"

#include <assert.h>

/* Kernels count the positions of an axis with its padding, and the elements of a row, in 32 bits. A window has at most
 * PLIM_WINDOW_PLACES. */
enum { AXIS_MAX = 1 << 30 };
static_assert(AXIS_MAX + 2 * PLIM_WINDOW_PLACES <= INT32_MAX, "padding is less than a window");

static int is_counted(const k_view *view) {
  return view->height <= AXIS_MAX && view->width <= AXIS_MAX / view->block;
}

/* x is what windows lie on, y has an element a window. */
static int pool(const plim_shape *x, const plim_shape *y, k_launch *launch) {
  k_call *call = &launch->call;
  return k_view_make(x, &call->x) && k_view_make(y, &call->y) && is_counted(&call->x) && is_counted(&call->y);
}

/* The position in the window of the largest element fits in a byte. */
static int is_index(const plim_attrs *attrs) {
  return (int64_t)attrs->kernel[0] * attrs->kernel[1] <= 256;
}

static int add_rows(k_launch *launch, k_kernel kernel, const k_view *result) {
  const double taps = (double)launch->call.attrs.kernel[0] * launch->call.attrs.kernel[1];
  k_launch_add_phase(launch, kernel, result->n * result->groups * result->height, taps * k_view_elements(result));
  return 1;
}

int k_launch_max_pool(const plim_op_desc *op, k_launch *launch) {
  if (!is_index(&op->attrs) || !pool(&op->in[0], &op->out[0], launch)) return 0;
  return add_rows(launch, K_KERNEL_max_pool, &launch->call.y);
}

int k_launch_max_pool_bwd(const plim_op_desc *op, k_launch *launch) {
  if (!is_index(&op->attrs) || !pool(&op->out[0], &op->in[0], launch)) return 0;
  return add_rows(launch, K_KERNEL_max_pool_bwd, &launch->call.x);
}

int k_launch_avg_pool(const plim_op_desc *op, k_launch *launch) {
  return pool(&op->in[0], &op->out[0], launch) && add_rows(launch, K_KERNEL_avg_pool, &launch->call.y);
}

int k_launch_avg_pool_bwd(const plim_op_desc *op, k_launch *launch) {
  return pool(&op->out[0], &op->in[0], launch) && add_rows(launch, K_KERNEL_avg_pool_bwd, &launch->call.x);
}

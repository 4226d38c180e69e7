/* Launches of pooling. */
#include "kernels/launch.h"

/* x the larger image, y the smaller one. */
static int pool(const plim_shape *x, const plim_shape *y, k_launch *launch) {
  return k_view_make(x, &launch->call.x) && k_view_make(y, &launch->call.y);
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

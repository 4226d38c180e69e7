/* Launches of sums and means by channel. */
#include "kernels/launch.h"

int k_launch_bias_bwd(const plim_op_desc *op, k_launch *launch) {
  if (!k_view_merged(&op->in[0], &launch->call.x)) return 0;
  k_launch_reduction(launch, K_KERNEL_bias_bwd_partial, K_KERNEL_bias_bwd_combine);
  return 1;
}

/* x [N][C][H][W] */
static int mean(const plim_shape *x, k_kernel kernel, k_launch *launch) {
  if (!k_view_make(x, &launch->call.x)) return 0;
  const k_view *view = &launch->call.x;
  k_launch_add_phase(launch, kernel, view->n * view->groups, k_view_elements(view));
  return 1;
}

int k_launch_global_avg_pool(const plim_op_desc *op, k_launch *launch) {
  return mean(&op->in[0], K_KERNEL_global_avg_pool, launch);
}

int k_launch_global_avg_pool_bwd(const plim_op_desc *op, k_launch *launch) {
  return mean(&op->out[0], K_KERNEL_global_avg_pool_bwd, launch);
}

/* Launches of batch norm. */
#include "kernels/launch.h"

/* One pass over memory with `planes` coefficients by channel, computed first. */
static int apply(k_launch *launch, k_kernel coefficients, k_kernel pass, int planes) {
  k_call *call = &launch->call;
  launch->workspace_bytes = planes * call->x.channels * (int64_t)sizeof(float);
  k_launch_add_phase(launch, coefficients, 1, 0);
  k_launch_add_phase(launch, pass, k_launch_positions(call, pass), k_view_elements(&call->x));
  return 1;
}

int k_launch_bn_stats(const plim_op_desc *op, k_launch *launch) {
  if (!k_view_merged(&op->in[0], &launch->call.x)) return 0;
  k_launch_reduction(launch, K_KERNEL_bn_stats_partial, K_KERNEL_bn_stats_combine);
  return 1;
}

/* The attributes say whether there is a residual, and whether there may be a mask. */
int k_launch_bn_apply(const plim_op_desc *op, k_launch *launch) {
  if (op->n_in != (op->attrs.add ? 4 : 3) || op->n_out > (op->attrs.relu ? 2 : 1)) return 0;
  if (!k_view_merged(&op->in[0], &launch->call.x)) return 0;
  return apply(launch, K_KERNEL_bn_apply_coefficients, K_KERNEL_bn_apply, 1);
}

int k_launch_bn_running(const plim_op_desc *op, k_launch *launch) {
  launch->call.x.channels = op->in[0].dim[1];
  k_launch_add_phase(launch, K_KERNEL_bn_running, 1, 0);
  return 1;
}

/* in[0] dy, in[1] x, in[2] stats, and the mask after the first `plain` inputs */
static int bwd_operands(const plim_op_desc *op, k_launch *launch, int plain) {
  return op->n_in == plain + (op->attrs.relu ? 1 : 0) && k_view_merged(&op->in[1], &launch->call.x);
}

int k_launch_bn_bwd_reduce(const plim_op_desc *op, k_launch *launch) {
  if (!bwd_operands(op, launch, 3)) return 0;
  k_launch_reduction(launch, K_KERNEL_bn_bwd_partial, K_KERNEL_bn_bwd_combine);
  return 1;
}

int k_launch_bn_bwd_apply(const plim_op_desc *op, k_launch *launch) {
  if (!bwd_operands(op, launch, 5)) return 0;
  return apply(launch, K_KERNEL_bn_bwd_coefficients, K_KERNEL_bn_bwd_apply, 3);
}

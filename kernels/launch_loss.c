/* Launches of the loss. */
#include "kernels/launch.h"

enum { EXP_ELEMENTS = 8 }; /* an exponential in double takes as long as an elementwise op on so many elements */

int k_launch_softmax_xent(const plim_op_desc *op, k_launch *launch) {
  if (op->in[0].dim[1] > K_CLASSES_MAX || !k_rows_make(&op->in[0], &launch->call.rows)) return 0;
  launch->workspace_bytes = 2 * op->in[0].dim[0] * (int64_t)sizeof(float);
  k_launch_add_phase(launch, K_KERNEL_softmax_row, op->in[0].dim[0],
                     EXP_ELEMENTS * k_rows_elements(&launch->call.rows));
  k_launch_add_phase(launch, K_KERNEL_softmax_mean, 1, 0);
  return 1;
}

int k_launch_softmax_xent_bwd(const plim_op_desc *op, k_launch *launch) {
  if (!k_rows_make(&op->in[0], &launch->call.rows)) return 0;
  launch->workspace_bytes = (int64_t)sizeof(float);
  k_launch_add_phase(launch, K_KERNEL_softmax_count, 1, 0);
  k_launch_add_phase(launch, K_KERNEL_softmax_bwd, op->in[0].dim[0], k_rows_elements(&launch->call.rows));
  return 1;
}

int k_launch_mean_loss(const plim_op_desc *op, k_launch *launch) {
  (void)op;
  k_launch_add_phase(launch, K_KERNEL_mean_loss, 1, 0);
  return 1;
}

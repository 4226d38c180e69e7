/* Launches of sums and means by channel. */
#include "kernels/launch.h"

int k_launch_bias_bwd(const plim_op_desc *op, k_launch *launch) {
  const plim_shape *dy = &op->in[0];
  if (op->n_in != 1 || op->n_out != 1 || op->n_upd != 0) return 0;
  if (!k_is_valid(dy) || !k_view_merged(dy, &launch->call.x) || !k_is_matrix(&op->out[0], 1, dy->dim[1])) return 0;
  k_launch_reduction(launch, K_BODY_bias_bwd_partial, K_BODY_bias_bwd_combine);
  return 1;
}

/* x [N][C][H][W], y [N][C] */
static int mean(const plim_op_desc *op, const plim_shape *x, const plim_shape *y, k_body body, k_launch *launch) {
  if (op->n_in != 1 || op->n_out != 1 || op->n_upd != 0 || x->rank != 4 || y->rank != 2) return 0;
  if (!k_is_valid(x) || !k_is_matrix(y, x->dim[0], x->dim[1]) || !k_view_make(x, &launch->call.x)) return 0;
  const k_view *view = &launch->call.x;
  k_launch_add_phase(launch, body, view->n * view->groups, k_view_elements(view));
  return 1;
}

int k_launch_global_avg_pool(const plim_op_desc *op, k_launch *launch) {
  return mean(op, &op->in[0], &op->out[0], K_BODY_global_avg_pool, launch);
}

int k_launch_global_avg_pool_bwd(const plim_op_desc *op, k_launch *launch) {
  return mean(op, &op->out[0], &op->in[0], K_BODY_global_avg_pool_bwd, launch);
}

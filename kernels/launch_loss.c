/* Launches of the loss. */
#include "kernels/launch.h"

enum { EXP_ELEMENTS = 8 }; /* an exponential in double takes as long as an elementwise op on so many elements */

/* logits (or prob) [N][K] and labels [N] */
static int rows(const plim_op_desc *op, k_launch *launch) {
  const plim_shape *x = &op->in[0], *label = &op->in[1];
  if (op->n_in != 2 || op->n_upd != 0 || x->rank != 2 || !k_is_matrix(x, x->dim[0], x->dim[1])) return 0;
  if (!k_is_valid(label) || label->rank != 1 || label->dim[0] != x->dim[0]) return 0;
  return k_view_make(x, &launch->call.x);
}

int k_launch_softmax_xent(const plim_op_desc *op, k_launch *launch) {
  if (!rows(op, launch) || op->in[0].dim[1] > K_MOST_CLASSES) return 0;
  if (op->n_out != 3 || !k_is_matrix(&op->out[0], 1, 1)) return 0;
  const plim_shape *hits = &op->out[1];
  if (!k_is_valid(hits) || plim_shape_elements(hits) != 2) return 0;
  if (!k_is_valid(&op->out[2]) || !k_same_shape(&op->out[2], &op->in[0])) return 0;
  launch->workspace_bytes = 2 * op->in[0].dim[0] * (int64_t)sizeof(float);
  k_launch_add_phase(launch, K_BODY_softmax_row, op->in[0].dim[0], EXP_ELEMENTS * k_view_elements(&launch->call.x));
  k_launch_add_phase(launch, K_BODY_softmax_mean, 1, 0);
  return 1;
}

int k_launch_softmax_xent_bwd(const plim_op_desc *op, k_launch *launch) {
  if (!rows(op, launch) || op->n_out != 1) return 0;
  if (!k_is_valid(&op->out[0]) || !k_same_shape(&op->out[0], &op->in[0])) return 0;
  launch->workspace_bytes = (int64_t)sizeof(float);
  k_launch_add_phase(launch, K_BODY_softmax_count, 1, 0);
  k_launch_add_phase(launch, K_BODY_softmax_bwd, op->in[0].dim[0], k_view_elements(&launch->call.x));
  return 1;
}

int k_launch_mean_loss(const plim_op_desc *op, k_launch *launch) {
  if (op->n_in != 4 || op->n_out != 2 || op->n_upd != 0) return 0;
  k_launch_add_phase(launch, K_BODY_mean_loss, 1, 0);
  return 1;
}

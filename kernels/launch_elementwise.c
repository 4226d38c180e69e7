/* Launches of elementwise ops. */
#include "kernels/launch.h"

static int elementwise(const plim_shape *main, k_body body, k_launch *launch) {
  launch->call.elements = plim_shape_elements(main);
  k_launch_add_phase(launch, body, k_tiles(launch->call.elements, body), (double)launch->call.elements);
  return 1;
}

int k_launch_relu(const plim_op_desc *op, k_launch *launch) {
  const plim_shape *x = &op->in[0];
  if (op->n_in != 1 || op->n_out < 1 || op->n_out > 2 || op->n_upd != 0) return 0;
  if (!k_is_valid(x) || !k_is_like(&op->out[0], x)) return 0;
  if (op->n_out == 2 && !k_is_like(&op->out[1], x)) return 0;
  return elementwise(x, K_BODY_relu, launch);
}

int k_launch_relu_bwd(const plim_op_desc *op, k_launch *launch) {
  const plim_shape *dx = &op->out[0];
  if (op->n_in < 2 || op->n_in > 3 || op->n_out != 1 || op->n_upd != 0) return 0;
  if (!k_is_valid(dx) || !k_is_like(&op->in[0], dx)) return 0;
  for (int i = 1; i < op->n_in; i++) {
    if (!k_is_like(&op->in[i], dx)) return 0;
  }
  return elementwise(dx, K_BODY_relu_bwd, launch);
}

int k_launch_add(const plim_op_desc *op, k_launch *launch) {
  const plim_shape *y = &op->out[0];
  if (op->n_in != 2 || op->n_out < 1 || op->n_out > (op->attrs.relu ? 2 : 1) || op->n_upd != 0) return 0;
  if (!k_is_valid(y) || !k_is_like(&op->in[0], y) || !k_is_like(&op->in[1], y)) return 0;
  if (op->n_out == 2 && !k_is_like(&op->out[1], y)) return 0;
  return elementwise(y, K_BODY_add, launch);
}

int k_launch_accumulate(const plim_op_desc *op, k_launch *launch) {
  const plim_shape *y = &op->out[0];
  if (op->n_in != 2 || op->n_out != 1 || op->n_upd != 0) return 0;
  if (!k_is_valid(y) || !k_is_like(&op->in[0], y) || !k_is_like(&op->in[1], y)) return 0;
  return elementwise(y, K_BODY_accumulate, launch);
}

static int is_drop(float drop) {
  return drop >= 0 && drop < 1;
}

int k_launch_dropout(const plim_op_desc *op, k_launch *launch) {
  const plim_shape *x = &op->in[0];
  if (op->n_in != 1 || op->n_out != 2 || op->n_upd != 0 || !is_drop(op->attrs.drop)) return 0;
  if (!k_is_valid(x) || !k_is_like(&op->out[0], x) || !k_is_like(&op->out[1], x)) return 0;
  return elementwise(x, K_BODY_dropout, launch);
}

int k_launch_dropout_bwd(const plim_op_desc *op, k_launch *launch) {
  const plim_shape *dy = &op->in[0];
  if (op->n_in != 2 || op->n_out != 1 || op->n_upd != 0 || !is_drop(op->attrs.drop)) return 0;
  if (!k_is_valid(dy) || !k_is_like(&op->out[0], dy) || !k_is_like(&op->in[1], dy)) return 0;
  return elementwise(dy, K_BODY_dropout_bwd, launch);
}

int k_launch_sgd(const plim_op_desc *op, k_launch *launch) {
  const plim_shape *grad = &op->in[0];
  if (op->n_in != 2 || op->n_out != 0 || op->n_upd != 2 || !k_is_valid(grad)) return 0;
  if (!k_is_matrix(&op->in[1], 1, 4) || !k_is_like(&op->upd[0], grad) || !k_is_like(&op->upd[1], grad)) return 0;
  return elementwise(grad, K_BODY_sgd, launch);
}

int k_launch_cast(const plim_op_desc *op, k_launch *launch) {
  const plim_shape *x = &op->in[0];
  if (op->n_in != 1 || op->n_out != 1 || op->n_upd != 0) return 0;
  if (!k_is_valid(x) || !k_is_like(&op->out[0], x)) return 0;
  return elementwise(x, K_BODY_cast, launch);
}

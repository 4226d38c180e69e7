/* Launches of elementwise ops. */
#include "kernels/launch.h"

static int elementwise(const plim_shape *main, k_body body, k_launch *launch) {
  launch->call.elements = plim_shape_elements(main);
  k_launch_add_phase(launch, body, k_tiles(launch->call.elements, body), (double)launch->call.elements);
  return 1;
}

int k_launch_relu(const plim_op_desc *op, k_launch *launch) {
  return elementwise(&op->in[0], K_BODY_relu, launch);
}

int k_launch_relu_bwd(const plim_op_desc *op, k_launch *launch) {
  return elementwise(&op->out[0], K_BODY_relu_bwd, launch);
}

/* There is a mask only where there is a ReLU. */
int k_launch_add(const plim_op_desc *op, k_launch *launch) {
  return op->n_out <= (op->attrs.relu ? 2 : 1) && elementwise(&op->out[0], K_BODY_add, launch);
}

int k_launch_accumulate(const plim_op_desc *op, k_launch *launch) {
  return elementwise(&op->out[0], K_BODY_accumulate, launch);
}

static int is_drop(float drop) {
  return drop >= 0 && drop < 1;
}

int k_launch_dropout(const plim_op_desc *op, k_launch *launch) {
  return is_drop(op->attrs.drop) && elementwise(&op->in[0], K_BODY_dropout, launch);
}

int k_launch_dropout_bwd(const plim_op_desc *op, k_launch *launch) {
  return is_drop(op->attrs.drop) && elementwise(&op->in[0], K_BODY_dropout_bwd, launch);
}

int k_launch_sgd(const plim_op_desc *op, k_launch *launch) {
  return elementwise(&op->in[0], K_BODY_sgd, launch);
}

int k_launch_cast(const plim_op_desc *op, k_launch *launch) {
  return elementwise(&op->in[0], K_BODY_cast, launch);
}

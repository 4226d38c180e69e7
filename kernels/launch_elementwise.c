/* Launches of elementwise ops, the updates of parameters among them. */
#include "kernels/launch.h"

/* Elements of an addition that take as long as one with an exponential in float, or one of Adam's update. */
enum { EXP_TIMES = 2, ADAM_TIMES = 2 };

static int elements_of(const plim_shape *main, k_body body, int times, k_launch *launch) {
  launch->call.elements = plim_shape_elements(main);
  k_launch_add_phase(launch, body, k_tiles(launch->call.elements, body), times * (double)launch->call.elements);
  return 1;
}

static int elementwise(const plim_shape *main, k_body body, k_launch *launch) {
  return elements_of(main, body, 1, launch);
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

int k_launch_gelu(const plim_op_desc *op, k_launch *launch) {
  return elements_of(&op->out[0], K_BODY_gelu, EXP_TIMES, launch);
}

int k_launch_gelu_bwd(const plim_op_desc *op, k_launch *launch) {
  return elements_of(&op->out[0], K_BODY_gelu_bwd, EXP_TIMES, launch);
}

int k_launch_silu(const plim_op_desc *op, k_launch *launch) {
  return elements_of(&op->out[0], K_BODY_silu, EXP_TIMES, launch);
}

int k_launch_silu_bwd(const plim_op_desc *op, k_launch *launch) {
  return elements_of(&op->out[0], K_BODY_silu_bwd, EXP_TIMES, launch);
}

int k_launch_adam(const plim_op_desc *op, k_launch *launch) {
  return elements_of(&op->in[0], K_BODY_adam, ADAM_TIMES, launch);
}

int k_launch_adamw(const plim_op_desc *op, k_launch *launch) {
  return elements_of(&op->in[0], K_BODY_adamw, ADAM_TIMES, launch);
}

int k_launch_sum_squares(const plim_op_desc *op, k_launch *launch) {
  k_call *call = &launch->call;
  call->elements = plim_shape_elements(&op->in[0]);
  call->cut.all = k_tiles(call->elements, K_BODY_squares);
  launch->workspace_bytes = call->cut.all * (int64_t)sizeof(float);
  k_launch_add_phase(launch, K_BODY_squares, call->cut.all, (double)call->elements);
  k_launch_add_phase(launch, K_BODY_squares_combine, 1, 0);
  return 1;
}

/* Launches of pooling. */
#include "kernels/launch.h"

/* x the larger image, y the smaller one, of the same layout and channels. */
static int pool(const plim_op_desc *op, const plim_shape *x, const plim_shape *y, k_launch *launch) {
  if (op->n_upd != 0 || !k_is_image(x) || !k_is_image(y) || x->layout != y->layout || x->dim[1] != y->dim[1]) return 0;
  if (!k_windows_fit(&op->attrs, x, y)) return 0;
  return k_view_make(x, &launch->call.x) && k_view_make(y, &launch->call.y);
}

/* The position in the window of the largest element fits in a byte. */
static int is_index(const plim_op_desc *op, const plim_shape *index, const plim_shape *y) {
  return k_is_valid(index) && k_same_shape(index, y) && (int64_t)op->attrs.kernel[0] * op->attrs.kernel[1] <= 256;
}

static int rows_of(k_launch *launch, k_body body, const k_view *result) {
  const double taps = (double)launch->call.attrs.kernel[0] * launch->call.attrs.kernel[1];
  k_launch_add_phase(launch, body, result->n * result->groups * result->height, taps * k_view_elements(result));
  return 1;
}

int k_launch_max_pool(const plim_op_desc *op, k_launch *launch) {
  if (op->n_in != 1 || op->n_out != 2 || !pool(op, &op->in[0], &op->out[0], launch)) return 0;
  return is_index(op, &op->out[1], &op->out[0]) && rows_of(launch, K_BODY_max_pool, &launch->call.y);
}

int k_launch_max_pool_bwd(const plim_op_desc *op, k_launch *launch) {
  if (op->n_in != 2 || op->n_out != 1 || !pool(op, &op->out[0], &op->in[0], launch)) return 0;
  return is_index(op, &op->in[1], &op->in[0]) && rows_of(launch, K_BODY_max_pool_bwd, &launch->call.x);
}

int k_launch_avg_pool(const plim_op_desc *op, k_launch *launch) {
  if (op->n_in != 1 || op->n_out != 1 || !pool(op, &op->in[0], &op->out[0], launch)) return 0;
  return rows_of(launch, K_BODY_avg_pool, &launch->call.y);
}

int k_launch_avg_pool_bwd(const plim_op_desc *op, k_launch *launch) {
  if (op->n_in != 1 || op->n_out != 1 || !pool(op, &op->out[0], &op->in[0], launch)) return 0;
  return rows_of(launch, K_BODY_avg_pool_bwd, &launch->call.x);
}

/* Launches of concat and split, which copy the same rows in two directions. A row of the whole is one image, or with
 * channels last one position; each part has some of its elements, side by side. A launch has as many of
 * the parts as one argument holds. */
#include "kernels/launch.h"

static int64_t rows_of(const plim_shape *whole) {
  return whole->layout == PLIM_NHWC ? whole->dim[0] * whole->dim[2] * whole->dim[3] : whole->dim[0];
}

/* *first and *n out: the parts of this launch. */
static int parts(const plim_shape *whole, const plim_shape *part, k_kernel kernel, k_launch *launch, int32_t *first,
                 int32_t *n) {
  k_call *call = &launch->call;
  k_joint *joint = &call->joint;
  int64_t tiles = 0;
  const int64_t rows = rows_of(whole), all = plim_shape_elements(whole) / rows;
  if (all > UINT32_MAX - k_tile(kernel)) return 0; /* the kernel divides by a part's row in 32 bits */
  *first = launch->number * K_LAUNCH_OPERANDS;
  *n = *n - *first < K_LAUNCH_OPERANDS ? *n - *first : K_LAUNCH_OPERANDS;
  joint->whole = all;
  joint->part_at[0] = launch->number > 0 ? joint->part_at[K_LAUNCH_OPERANDS] : 0; /* where the one before ended */
  for (int32_t i = 0; i < *n; i++) {
    const int64_t width = plim_shape_elements(&part[*first + i]) / rows;
    joint->part_at[i + 1] = joint->part_at[i] + width;
    tiles += k_tiles(rows * width, kernel);
  }
  call->elements = rows * all;
  k_launch_add_phase(launch, kernel, tiles, (double)rows * (double)(joint->part_at[*n] - joint->part_at[0]));
  return 1;
}

int k_launch_concat(const plim_op_desc *op, k_launch *launch) {
  return parts(&op->out[0], plim_op_inputs(op), K_KERNEL_concat, launch, &launch->first_in, &launch->call.n_in);
}

int k_launch_split(const plim_op_desc *op, k_launch *launch) {
  return parts(&op->in[0], plim_op_outputs(op), K_KERNEL_split, launch, &launch->first_out, &launch->call.n_out);
}

/* Launches of concat and split, which copy the same rows in two directions. A row of the whole is one image, or with
 * channels last one position; each part has so many of its elements, which lie beside each other. */
#include "kernels/launch.h"

static int64_t rows_of(const plim_shape *whole) {
  return whole->layout == PLIM_NHWC ? whole->dim[0] * whole->dim[2] * whole->dim[3] : whole->dim[0];
}

static int parts(const plim_shape *whole, const plim_shape *part, int n, k_body body, k_launch *launch) {
  k_call *call = &launch->call;
  int64_t tiles = 0;
  const int64_t rows = rows_of(whole), all = plim_shape_elements(whole) / rows;
  if (all > UINT32_MAX - k_tile(body)) return 0; /* the kernel divides by a part's row in 32 bits */
  call->joint.part_at[0] = 0;
  for (int i = 0; i < n; i++) {
    const int64_t width = plim_shape_elements(&part[i]) / rows;
    call->joint.part_at[i + 1] = call->joint.part_at[i] + width;
    tiles += k_tiles(rows * width, body);
  }
  call->elements = rows * all;
  k_launch_add_phase(launch, body, tiles, (double)call->elements);
  return 1;
}

int k_launch_concat(const plim_op_desc *op, k_launch *launch) {
  return parts(&op->out[0], op->in, op->n_in, K_BODY_concat, launch);
}

int k_launch_split(const plim_op_desc *op, k_launch *launch) {
  return parts(&op->in[0], op->out, op->n_out, K_BODY_split, launch);
}

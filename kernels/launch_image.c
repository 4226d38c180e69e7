/* The launch of the image op: bytes to normalized activations. */
#include "kernels/launch.h"

int k_launch_image(const plim_op_desc *op, k_launch *launch) {
  const plim_shape *image = &op->in[0], *y = &op->out[0];
  if (image->layout != PLIM_NHWC || y->dim[1] > 4 || !k_view_make(y, &launch->call.y)) return 0;
  k_call *call = &launch->call;
  call->cut.size = k_tile(K_KERNEL_image);
  call->cut.of_image = k_tiles(call->y.spatial, K_KERNEL_image);
  k_launch_add_phase(launch, K_KERNEL_image, call->y.n * call->cut.of_image, k_view_elements(&call->y));
  return 1;
}

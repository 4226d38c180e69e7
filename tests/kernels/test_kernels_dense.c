/* Matrix products, gradients of biases, global pooling: the single-source kernels. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/support/kernel_check.h"

Test(kernels_dense, linear_and_its_gradients_match_the_reference) {
  static const int64_t sizes[][3] = {{1, 1, 1}, {7, 5, 3}, {16, 64, 10}, {33, 40, 50}, {128, 64, 33}}; /* N, I, O */
  for (int i = 0; i < 5; i++) {
    const int64_t n = sizes[i][0], inputs = sizes[i][1], outputs = sizes[i][2];
    const plim_shape x = kernel_activation(PLIM_FLAT, n, inputs, 0, 0),
                     y = kernel_activation(PLIM_FLAT, n, outputs, 0, 0);
    const plim_shape w = kernel_shape(PLIM_F32, 2, outputs, inputs, 1, 1);
    plim_op_desc forward = kernel_op(PLIM_OP_LINEAR, 2, 1, x, y), data = kernel_op(PLIM_OP_LINEAR_BWD_DATA, 2, 1, y, x),
                 weights = kernel_op(PLIM_OP_LINEAR_BWD_WEIGHTS, 2, 1, y, w);
    forward.in[1] = data.in[1] = w;
    weights.in[1] = x;
    kernel_check(&forward, (uint64_t)i, 2e-6);
    forward.in[forward.n_in++] = kernel_shape(PLIM_F32, 1, outputs, 1, 1, 1);
    kernel_check(&forward, (uint64_t)i, 2e-6);
    kernel_check(&data, (uint64_t)i, 2e-6);
    kernel_check(&weights, (uint64_t)i, 2e-6);
  }
}

static const struct {
  plim_layout layout;
  int64_t n, c, h, w;
} shapes[] = {
    {PLIM_FLAT, 3, 5, 7, 3},   {PLIM_FLAT, 2, 2, 1, 1},     {PLIM_NHWC, 3, 5, 7, 3},     {PLIM_NHWC, 2, 16, 9, 31},
    {PLIM_NHWC, 40, 24, 6, 6}, {PLIM_NCHW8C, 3, 24, 5, 7},  {PLIM_NCHW16C, 3, 32, 5, 7}, {PLIM_NCHW16C, 29, 16, 7, 7},
    {PLIM_FLAT, 9, 3, 23, 29}, {PLIM_NCHW16C, 1, 16, 1, 1},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static plim_shape shape_at(int i) {
  return kernel_activation(shapes[i].layout, shapes[i].n, shapes[i].c, shapes[i].h, shapes[i].w);
}

Test(kernels_dense, the_gradient_of_a_bias_is_a_sum_by_channel) {
  for (int i = 0; i < SHAPES; i++) {
    const plim_op_desc op =
        kernel_op(PLIM_OP_BIAS_BWD, 1, 1, shape_at(i), kernel_shape(PLIM_F32, 1, shapes[i].c, 1, 1, 1));
    kernel_check(&op, (uint64_t)i, 2e-6);
  }
  const plim_op_desc op = kernel_op(PLIM_OP_BIAS_BWD, 1, 1, kernel_activation(PLIM_FLAT, 300, 21, 0, 0),
                                    kernel_shape(PLIM_F32, 1, 21, 1, 1, 1));
  kernel_check(&op, 1, 2e-6);
}

Test(kernels_dense, global_pooling_is_the_mean_of_an_image) {
  for (int i = 0; i < SHAPES; i++) {
    const plim_shape mean = kernel_activation(PLIM_FLAT, shapes[i].n, shapes[i].c, 0, 0);
    const plim_op_desc forward = kernel_op(PLIM_OP_GLOBAL_AVG_POOL, 1, 1, shape_at(i), mean);
    const plim_op_desc backward = kernel_op(PLIM_OP_GLOBAL_AVG_POOL_BWD, 1, 1, mean, shape_at(i));
    kernel_check(&forward, (uint64_t)i, 2e-6);
    kernel_check(&backward, (uint64_t)i, 1e-6);
  }
}

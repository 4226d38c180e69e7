/* Image, ReLU, add and SGD kernels. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/support/kernel_check.h"

/* Layouts and sizes: whole vectors, rests, less than a byte of mask, more than one tile. */
static const struct {
  plim_layout layout;
  int64_t n, c, h, w;
} shapes[] = {
    {PLIM_FLAT, 3, 5, 7, 3},     {PLIM_FLAT, 1, 1, 1, 1},   {PLIM_FLAT, 2, 3, 0, 0},     {PLIM_FLAT, 16, 40, 5, 7},
    {PLIM_NHWC, 3, 5, 7, 3},     {PLIM_NHWC, 2, 16, 9, 31}, {PLIM_NCHW8C, 3, 24, 5, 7},  {PLIM_NCHW8C, 9, 8, 12, 12},
    {PLIM_NCHW16C, 3, 32, 5, 7}, {PLIM_NHWC, 1, 4, 1, 3},   {PLIM_NCHW16C, 7, 16, 9, 9},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static plim_shape shape_at(int i) {
  return kernel_activation(shapes[i].layout, shapes[i].n, shapes[i].c, shapes[i].h, shapes[i].w);
}

Test(kernels_elementwise, relu_clamps_and_keeps_a_mask) {
  for (int i = 0; i < SHAPES; i++) {
    for (int outputs = 1; outputs <= 2; outputs++) {
      plim_op_desc op = kernel_op(PLIM_OP_RELU, 1, outputs, shape_at(i), shape_at(i));
      op.out[1] = kernel_mask(op.out[0]);
      kernel_check(&op, (uint64_t)i, 1e-7);
    }
  }
}

Test(kernels_elementwise, relu_backward_adds_the_gradients_that_passed) {
  for (int i = 0; i < SHAPES; i++) {
    for (int inputs = 2; inputs <= 3; inputs++) {
      plim_op_desc op = kernel_op(PLIM_OP_RELU_BWD, inputs, 1, kernel_mask(shape_at(i)), shape_at(i));
      op.in[1] = op.in[2] = op.out[0];
      kernel_check(&op, (uint64_t)i, 1e-6);
    }
  }
}

Test(kernels_elementwise, add_takes_a_fused_relu_and_its_mask) {
  for (int i = 0; i < SHAPES; i++) {
    for (int fused = 0; fused <= 2; fused++) {
      plim_op_desc op = kernel_op(PLIM_OP_ADD, 2, fused == 2 ? 2 : 1, shape_at(i), shape_at(i));
      op.attrs.relu = fused > 0;
      op.in[1] = op.out[0];
      op.out[1] = kernel_mask(op.out[0]);
      kernel_check(&op, (uint64_t)i, 1e-6);
    }
  }
}

Test(kernels_elementwise, relu_lets_a_nan_through_and_marks_it_as_passed) {
  plim_op_desc op = kernel_op(PLIM_OP_RELU, 1, 2, shape_at(1), shape_at(1));
  op.out[1] = kernel_mask(op.out[0]);
  kernel_operands operands;
  kernel_operands_make(&op, 1, 0, &operands);
  *(float *)operands.in[0] = NAN;
  kernel_run_once(&op, NULL, "single-source", 1, 0, &operands);
  cr_assert(isnan(*(float *)operands.out[0]));
  cr_assert_eq(*(unsigned char *)operands.out[1], 1);
  kernel_operands_free(&op, &operands);
}

/* An sgd over a vector; squares 1: of a gradient that is clipped. */
static plim_op_desc sgd_of(int64_t size, int squares, int velocity) {
  const plim_shape flat = kernel_shape(PLIM_F32, 1, size, 1, 1, 1);
  plim_op_desc op = kernel_op(PLIM_OP_SGD, 2 + squares, 0, flat, flat);
  op.in[1] = kernel_shape(PLIM_F32, 1, squares ? 8 : 4, 1, 1, 1);
  op.in[2] = kernel_shape(PLIM_F32, 1, 1, 1, 1, 1);
  op.n_upd = 1 + velocity;
  op.upd[0] = op.upd[1] = flat;
  return op;
}

Test(kernels_elementwise, sgd_updates_parameter_and_velocity_with_and_without_clipping) {
  static const int64_t sizes[] = {1, 15, 16, 144, 4097, 40000};
  for (int i = 0; i < 6 * 4; i++) {
    const plim_op_desc op = sgd_of(sizes[i / 4], i & 1, i >> 1 & 1);
    kernel_check(&op, (uint64_t)i, 1e-6);
  }
}

/* Run an sgd of elements 1, 2, ... / 7 with a norm of 4 that is to be at most 1. */
static void run_sgd(const plim_op_desc *op, float momentum, const float *velocity, kernel_operands *o) {
  const float hyper[8] = {0.1F, momentum, 0.01F, 0, 0, 0, 0, 1}, squares = 16;
  kernel_operands_make(op, 1, 0, o);
  memcpy(o->in[1], hyper, (size_t)plim_shape_bytes(&op->in[1]));
  if (op->n_in > 2) memcpy(o->in[2], &squares, sizeof squares);
  for (int64_t i = 0; i < op->in[0].dim[0]; i++) {
    ((float *)o->in[0])[i] = (float)(i + 1) / 7;
    ((float *)o->upd[0])[i] = (float)(i - 5) / 3;
    if (op->n_upd > 1) ((float *)o->upd[1])[i] = velocity ? velocity[i] : 0;
  }
  kernel_run_once(op, NULL, "single-source", 1, 0, o);
}

enum { SGD_SIZE = 37 };

Test(kernels_elementwise, sgd_without_a_velocity_gives_the_bits_of_a_momentum_of_zero) {
  float velocity[SGD_SIZE];
  for (int i = 0; i < SGD_SIZE; i++) velocity[i] = (float)(11 - i) / 9;
  for (int squares = 0; squares < 2; squares++) {
    const plim_op_desc with = sgd_of(SGD_SIZE, squares, 1), without = sgd_of(SGD_SIZE, squares, 0);
    kernel_operands a, b;
    run_sgd(&with, 0, velocity, &a);
    run_sgd(&without, 0, NULL, &b);
    cr_assert_eq(memcmp(a.upd[0], b.upd[0], sizeof velocity), 0);
    kernel_operands_free(&with, &a);
    kernel_operands_free(&without, &b);
  }
}

Test(kernels_elementwise, sgd_scales_gradients_by_the_bound_over_their_norm) {
  const plim_op_desc op = sgd_of(SGD_SIZE, 1, 1);
  kernel_operands o;
  run_sgd(&op, 0.5F, NULL, &o);
  for (int i = 0; i < SGD_SIZE; i++) {
    const double velocity = (i + 1) / 7.0 / 4 + 0.01 * (i - 5) / 3.0;
    cr_assert_float_eq(((float *)o.upd[1])[i], velocity, 1e-6);
    cr_assert_float_eq(((float *)o.upd[0])[i], (i - 5) / 3.0 - 0.1 * velocity, 1e-6);
  }
  kernel_operands_free(&op, &o);
}

Test(kernels_elementwise, sgd_takes_eight_numbers_where_it_clips_and_four_where_it_does_not) {
  plim_kernel_table *table = NULL;
  cr_assert_eq(plim_kernel_table_new(NULL, NULL, &table), PLIM_KERNEL_OK);
  for (int squares = 0; squares < 2; squares++) {
    plim_op_desc op = sgd_of(SGD_SIZE, squares, 1);
    cr_assert_eq(plim_kernel_list(table, &op, 1, NULL, 0), 1);
    op.in[1].dim[0] = squares ? 4 : 8;
    cr_assert_eq(plim_kernel_list(table, &op, 1, NULL, 0), 0);
  }
  plim_kernel_table_free(table);
}

Test(kernels_elementwise, image_scales_bytes_by_channel_into_every_layout) {
  static const plim_layout layouts[] = {PLIM_NHWC, PLIM_FLAT};
  for (int i = 0; i < 6; i++) {
    const int64_t channels = i / 2 + 1, height = i < 4 ? 7 : 70, width = i < 4 ? 5 : 90;
    plim_shape pixels = kernel_activation(PLIM_NHWC, 3, channels, height, width);
    pixels.dtype = PLIM_U8;
    plim_op_desc op =
        kernel_op(PLIM_OP_IMAGE, 1, 1, pixels, kernel_activation(layouts[i % 2], 3, channels, height, width));
    const float scale[4] = {0.25F, 0.5F, 0.125F, 1}, shift[4] = {-1, 2, 3, 0};
    memcpy(op.attrs.scale, scale, sizeof scale);
    memcpy(op.attrs.shift, shift, sizeof shift);
    kernel_check(&op, (uint64_t)i, 1e-6);
  }
}

Test(kernels_elementwise, operands_that_do_not_fit_together_are_not_served) {
  plim_kernel_table *table = NULL;
  cr_assert_eq(plim_kernel_table_new(NULL, NULL, &table), PLIM_KERNEL_OK);
  plim_op_desc op = kernel_op(PLIM_OP_ADD, 2, 1, shape_at(0), shape_at(0));
  op.in[1] = shape_at(0);
  cr_assert_eq(plim_kernel_list(table, &op, 1, NULL, 0), 1);
  op.in[1] = shape_at(4); /* the same sizes in another layout */
  cr_assert_eq(plim_kernel_list(table, &op, 1, NULL, 0), 0);
  op.in[1] = shape_at(3); /* other sizes */
  cr_assert_eq(plim_kernel_list(table, &op, 1, NULL, 0), 0);
  op.in[1] = kernel_mask(shape_at(0)); /* another type */
  cr_assert_eq(plim_kernel_list(table, &op, 1, NULL, 0), 0);
  plim_kernel_table_free(table);
}

/* Batch norm kernels. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/support/kernel_check.h"

/* Every layout: whole vectors, half vectors, rests, one chunk and many, enough work for several threads and less. */
static const struct {
  plim_layout layout;
  int64_t n, c, h, w;
} shapes[] = {
    {PLIM_FLAT, 3, 5, 7, 3},      {PLIM_FLAT, 2, 2, 1, 1},      {PLIM_FLAT, 40, 7, 0, 0},
    {PLIM_FLAT, 9, 3, 23, 29},    {PLIM_NHWC, 3, 5, 7, 3},      {PLIM_NHWC, 2, 16, 9, 31},
    {PLIM_NHWC, 2, 40, 13, 11},   {PLIM_NHWC, 5, 24, 6, 6},     {PLIM_NHWC, 9, 64, 8, 8},
    {PLIM_NCHW8C, 3, 24, 5, 7},   {PLIM_NCHW8C, 17, 8, 12, 12}, {PLIM_NCHW16C, 3, 32, 5, 7},
    {PLIM_NCHW16C, 23, 16, 7, 7}, {PLIM_NCHW16C, 1, 16, 1, 1},  {PLIM_NHWC, 3, 1, 5, 1},
    {PLIM_NHWC, 300, 3, 3, 3},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static plim_shape shape_at(int i) {
  return kernel_activation(shapes[i].layout, shapes[i].n, shapes[i].c, shapes[i].h, shapes[i].w);
}

static plim_shape pair_at(int i) {
  return kernel_shape(PLIM_F32, 2, 2, shapes[i].c, 1, 1);
}

Test(kernels_bn, statistics_are_mean_and_biased_variance) {
  for (int i = 0; i < SHAPES; i++) {
    plim_op_desc op = kernel_op(PLIM_OP_BN_STATS, 1, 1, shape_at(i), pair_at(i));
    kernel_check(&op, (uint64_t)i, 4e-6);
  }
}

Test(kernels_bn, statistics_survive_a_mean_far_from_zero) {
  for (int i = 0; i < SHAPES; i++) {
    plim_op_desc op = kernel_op(PLIM_OP_BN_STATS, 1, 1, shape_at(i), pair_at(i));
    kernel_operands plain, moved;
    kernel_operands_make(&op, 3, 0, &plain);
    kernel_operands_make(&op, 3, 0, &moved);
    for (int64_t e = 0; e < plim_shape_elements(&op.in[0]); e++) {
      float *x = (float *)moved.in[0] + e;
      *x = (*x + 3000) - 3000; /* what is left of x beside 3000, so that the two inputs differ by 3000 exactly */
      ((float *)plain.in[0])[e] = *x;
      *x += 3000;
    }
    kernel_run_once(&op, NULL, "single-source", 2, 0, &plain);
    kernel_run_once(&op, NULL, "single-source", 2, 0, &moved);
    const float *a = plain.out[0], *b = moved.out[0];
    for (int64_t c = 0; c < shapes[i].c; c++) {
      cr_assert(fabs((double)b[c] - 3000.0 - (double)a[c]) < 3e-4, "mean %g and %g", (double)a[c], (double)b[c]);
      const double va = (double)a[shapes[i].c + c], vb = (double)b[shapes[i].c + c];
      cr_assert(fabs(va - vb) < 1e-4 * (va + 1e-3), "variance %.9g and %.9g", va, vb);
    }
    kernel_operands_free(&op, &plain);
    kernel_operands_free(&op, &moved);
  }
}

Test(kernels_bn, apply_normalises_adds_and_clamps) {
  for (int i = 0; i < SHAPES; i++) {
    for (int form = 0; form < 6; form++) {
      plim_op_desc op = kernel_op(PLIM_OP_BN_APPLY, 3, 1, shape_at(i), shape_at(i));
      op.in[1] = op.in[2] = pair_at(i);
      op.attrs.add = form % 2;
      op.attrs.relu = form >= 2;
      if (op.attrs.add) op.in[op.n_in++] = op.in[0];
      if (form >= 4) op.out[op.n_out++] = kernel_mask(op.in[0]);
      kernel_check(&op, (uint64_t)i + (uint64_t)form, 1e-6);
    }
  }
}

Test(kernels_bn, running_statistics_move_towards_the_unbiased_ones) {
  static const int64_t counts[] = {1, 2, 6272};
  for (int i = 0; i < 3; i++) {
    const plim_shape stats = kernel_shape(PLIM_F32, 2, 2, 7 + 13 * i, 1, 1);
    plim_op_desc op = kernel_op(PLIM_OP_BN_RUNNING, 1, 0, stats, stats);
    op.n_upd = 1;
    op.upd[0] = stats;
    op.attrs.momentum = 0.1F;
    op.attrs.count = counts[i];
    kernel_check(&op, (uint64_t)i, 1e-6);
  }
}

static plim_op_desc backward(plim_op_kind kind, int i, int relu) {
  const int apply = kind == PLIM_OP_BN_BWD_APPLY;
  plim_op_desc op = kernel_op(kind, 3, 1, shape_at(i), apply ? shape_at(i) : pair_at(i));
  op.in[1] = op.in[0];
  op.in[2] = pair_at(i);
  if (apply) {
    op.in[3] = op.in[4] = op.in[2];
    op.n_in = 5;
  }
  op.attrs.relu = relu;
  if (relu) op.in[op.n_in++] = kernel_mask(op.in[0]);
  return op;
}

Test(kernels_bn, backward_matches_the_reference) {
  for (int i = 0; i < SHAPES; i++) {
    for (int relu = 0; relu < 2; relu++) {
      plim_op_desc reduce = backward(PLIM_OP_BN_BWD_REDUCE, i, relu), apply = backward(PLIM_OP_BN_BWD_APPLY, i, relu);
      kernel_check(&reduce, (uint64_t)i, 2e-6);
      kernel_check(&apply, (uint64_t)i, 2e-6);
    }
  }
}

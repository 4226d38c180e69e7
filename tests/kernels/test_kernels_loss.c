/* Softmax cross-entropy kernels. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/support/kernel_check.h"

static plim_op_desc forward(int64_t rows, int64_t classes) {
  const plim_shape logits = kernel_shape(PLIM_F32, 2, rows, classes, 1, 1);
  plim_op_desc op = kernel_op(PLIM_OP_SOFTMAX_XENT, 2, 3, logits, kernel_shape(PLIM_F32, 1, 1, 1, 1, 1));
  op.in[1] = kernel_shape(PLIM_I32, 1, rows, 1, 1, 1);
  op.out[1] = kernel_shape(PLIM_I32, 1, 2, 1, 1, 1);
  op.out[2] = logits;
  return op;
}

static plim_op_desc backward(int64_t rows, int64_t classes) {
  const plim_shape prob = kernel_shape(PLIM_F32, 2, rows, classes, 1, 1);
  plim_op_desc op = kernel_op(PLIM_OP_SOFTMAX_XENT_BWD, 2, 1, prob, prob);
  op.in[1] = kernel_shape(PLIM_I32, 1, rows, 1, 1, 1);
  return op;
}

Test(kernels_loss, forward_and_backward_match_the_reference) {
  static const int64_t sizes[][2] = {{1, 1}, {1, 10}, {7, 3}, {128, 10}, {33, 17}, {40, 1000}};
  for (int i = 0; i < 6; i++) {
    const plim_op_desc f = forward(sizes[i][0], sizes[i][1]), b = backward(sizes[i][0], sizes[i][1]);
    kernel_check(&f, (uint64_t)i, 1e-6);
    kernel_check(&b, (uint64_t)i, 1e-6);
  }
}

Test(kernels_loss, more_classes_than_floats_can_number_are_refused) {
  plim_kernel_table *table = NULL;
  plim_kernel_info info[4];
  cr_assert_eq(plim_kernel_table_new(NULL, NULL, &table), PLIM_KERNEL_OK);
  const plim_op_desc most = forward(1, INT64_C(1) << 24), more = forward(1, (INT64_C(1) << 24) + 1);
  cr_assert_eq(plim_kernel_list(table, &most, 1, info, 4), 1);
  cr_assert_eq(plim_kernel_list(table, &more, 1, info, 4), 0);
  plim_kernel_table_free(table);
}

Test(kernels_loss, a_batch_without_counted_labels_has_no_loss_and_no_gradient) {
  const plim_op_desc f = forward(4, 10), b = backward(4, 10);
  kernel_operands loss, gradient;
  kernel_operands_make(&f, 1, 0xFF, &loss);
  kernel_operands_make(&b, 1, 0xFF, &gradient);
  memset(loss.in[1], 0xFF, 16); /* labels -1 */
  memset(gradient.in[1], 0xFF, 16);
  kernel_run_once(&f, NULL, "single-source", 1, 0, &loss);
  kernel_run_once(&b, NULL, "single-source", 1, 0, &gradient);
  cr_assert(*(float *)loss.out[0] == 0);
  cr_assert_eq(((int32_t *)loss.out[1])[1], 0);
  for (int i = 0; i < 40; i++) cr_assert(((float *)gradient.out[0])[i] == 0);
  kernel_operands_free(&f, &loss);
  kernel_operands_free(&b, &gradient);
}

Test(kernels_loss, large_logits_neither_overflow_nor_hide_a_nan) {
  const plim_op_desc f = forward(2, 3);
  kernel_operands o;
  kernel_operands_make(&f, 1, 0, &o);
  const float logits[] = {3e4F, -3e4F, 0, -2e4F, 1e4F, 1e4F};
  const int32_t labels[] = {1, 2};
  memcpy(o.in[0], logits, sizeof logits);
  memcpy(o.in[1], labels, sizeof labels);
  kernel_run_once(&f, NULL, "single-source", 1, 0, &o);
  cr_assert(fabs((double)*(float *)o.out[0] - (6e4 + log(2.0)) / 2) < 0.01, "%g", (double)*(float *)o.out[0]);
  cr_assert_eq(((int32_t *)o.out[1])[0], 0);
  ((float *)o.in[0])[4] = NAN;
  kernel_run_once(&f, NULL, "single-source", 1, 0, &o);
  cr_assert(isnan(*(float *)o.out[0]));
  kernel_operands_free(&f, &o);
}

/* The hits of three rows of equal logits, whose labels are the first class, the last one, and none. */
static int32_t hits_of_rows_of(float logit, const plim_op_desc *op, int32_t classes) {
  const int32_t labels[] = {0, classes - 1, -1};
  kernel_operands o;
  kernel_operands_make(op, 1, 0, &o);
  for (int64_t i = 0; i < plim_shape_elements(&op->in[0]); i++) ((float *)o.in[0])[i] = logit;
  for (int64_t i = 0; op->n_in > 2 && i < plim_shape_elements(&op->in[2]); i++) ((float *)o.in[2])[i] = 1;
  memcpy(o.in[1], labels, sizeof labels);
  kernel_run_once(op, NULL, "single-source", 1, 0, &o);
  const int32_t hits = ((int32_t *)o.out[1])[0];
  cr_assert_eq(((int32_t *)o.out[1])[1], 2);
  cr_assert_not(isfinite(*(float *)o.out[0]));
  kernel_operands_free(op, &o);
  return hits;
}

Test(kernels_loss, a_row_of_nan_is_no_hit_and_of_minus_infinity_one_of_the_first_class) {
  const plim_op_desc f = forward(3, 300);
  plim_op_desc words = kernel_op(PLIM_OP_LINEAR_XENT, 3, 3, kernel_shape(PLIM_F32, 2, 3, 5, 1, 1), f.out[0]);
  words.in[1] = f.in[1];
  words.in[2] = kernel_shape(PLIM_F32, 2, 300, 5, 1, 1); /* of more than one block of words */
  words.out[1] = f.out[1];
  words.out[2] = kernel_shape(PLIM_F32, 1, 3, 1, 1, 1);
  cr_expect_eq(hits_of_rows_of(NAN, &f, 300), 0);
  cr_expect_eq(hits_of_rows_of(NAN, &words, 300), 0);
  cr_expect_eq(hits_of_rows_of(-INFINITY, &f, 300), 1);
  cr_expect_eq(hits_of_rows_of(-INFINITY, &words, 300), 1);
}

/* The gradient of the loss by central differences, through the kernel itself. */
Test(kernels_loss, backward_is_the_derivative_of_forward) {
  const plim_op_desc f = forward(3, 5), b = backward(3, 5);
  kernel_operands o, g;
  kernel_operands_make(&f, 5, 0, &o);
  kernel_operands_make(&b, 5, 0, &g);
  const int32_t labels[] = {4, -1, 0};
  memcpy(o.in[1], labels, sizeof labels);
  memcpy(g.in[1], labels, sizeof labels);
  kernel_run_once(&f, NULL, "single-source", 1, 0, &o);
  memcpy(g.in[0], o.out[2], 15 * sizeof(float));
  kernel_run_once(&b, NULL, "single-source", 1, 0, &g);
  for (int i = 0; i < 15; i++) {
    float *logit = (float *)o.in[0] + i, at = *logit, loss[2];
    for (int side = 0; side < 2; side++) {
      *logit = at + (side ? 0.01F : -0.01F);
      kernel_run_once(&f, NULL, "single-source", 1, 0, &o);
      loss[side] = *(float *)o.out[0];
    }
    *logit = at;
    const double slope = ((double)loss[1] - (double)loss[0]) / 0.02, want = (double)((float *)g.out[0])[i];
    cr_assert(fabs(slope - want) < 1e-4, "logit %d: %g, not %g", i, want, slope);
  }
  kernel_operands_free(&f, &o);
  kernel_operands_free(&b, &g);
}

/* Kernels of products of matrices, dense and strided, and of softmax; the gradients that their rows name. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/kernel_check.h"
#include "tests/support/kernel_reference.h"
#include "tests/support/kernel_samples.h"

static void check_both(const plim_op_desc *op, uint64_t seed, double tolerance) {
  plim_op_desc half = *op;
  kernel_check(op, seed, tolerance);
  kernel_to_bf16(&half);
  kernel_check(&half, seed, tolerance);
}

static const plim_op_kind kinds[] = {PLIM_OP_MATMUL, PLIM_OP_MATMUL_NT, PLIM_OP_MATMUL_TN};

static plim_op_desc product_of(plim_op_kind kind, int64_t products, int64_t rows, int64_t columns, int64_t depth) {
  const int tn = kind == PLIM_OP_MATMUL_TN, nt = kind == PLIM_OP_MATMUL_NT;
  const plim_shape a = kernel_shape(PLIM_F32, 3, products, tn ? depth : rows, tn ? rows : depth, 1);
  plim_op_desc op = kernel_op(kind, 2, 1, a, kernel_shape(PLIM_F32, 3, products, rows, columns, 1));
  op.in[1] = kernel_shape(PLIM_F32, 3, products, nt ? columns : depth, nt ? depth : columns, 1);
  return op;
}

Test(kernels_matmul, products_of_matrices_match_the_reference) {
  static const int64_t sizes[][4] = {{1, 1, 1, 1}, {3, 2, 5, 7}, {1, 32, 64, 64}, {2, 33, 65, 129}, {5, 4, 100, 3}};
  for (int i = 0; i < 3 * 5; i++) {
    const int64_t *s = sizes[i % 5];
    const plim_op_desc op = product_of(kinds[i / 5], s[0], s[1], s[2], s[3]);
    check_both(&op, (uint64_t)i, 2e-6);
  }
}

Test(kernels_matmul, a_product_without_other_sizes_and_one_of_six_of_them_match_the_reference) {
  plim_op_desc op = product_of(PLIM_OP_MATMUL, 1, 5, 7, 9);
  op.in[0] = kernel_shape(PLIM_F32, 2, 5, 9, 1, 1);
  op.in[1] = kernel_shape(PLIM_F32, 2, 9, 7, 1, 1);
  op.out[0] = kernel_shape(PLIM_F32, 2, 5, 7, 1, 1);
  check_both(&op, 1, 2e-6);
  const int64_t a[] = {2, 1, 3, 1, 2, 2, 4, 6}, b[] = {2, 1, 3, 1, 2, 2, 6, 5}, y[] = {2, 1, 3, 1, 2, 2, 4, 5};
  op.in[0] = plim_shape_make(PLIM_F32, PLIM_FLAT, 8, a);
  op.in[1] = plim_shape_make(PLIM_F32, PLIM_FLAT, 8, b);
  op.out[0] = plim_shape_make(PLIM_F32, PLIM_FLAT, 8, y);
  check_both(&op, 2, 2e-6);
}

/* Heads of queries where they lie between keys and values: [B][T][3][H][D] read as [B][H][T][D]. */
static plim_shape heads_of(int64_t batch, int64_t heads, int64_t tokens, int64_t depth) {
  plim_shape shape = kernel_shape(PLIM_F32, 4, batch, heads, tokens, depth);
  const int64_t token = 3 * heads * depth, stride[] = {tokens * token, depth, token, 1};
  memcpy(shape.stride, stride, sizeof stride);
  return shape;
}

Test(kernels_matmul, heads_are_read_where_they_lie_beside_keys_and_values) {
  plim_op_desc scores =
      kernel_op(PLIM_OP_MATMUL_NT, 2, 1, heads_of(2, 3, 21, 8), kernel_shape(PLIM_F32, 4, 2, 3, 21, 21));
  scores.in[1] = scores.in[0];
  check_both(&scores, 1, 2e-6);
  plim_op_desc sums = kernel_op(PLIM_OP_MATMUL, 2, 1, scores.out[0], kernel_shape(PLIM_F32, 4, 2, 3, 21, 8));
  sums.in[1] = scores.in[0];
  check_both(&sums, 2, 2e-6);
}

Test(kernels_matmul, steps_between_rows_and_between_columns_may_both_be_more_than_one) {
  plim_op_desc op = product_of(PLIM_OP_MATMUL, 2, 40, 70, 5);
  const int64_t a[] = {2000, 11, 2}, b[] = {3000, 3, 41};
  memcpy(op.in[0].stride, a, sizeof a);
  memcpy(op.in[1].stride, b, sizeof b);
  check_both(&op, 3, 2e-6);
}

Test(kernels_matmul, more_than_two_sizes_of_products_with_steps_of_their_own_have_no_kernel) {
  plim_op_desc op = kernel_sample(PLIM_OP_MATMUL, PLIM_FLAT);
  plim_kernel_table *table = NULL;
  plim_kernel_info info;
  cr_assert_eq(plim_kernel_table_new(NULL, NULL, &table), PLIM_KERNEL_OK);
  const int64_t a[] = {2, 2, 2, 3, 4}, b[] = {2, 2, 2, 4, 5}, y[] = {2, 2, 2, 3, 5};
  op.in[0] = plim_shape_make(PLIM_F32, PLIM_FLAT, 5, a);
  op.in[1] = plim_shape_make(PLIM_F32, PLIM_FLAT, 5, b);
  op.out[0] = plim_shape_make(PLIM_F32, PLIM_FLAT, 5, y);
  cr_assert_geq(plim_kernel_list(table, &op, 1, &info, 1), 1);
  const int64_t apart[] = {1000, 300, 100, 4, 1};
  memcpy(op.in[0].stride, apart, sizeof apart);
  cr_assert_eq(plim_kernel_list(table, &op, 1, &info, 1), 0);
  plim_kernel_table_free(table);
}

Test(kernels_matmul, images_with_channels_last_are_no_matrices) {
  char why[128];
  plim_op_desc op = kernel_op(PLIM_OP_SOFTMAX, 1, 1, kernel_activation(PLIM_NHWC, 2, 3, 4, 5),
                              kernel_activation(PLIM_NHWC, 2, 3, 4, 5));
  cr_assert_not(plim_op_fits(&op, NULL, why, sizeof why));
  cr_assert(strstr(why, "the attributes of this softmax do not suit its operands"), "%s", why);
}

Test(kernels_matmul, operations_are_counted_over_all_products) {
  const plim_op_desc op = product_of(PLIM_OP_MATMUL_NT, 5, 6, 7, 8);
  cr_assert_eq(plim_op_flops(&op), 2 * 5 * 6 * 7 * 8);
}

/* ---- softmax ---- */

Test(kernels_matmul, softmax_and_its_gradient_match_the_reference) {
  static const int64_t sizes[][2] = {{1, 1}, {3, 16}, {17, 37}, {9, 384}, {2, 5000}};
  for (int i = 0; i < 2 * 5; i++) {
    plim_op_desc op = kernel_sample(i < 5 ? PLIM_OP_SOFTMAX : PLIM_OP_SOFTMAX_BWD, PLIM_FLAT);
    op.in[0] = op.in[1] = op.out[0] = kernel_shape(PLIM_F32, 2, sizes[i % 5][0], sizes[i % 5][1], 1, 1);
    check_both(&op, (uint64_t)i, 2e-6);
  }
}

Test(kernels_matmul, softmax_of_large_numbers_is_finite_and_what_is_masked_has_no_weight) {
  plim_op_desc op = kernel_sample(PLIM_OP_SOFTMAX, PLIM_FLAT);
  kernel_operands o;
  op.in[0] = op.out[0] = kernel_shape(PLIM_F32, 2, 3, 4, 1, 1);
  const float x[] = {3e38F, 3e38F, -3e38F, 0, -INFINITY, 1, 1, -INFINITY, NAN, 0, 0, 0};
  const float want[] = {0.5F, 0.5F, 0, 0, 0, 0.5F, 0.5F, 0};
  kernel_operands_make(&op, 1, 0, &o);
  memcpy(o.in[0], x, sizeof x);
  kernel_run_once(&op, NULL, "single-source", 1, 0, &o);
  const float *y = o.out[0];
  for (int i = 0; i < 8; i++) cr_assert_eq(y[i], want[i], "[%d] is %g", i, (double)y[i]);
  for (int i = 8; i < 12; i++) cr_assert(isnan(y[i]), "[%d] is %g", i, (double)y[i]);
  kernel_operands_free(&op, &o);
}

/* ---- gradients that rows name, against central differences in double ---- */

enum { MOST = 32768 };

static double objective(const plim_op_desc *op, void *const *in, const float *dy) {
  double *out[1] = {calloc(MOST, sizeof(double))}, sum = 0;
  reference_run(op, in, NULL, NULL, out, NULL);
  for (int64_t i = 0; i < plim_shape_elements(&op->out[0]); i++) sum += out[0][i] * (double)dy[i];
  free(out[0]);
  return sum;
}

/* The operand of the forward op, or of its gradient, that a word of the row names. */
static const void *find_word(const plim_op_row *row, const kernel_operands *o, const float *dy, const char *word,
                             size_t length, const plim_op_desc *op, plim_shape *shape) {
  for (int i = 0; i < op->n_in; i++) {
    *shape = op->in[i];
    if (strlen(row->in[i].name) == length && strncmp(row->in[i].name, word, length) == 0) return o->in[i];
  }
  *shape = op->out[0];
  return length == strlen(row->out[0].name) ? o->out[0] : dy;
}

static void check_row(const plim_op_desc *op, int which) {
  const plim_op_row *row = plim_op_kind_row(op->kind);
  const plim_op_gradient *gradient = &row->gradient[which];
  const char *word = gradient->from;
  kernel_operands o, g;
  plim_op_desc back = {.kind = gradient->kind, .n_in = 2};
  const void *from[2];
  int of = 0;
  while (strcmp(row->in[of].name, gradient->of) != 0) of++;
  kernel_operands_make(op, 5, 0, &o);
  kernel_run_once(op, NULL, "single-source", 1, 0, &o);
  float *dy = calloc((size_t)plim_shape_elements(&op->out[0]), sizeof *dy);
  for (int64_t i = 0; i < plim_shape_elements(&op->out[0]); i++) dy[i] = (float)(i * 7 % 11) / 11 - 0.5F;
  for (int i = 0; i < 2; i++, word += strcspn(word, " "), word += strspn(word, " ")) {
    from[i] = find_word(row, &o, dy, word, strcspn(word, " "), op, &back.in[i]);
  }
  cr_assert(plim_op_infer(&back, 1, NULL, 0), "%s", gradient->from);
  cr_assert_eq(plim_shape_bytes(&back.out[0]), plim_shape_bytes(&op->in[of]));
  kernel_operands_make(&back, 6, 0, &g);
  for (int i = 0; i < 2; i++) memcpy(g.in[i], from[i], (size_t)plim_shape_bytes(&back.in[i]));
  kernel_run_once(&back, NULL, "single-source", 1, 0, &g);
  float *x = o.in[of];
  const float *got = g.out[0];
  for (int64_t i = 0; i < plim_shape_elements(&op->in[of]); i++) {
    const float at = x[i], step = 1.0F / 256;
    x[i] = at + step;
    const double above = objective(op, o.in, dy), high = (double)x[i];
    x[i] = at - step;
    const double below = objective(op, o.in, dy), slope = (above - below) / (high - (double)x[i]);
    x[i] = at;
    cr_assert(fabs(slope - (double)got[i]) < 1e-4 * fmax(1, fabs(slope)), "%s, %s [%d]: %g, not %g", row->name,
              gradient->of, (int)i, (double)got[i], slope);
  }
  kernel_operands_free(op, &o);
  kernel_operands_free(&back, &g);
  free(dy);
}

Test(kernels_matmul, gradients_of_rows_are_the_slopes_of_the_forward_ops) {
  for (int k = 0; k < 3; k++) {
    const plim_op_desc op = product_of(kinds[k], 2, 3, 5, 4);
    for (int which = 0; which < 2; which++) check_row(&op, which);
  }
  plim_op_desc op = kernel_sample(PLIM_OP_SOFTMAX, PLIM_FLAT);
  op.in[0] = op.out[0] = kernel_shape(PLIM_F32, 2, 3, 9, 1, 1);
  check_row(&op, 0);
}

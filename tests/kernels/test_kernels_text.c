/* Kernels of transformers: norms, activations, tables, attention, the loss over a vocabulary, updates. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/kernel_check.h"
#include "tests/support/kernel_reference.h"
#include "tests/support/kernel_samples.h"

/* The op with its activations in bf16, too. */
static void check_both(const plim_op_desc *op, uint64_t seed, double tolerance) {
  plim_op_desc half = *op;
  kernel_check(op, seed, tolerance);
  kernel_to_bf16(&half);
  kernel_check(&half, seed, tolerance);
}

static void set_rows(plim_op_desc *op, int64_t rows, int64_t columns) {
  for (int i = 0; i < op->n_in + op->n_out; i++) {
    plim_shape *shape = i < op->n_in ? &op->in[i] : &op->out[i - op->n_in];
    if (shape->rank == 2 && shape->dim[0] != 2) shape->dim[0] = rows;
    shape->dim[shape->rank - 1] = columns;
  }
}

Test(kernels_text, norms_and_their_gradients_match_the_reference) {
  static const plim_op_kind kinds[] = {PLIM_OP_LAYER_NORM, PLIM_OP_LAYER_NORM_BWD, PLIM_OP_RMS_NORM,
                                       PLIM_OP_RMS_NORM_BWD};
  static const int64_t sizes[][2] = {{1, 3}, {3, 16}, {65, 37}, {7, 384}, {130, 64}};
  for (int i = 0; i < 5 * 4; i++) {
    plim_op_desc op = kernel_sample(kinds[i / 5], PLIM_FLAT);
    set_rows(&op, sizes[i % 5][0], sizes[i % 5][1]);
    check_both(&op, (uint64_t)i, 5e-6);
  }
}

Test(kernels_text, a_row_of_one_column_is_its_own_mean) {
  plim_op_desc op = kernel_sample(PLIM_OP_LAYER_NORM, PLIM_FLAT);
  set_rows(&op, 3, 1);
  kernel_check(&op, 1, 1e-6);
}

/* The kinds y = f(x), by element, whose gradient is one op of dy and x: by their rows, so that a new one is tested. */
static const plim_op_row *activation(int kind) {
  const plim_op_row *row = plim_op_kind_row((plim_op_kind)kind);
  const int of_elements = row->in[0].shape && strcmp(row->in[0].shape, "...") == 0 && !row->in[1].name;
  return of_elements && row->gradient[0].from && strcmp(row->gradient[0].from, "dy x") == 0 ? row : NULL;
}

Test(kernels_text, activations_and_their_gradients_match_the_reference) {
  static const int64_t sizes[] = {1, 17, 4096, 4099};
  int n = 0;
  for (int kind = 0; kind < PLIM_OP_KIND_COUNT; kind++) {
    const plim_op_row *row = activation(kind);
    for (int i = 0; row && i < 2 * 4; i++) {
      plim_op_desc op = kernel_sample(i < 4 ? (plim_op_kind)kind : row->gradient[0].kind, PLIM_FLAT);
      op.in[0] = op.in[1] = op.out[0] = kernel_shape(PLIM_F32, 1, sizes[i % 4], 1, 1, 1);
      check_both(&op, (uint64_t)i, 1e-6);
    }
    n += row != NULL;
  }
  cr_assert_geq(n, 2, "gelu and silu are activations");
}

/* Far from 0 they are the identity or 0, and nothing overflows; NaN stays. */
Test(kernels_text, activations_of_large_numbers_are_finite) {
  plim_op_desc op = kernel_sample(PLIM_OP_GELU, PLIM_FLAT);
  kernel_operands o;
  op.in[0] = op.out[0] = kernel_shape(PLIM_F32, 1, 5, 1, 1, 1);
  for (int k = 0; k < 2; k++) {
    const float x[] = {100, -100, 3e4F, -3e4F, NAN}, want[] = {100, 0, 3e4F, 0};
    op.kind = k ? PLIM_OP_SILU : PLIM_OP_GELU;
    kernel_operands_make(&op, 1, 0, &o);
    memcpy(o.in[0], x, sizeof x);
    kernel_run_once(&op, NULL, "single-source", 1, 0, &o);
    const float *y = o.out[0];
    for (int i = 0; i < 4; i++) cr_assert(fabs((double)(y[i] - want[i])) < 1e-4, "%g: %g", (double)x[i], (double)y[i]);
    cr_assert(isnan(y[4]));
    kernel_operands_free(&op, &o);
  }
}

Test(kernels_text, tables_and_their_gradients_match_the_reference) {
  static const int64_t sizes[][4] = {{1, 1, 1, 1}, {2, 5, 7, 3}, {3, 33, 40, 17}, {2, 70, 64, 300}}; /* B, T, C, V */
  for (int i = 0; i < 4; i++) {
    const int64_t b = sizes[i][0], t = sizes[i][1], c = sizes[i][2], v = sizes[i][3];
    const plim_shape y = kernel_shape(PLIM_F32, 3, b, t, c, 1), token = kernel_shape(PLIM_I32, 2, b, t, 1, 1);
    const plim_shape words = kernel_shape(PLIM_F32, 2, v, c, 1, 1), position = kernel_shape(PLIM_F32, 2, t, c, 1, 1);
    plim_op_desc forward = kernel_sample(PLIM_OP_EMBEDDING, PLIM_FLAT);
    plim_op_desc backward = kernel_sample(PLIM_OP_EMBEDDING_BWD, PLIM_FLAT);
    forward.in[0] = backward.in[1] = token;
    forward.in[1] = backward.in[2] = backward.out[0] = words;
    forward.in[2] = backward.out[1] = position;
    forward.out[0] = backward.in[0] = y;
    for (int optional = 0; optional < 2; optional++) {
      check_both(&forward, (uint64_t)i, 1e-6);
      check_both(&backward, (uint64_t)i, 2e-6);
      forward.n_in = backward.n_in = 2;
      backward.n_out = 1;
    }
  }
}

static void set_heads(plim_op_desc *op, int64_t b, int64_t t, int64_t heads, int64_t depth) {
  const int backward = op->kind == PLIM_OP_ATTENTION_BWD;
  const plim_shape y = kernel_shape(PLIM_F32, 3, b, t, heads * depth, 1),
                   lse = kernel_shape(PLIM_F32, 3, b, t, heads, 1);
  const plim_shape qkv = kernel_shape(PLIM_F32, 3, b, t, 3 * heads * depth, 1);
  op->in[0] = backward ? y : qkv;
  op->in[1] = qkv;
  op->in[2] = y;
  op->in[3] = op->out[1] = lse;
  op->out[0] = backward ? qkv : y;
}

Test(kernels_text, attention_and_its_gradient_match_the_reference) {
  static const int64_t sizes[][4] = {{1, 1, 1, 1},  {2, 5, 3, 4},   {1, 16, 2, 16}, {2, 17, 1, 7},
                                     {1, 33, 2, 9}, {1, 70, 2, 32}, {1, 20, 1, 128}}; /* B, T, H, D */
  for (int i = 0; i < 7; i++) {
    plim_op_desc forward = kernel_sample(PLIM_OP_ATTENTION, PLIM_FLAT);
    plim_op_desc backward = kernel_sample(PLIM_OP_ATTENTION_BWD, PLIM_FLAT);
    set_heads(&forward, sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3]);
    set_heads(&backward, sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3]);
    check_both(&forward, (uint64_t)i, 2e-6);
    check_both(&backward, (uint64_t)i, 5e-6);
  }
}

Test(kernels_text, attention_does_not_see_what_comes_later) {
  plim_op_desc op = kernel_sample(PLIM_OP_ATTENTION, PLIM_FLAT);
  kernel_operands o, other;
  set_heads(&op, 1, 40, 1, 8);
  kernel_operands_make(&op, 3, 0, &o);
  kernel_operands_make(&op, 3, 0, &other);
  for (int i = 20 * 24; i < 40 * 24; i++) ((float *)other.in[0])[i] = 1e3F;
  kernel_run_once(&op, NULL, "single-source", 1, 0, &o);
  kernel_run_once(&op, NULL, "single-source", 1, 0, &other);
  const float *y = o.out[0], *same = other.out[0];
  for (int i = 0; i < 20 * 8; i++) cr_assert_eq(y[i], same[i]);
  cr_assert_neq(y[39 * 8], same[39 * 8]);
  kernel_operands_free(&op, &o);
  kernel_operands_free(&op, &other);
}

Test(kernels_text, attention_refuses_heads_that_do_not_divide_the_channels_or_are_too_deep) {
  plim_op_desc op = kernel_sample(PLIM_OP_ATTENTION, PLIM_FLAT);
  plim_kernel_table *table = NULL;
  plim_kernel_info info;
  cr_assert_eq(plim_kernel_table_new(NULL, NULL, &table), PLIM_KERNEL_OK);
  cr_assert_eq(plim_kernel_list(table, &op, 1, &info, 1), 1);
  op.out[1].dim[2] = 5;
  cr_assert_eq(plim_kernel_list(table, &op, 1, &info, 1), 0);
  set_heads(&op, 1, 4, 1, 129);
  cr_assert_eq(plim_kernel_list(table, &op, 1, &info, 1), 0);
  plim_kernel_table_free(table);
}

static void set_words(plim_op_desc *op, int64_t n, int64_t c, int64_t v) {
  const plim_shape x = kernel_activation(PLIM_FLAT, n, c, 0, 0), w = kernel_shape(PLIM_F32, 2, v, c, 1, 1);
  const plim_shape lse = kernel_shape(PLIM_F32, 1, n, 1, 1, 1);
  const int backward = op->kind == PLIM_OP_LINEAR_XENT_BWD;
  op->in[0] = x;
  op->in[1] = kernel_shape(PLIM_I32, 1, n, 1, 1, 1);
  op->in[2] = w;
  op->in[3] = op->out[2] = lse;
  if (backward) op->out[0] = x;
  if (backward) op->out[1] = w;
}

Test(kernels_text, the_loss_over_a_vocabulary_and_its_gradient_match_the_reference) {
  static const int64_t sizes[][3] = {{1, 1, 1}, {5, 7, 3}, {16, 64, 256}, {33, 70, 257}, {19, 130, 600}}; /* N, C, V */
  for (int i = 0; i < 5; i++) {
    plim_op_desc forward = kernel_sample(PLIM_OP_LINEAR_XENT, PLIM_FLAT);
    plim_op_desc backward = kernel_sample(PLIM_OP_LINEAR_XENT_BWD, PLIM_FLAT);
    set_words(&forward, sizes[i][0], sizes[i][1], sizes[i][2]);
    set_words(&backward, sizes[i][0], sizes[i][1], sizes[i][2]);
    check_both(&forward, (uint64_t)i, 3e-6);
    check_both(&backward, (uint64_t)i, 5e-6);
  }
}

Test(kernels_text, updates_match_the_reference_with_and_without_decay_and_clipping) {
  static const plim_op_kind kinds[] = {PLIM_OP_ADAM, PLIM_OP_ADAMW, PLIM_OP_SUM_SQUARES};
  static const int64_t sizes[] = {1, 31, 4096, 9001};
  for (int i = 0; i < 3 * 4 * 2; i++) {
    plim_op_desc op = kernel_sample(kinds[i / 8], PLIM_FLAT);
    op.in[0] = op.upd[0] = op.upd[1] = op.upd[2] = kernel_shape(PLIM_F32, 1, sizes[i / 2 % 4], 1, 1, 1);
    kernel_check(&op, (uint64_t)i, 1e-5); /* of a parameter of 1 that becomes small */
    op.n_in--;
    op.attrs.decay = 0;
    kernel_check(&op, (uint64_t)i, 1e-5);
  }
}

/* The parameter moves by what was computed, and only the states are rounded. */
Test(kernels_text, updates_with_states_in_bf16_match_the_reference) {
  static const plim_op_kind kinds[] = {PLIM_OP_ADAM, PLIM_OP_ADAMW, PLIM_OP_SGD};
  static const int64_t sizes[] = {1, 31, 9001};
  for (int i = 0; i < 3 * 3; i++) {
    plim_op_desc op = kernel_sample(kinds[i / 3], PLIM_FLAT);
    op.in[0] = op.upd[0] = op.upd[1] = op.upd[2] = kernel_shape(PLIM_F32, 1, sizes[i % 3], 1, 1, 1);
    kernel_to_bf16(&op);
    cr_assert_eq(op.upd[1].dtype, PLIM_BF16);
    cr_assert_eq(op.upd[0].dtype, PLIM_F32);
    kernel_check(&op, (uint64_t)i, 1e-5);
  }
}

static float number_of(uint16_t half) {
  const uint32_t bits = (uint32_t)half << 16;
  float number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

Test(kernels_text, a_velocity_in_bf16_is_rounded_to_nearest_with_ties_to_even_after_the_parameter_has_moved) {
  static const struct {
    float grad;
    uint16_t stored;
  } rows[] = {{1 + 1.0F / 256, 0x3f80}, {1 + 3.0F / 256, 0x3f82}, {1 + 1.5F / 256, 0x3f81}, {-1 - 1.0F / 256, 0xbf80}};
  plim_op_desc op = kernel_sample(PLIM_OP_SGD, PLIM_FLAT);
  op.in[0] = op.upd[0] = op.upd[1] = kernel_shape(PLIM_F32, 1, 1, 1, 1, 1);
  kernel_to_bf16(&op);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const float hyper[4] = {1, 0.5F, 0, 0}, zero = 0;
    kernel_operands o;
    kernel_operands_make(&op, 1, 0, &o);
    memcpy(o.in[0], &rows[i].grad, sizeof(float));
    memcpy(o.in[1], hyper, sizeof hyper);
    memcpy(o.upd[0], &zero, sizeof zero);
    memset(o.upd[1], 0, sizeof(uint16_t));
    kernel_run_once(&op, NULL, "single-source", 1, 0, &o);
    cr_assert_eq(*(const uint16_t *)o.upd[1], rows[i].stored, "%04x", *(const uint16_t *)o.upd[1]);
    cr_assert_eq(*(const float *)o.upd[0], -rows[i].grad);
    kernel_run_once(&op, NULL, "single-source", 1, 0, &o);
    const float next = 0.5F * number_of(rows[i].stored) + rows[i].grad;
    cr_assert_eq(*(const float *)o.upd[0], -rows[i].grad - next, "the next update begins with the rounded one");
    kernel_operands_free(&op, &o);
  }
}

/* ---- gradients against central differences, in double ---- */

enum { MOST = 4096 };

/* Sum over the first output of the forward op, each element times the gradient that the backward op is given. */
static double objective(const plim_op_desc *op, void *const *in, const float *dy) {
  double *out[PLIM_OP_MAX_OUT], sum = 0;
  for (int i = 0; i < op->n_out; i++) out[i] = calloc(MOST, sizeof(double));
  reference_run(op, in, NULL, NULL, out, NULL);
  for (int64_t i = 0; i < plim_shape_elements(&op->out[0]); i++) sum += out[0][i] * (dy ? (double)dy[i] : 1);
  for (int i = 0; i < op->n_out; i++) free(out[i]);
  return sum;
}

static void expect_slope(const plim_op_desc *op, kernel_operands *o, int operand, const float *dy, const float *want) {
  float *x = o->in[operand];
  for (int64_t i = 0; i < plim_shape_elements(&op->in[operand]); i++) {
    const float at = x[i], step = 1.0F / 256;
    x[i] = at + step;
    const double above = objective(op, o->in, dy), high = (double)x[i];
    x[i] = at - step;
    const double below = objective(op, o->in, dy), slope = (above - below) / (high - (double)x[i]);
    x[i] = at;
    cr_assert(fabs(slope - (double)want[i]) < 2e-4 * fmax(1, fabs(slope)), "%s, input %d [%d]: %g, not %g",
              plim_op_kind_name(op->kind), operand, (int)i, (double)want[i], slope);
  }
}

/* Forward in float, then backward with what it saved; `to` says which input of the backward op is which operand of the
 * forward one: in 0 .. 7, out 8 .. */
static void check_gradient(plim_op_kind forward, plim_op_kind backward, const int *from, const int *outputs) {
  const plim_op_desc f = kernel_sample(forward, PLIM_FLAT), b = kernel_sample(backward, PLIM_FLAT);
  kernel_operands o, g;
  kernel_operands_make(&f, 5, 0, &o);
  kernel_operands_make(&b, 6, 0, &g);
  kernel_run_once(&f, NULL, "single-source", 1, 0, &o);
  for (int i = 0; i < b.n_in; i++) {
    if (from[i] < 0) continue;
    const void *saved = from[i] < 8 ? o.in[from[i]] : o.out[from[i] - 8];
    memcpy(g.in[i], saved, (size_t)plim_shape_bytes(&b.in[i]));
  }
  if (backward == PLIM_OP_EMBEDDING_BWD) memset(g.in[2], 0, (size_t)plim_shape_bytes(&b.in[2]));
  kernel_run_once(&b, NULL, "single-source", 1, 0, &g);
  const float *dy = backward == PLIM_OP_LINEAR_XENT_BWD ? NULL : g.in[0];
  for (int i = 0; i < b.n_out; i++) expect_slope(&f, &o, outputs[i], dy, g.out[i]);
  kernel_operands_free(&f, &o);
  kernel_operands_free(&b, &g);
}

static const struct {
  plim_op_kind forward, backward;
  int from[4], outputs[2];
} gradients[] = {
    {PLIM_OP_LAYER_NORM, PLIM_OP_LAYER_NORM_BWD, {-1, 0, 1}, {0, 1}},
    {PLIM_OP_RMS_NORM, PLIM_OP_RMS_NORM_BWD, {-1, 0, 1}, {0, 1}},
    {PLIM_OP_EMBEDDING, PLIM_OP_EMBEDDING_BWD, {-1, 0, -1}, {1, 2}},
    {PLIM_OP_ATTENTION, PLIM_OP_ATTENTION_BWD, {-1, 0, 8, 9}, {0}},
    {PLIM_OP_LINEAR_XENT, PLIM_OP_LINEAR_XENT_BWD, {0, 1, 2, 10}, {0, 2}},
};

Test(kernels_text, gradients_are_the_slopes_of_the_forward_ops) {
  for (size_t i = 0; i < sizeof gradients / sizeof *gradients; i++) {
    check_gradient(gradients[i].forward, gradients[i].backward, gradients[i].from, gradients[i].outputs);
  }
}

static void expect_slope_of_activation(plim_op_kind forward, plim_op_kind backward, float x) {
  const plim_shape shape = kernel_shape(PLIM_F32, 1, 1, 1, 1, 1);
  const plim_op_desc f = kernel_op(forward, 1, 1, shape, shape);
  plim_op_desc b = kernel_op(backward, 2, 1, shape, shape);
  const float one = 1;
  kernel_operands o, g;
  b.in[1] = shape;
  kernel_operands_make(&f, 1, 0, &o);
  kernel_operands_make(&b, 1, 0, &g);
  memcpy(o.in[0], &x, sizeof x);
  memcpy(g.in[0], &one, sizeof one);
  memcpy(g.in[1], &x, sizeof x);
  kernel_run_once(&b, NULL, "single-source", 1, 0, &g);
  expect_slope(&f, &o, 0, g.in[0], g.out[0]);
  kernel_operands_free(&f, &o);
  kernel_operands_free(&b, &g);
}

Test(kernels_text, gradients_of_activations_are_their_slopes) {
  for (int kind = 0; kind < PLIM_OP_KIND_COUNT; kind++) {
    const plim_op_row *row = activation(kind);
    for (int i = -60; row && i <= 60; i++) {
      expect_slope_of_activation((plim_op_kind)kind, row->gradient[0].kind, (float)i / 10);
    }
  }
}

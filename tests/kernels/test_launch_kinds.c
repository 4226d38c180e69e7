/* What kernels/launch_kinds.c says of all kinds: an op has kernels only when its operands follow the rule of its kind.
 */
#include <criterion/criterion.h>
#include <stdint.h>

#include "kernels/launch.h"
#include "tests/support/kernel_check.h"
#include "tests/support/kernel_samples.h"

static const plim_layout layouts[] = {PLIM_FLAT, PLIM_NHWC, PLIM_NCHW8C, PLIM_NCHW16C};
enum { LAYOUTS = 4 };

static int32_t count_of(const plim_op_desc *op) {
  return op->n_in + op->n_out + op->n_upd;
}

static plim_shape *operand_of(plim_op_desc *op, int32_t i) {
  if (i < op->n_in) return &op->in[i];
  return i < op->n_in + op->n_out ? &op->out[i - op->n_in] : &op->upd[i - op->n_in - op->n_out];
}

static int is_served(const plim_op_desc *op) {
  k_launch launch;
  return k_launch_make(op, &launch);
}

/* Calls `check` with an op of each kind that the kernels serve, in each layout. */
static void for_samples(void (*check)(const plim_op_desc *op)) {
  for (int i = 0; i < k_launch_kinds(); i++) {
    for (int l = 0; l < LAYOUTS; l++) {
      const plim_op_desc op = kernel_sample(k_launch_kind(i), layouts[l]);
      cr_assert(is_served(&op), "%s", plim_op_kind_name(op.kind));
      check(&op);
    }
  }
}

static int n_changed, n_refused;

/* An op with a change is served only when it follows its rule. */
static void expect_rule(const plim_op_desc *op, int32_t operand) {
  const int fits = plim_op_fits(op, NULL, NULL, 0);
  cr_assert(fits || !is_served(op), "%s with another operand %d is served", plim_op_kind_name(op->kind), (int)operand);
  n_changed++;
  n_refused += !fits;
}

static void change_sizes(const plim_op_desc *op) {
  for (int32_t i = 0; i < count_of(op); i++) {
    for (int32_t d = 0; d < PLIM_MAX_RANK; d++) {
      plim_op_desc changed = *op;
      plim_shape *shape = operand_of(&changed, i);
      shape->dim[d] += plim_layout_block(shape->layout);
      if (d >= shape->rank) shape->rank = d + 1;
      expect_rule(&changed, i);
    }
  }
}

/* A vector becomes a matrix of one row, and a matrix a vector of as many elements. */
static void change_ranks(const plim_op_desc *op) {
  for (int32_t i = 0; i < count_of(op); i++) {
    plim_op_desc changed = *op;
    plim_shape *shape = operand_of(&changed, i);
    const int64_t dim[] = {1, plim_shape_elements(shape)};
    *shape = plim_shape_make(shape->dtype, PLIM_FLAT, shape->rank == 1 ? 2 : 1, shape->rank == 1 ? dim : dim + 1);
    expect_rule(&changed, i);
  }
}

static void change_counts(const plim_op_desc *op) {
  plim_op_desc changed = *op;
  changed.n_in--;
  expect_rule(&changed, -1);
  changed.n_in += 2;
  changed.in[op->n_in] = op->in[0];
  expect_rule(&changed, -1);
  changed = *op;
  changed.out[changed.n_out++] = op->in[0];
  expect_rule(&changed, -1);
  changed = *op;
  changed.upd[changed.n_upd++] = op->in[0];
  expect_rule(&changed, -1);
}

Test(launch_kinds, ops_that_do_not_follow_the_rule_of_their_kind_are_not_served) {
  for_samples(change_sizes);
  for_samples(change_ranks);
  for_samples(change_counts);
  cr_assert_gt(n_refused, n_changed / 2);
}

/* No operand of an op may have more elements than 63 bits count, or none, even where the rule has no name for the size.
 */
static void spoil_sizes(const plim_op_desc *op) {
  static const int64_t sizes[] = {0, -1, INT64_MAX, INT64_MIN};
  for (int32_t i = 0; i < count_of(op); i++) {
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      plim_op_desc changed = *op;
      operand_of(&changed, i)->dim[operand_of(&changed, i)->rank - 1] = sizes[s];
      cr_assert_not(is_served(&changed), "%s", plim_op_kind_name(op->kind));
    }
    for (int32_t rank = -1; rank <= PLIM_MAX_RANK + 1; rank += rank < 0 ? 1 : PLIM_MAX_RANK + 1) {
      plim_op_desc changed = *op;
      operand_of(&changed, i)->rank = rank;
      cr_assert_not(is_served(&changed), "%s", plim_op_kind_name(op->kind));
    }
  }
}

Test(launch_kinds, sizes_and_ranks_that_are_none_are_not_served) {
  for_samples(spoil_sizes);
}

/* All dimensions at once, so that the rules agree. */
Test(launch_kinds, operands_whose_bytes_overflow_are_not_served) {
  for (int i = 0; i < k_launch_kinds(); i++) {
    plim_op_desc op = kernel_sample(k_launch_kind(i), PLIM_FLAT);
    for (int32_t k = 0; k < count_of(&op); k++) {
      plim_shape *shape = operand_of(&op, k);
      for (int32_t d = 0; d < shape->rank; d++) shape->dim[d] *= INT64_C(1) << 40;
    }
    cr_assert_not(is_served(&op), "%s", plim_op_kind_name(op.kind));
  }
}

/* Kernels divide by a row's elements in 32 bits. */
Test(launch_kinds, rows_of_parts_that_32_bits_do_not_count_are_not_served) {
  for (int wide = 0; wide < 2; wide++) {
    for (int is_split = 0; is_split < 2; is_split++) {
      plim_op_desc op = kernel_sample(is_split ? PLIM_OP_SPLIT : PLIM_OP_CONCAT, PLIM_FLAT);
      for (int32_t k = 0; k < count_of(&op); k++) operand_of(&op, k)->dim[2] = INT64_C(1) << (wide ? 30 : 10);
      cr_assert_eq(is_served(&op), !wide, "%s", plim_op_kind_name(op.kind));
    }
  }
}

/* ---- tiles that 32 bits do not count; no operand is there ---- */

static plim_shape images_of(int64_t n, int64_t channels, int64_t height, int64_t width) {
  return kernel_activation(PLIM_FLAT, n, channels, height, width);
}

/* A row of one element is a tile: 2^shift in all. */
static plim_op_desc pool_of(plim_op_kind kind, int shift) {
  const plim_shape x = images_of(INT64_C(1) << shift, 1 << 16, 1, 1);
  plim_op_desc op = kernel_op(kind, 1, 1, x, x);
  for (int i = 0; i < 2; i++) op.attrs.kernel[i] = op.attrs.stride[i] = 1;
  return op;
}

static plim_op_desc statistics_of(plim_op_kind kind, int shift) {
  (void)kind;
  return kernel_op(PLIM_OP_BN_STATS, 1, 1, images_of(INT64_C(1) << shift, 1 << 16, 2, 1),
                   kernel_shape(PLIM_F32, 2, 2, 1 << 16, 1, 1));
}

static plim_op_desc mean_of(plim_op_kind kind, int shift) {
  (void)kind;
  return kernel_op(PLIM_OP_GLOBAL_AVG_POOL, 1, 1, images_of(INT64_C(1) << shift, 1 << 16, 2, 1),
                   kernel_activation(PLIM_FLAT, INT64_C(1) << shift, 1 << 16, 0, 0));
}

/* Heads of one channel over one token. */
static plim_op_desc attention_of(plim_op_kind kind, int shift) {
  const int64_t b = INT64_C(1) << shift, c = 1 << 16;
  const plim_shape y = kernel_shape(PLIM_F32, 3, b, 1, c, 1), qkv = kernel_shape(PLIM_F32, 3, b, 1, 3 * c, 1);
  plim_op_desc op = kernel_sample(kind, PLIM_FLAT);
  op.in[0] = kind == PLIM_OP_ATTENTION ? qkv : y;
  op.in[1] = qkv;
  op.in[2] = op.in[3] = op.out[1] = y;
  op.out[0] = kind == PLIM_OP_ATTENTION ? y : qkv;
  return op;
}

Test(launch_kinds, phases_of_more_tiles_than_32_bits_count_are_not_served) {
  static const struct {
    plim_op_kind kind;
    plim_op_desc (*make)(plim_op_kind kind, int shift);
  } cases[] = {{PLIM_OP_AVG_POOL, pool_of},          {PLIM_OP_AVG_POOL_BWD, pool_of},
               {PLIM_OP_MAX_POOL_BWD, pool_of},      {PLIM_OP_BN_STATS, statistics_of},
               {PLIM_OP_GLOBAL_AVG_POOL, mean_of},   {PLIM_OP_ATTENTION, attention_of},
               {PLIM_OP_ATTENTION_BWD, attention_of}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int shift = 15; shift <= 16; shift++) {
      plim_op_desc op = cases[i].make(cases[i].kind, shift);
      if (op.kind == PLIM_OP_MAX_POOL_BWD) {
        op.n_in = 2;
        op.in[1] = op.in[0];
        op.in[1].dtype = PLIM_U8;
      }
      cr_assert(plim_op_fits(&op, NULL, NULL, 0), "%s", plim_op_kind_name(op.kind));
      cr_assert_eq(is_served(&op), shift == 15, "%s of 2^%d tiles", plim_op_kind_name(op.kind), shift + 16);
    }
  }
}

/* Pooling counts the positions of an axis in 32 bits. */
Test(launch_kinds, images_whose_rows_or_columns_32_bits_do_not_count_are_not_pooled) {
  for (int axis = 0; axis < 2; axis++) {
    for (int shift = 30; shift <= 31; shift++) {
      plim_op_desc op = pool_of(PLIM_OP_AVG_POOL, 0);
      op.in[0] = op.out[0] = images_of(1, 1, axis == 0 ? INT64_C(1) << shift : 1, axis == 1 ? INT64_C(1) << shift : 1);
      cr_assert_eq(is_served(&op), shift == 30, "2^%d along axis %d", shift, axis);
    }
  }
}

/* One thread of a CPU counts the elements of a row in an int. */
Test(launch_kinds, rows_of_more_columns_than_an_int_counts_are_not_served) {
  static const plim_op_kind kinds[] = {PLIM_OP_LAYER_NORM,   PLIM_OP_LAYER_NORM_BWD, PLIM_OP_RMS_NORM,
                                       PLIM_OP_RMS_NORM_BWD, PLIM_OP_SOFTMAX,        PLIM_OP_SOFTMAX_BWD,
                                       PLIM_OP_EMBEDDING,    PLIM_OP_EMBEDDING_BWD};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    for (int more = 0; more < 2; more++) {
      plim_op_desc op = kernel_sample(kinds[i], PLIM_FLAT);
      const int64_t columns = op.out[0].dim[op.out[0].rank - 1];
      for (int32_t k = 0; k < count_of(&op); k++) {
        plim_shape *shape = operand_of(&op, k);
        if (shape->dim[shape->rank - 1] == columns) shape->dim[shape->rank - 1] = (int64_t)INT32_MAX + more;
      }
      cr_assert(plim_op_fits(&op, NULL, NULL, 0), "%s", plim_op_kind_name(op.kind));
      cr_assert_eq(is_served(&op), !more, "%s", plim_op_kind_name(op.kind));
    }
  }
}

/* The kernels of these read an activation in one layout and write another in a second one. */
static int may_differ(const plim_op_desc *op, int32_t operand) {
  switch (op->kind) {
    case PLIM_OP_IMAGE:
      return operand == 1;
    case PLIM_OP_CONV2D:
    case PLIM_OP_CONV2D_BWD_DATA:
    case PLIM_OP_CONV_TRANSPOSE2D:
      return operand != 1;
    case PLIM_OP_CONV2D_BWD_WEIGHTS:
      return operand != 2;
    default:
      return 0;
  }
}

static void change_layouts(const plim_op_desc *op) {
  plim_op_desc same = *op;
  int images = 0;
  for (int32_t i = 0; i < count_of(op); i++) images += operand_of(&same, i)->rank == 4;
  for (int32_t i = 0; i < count_of(op); i++) {
    plim_op_desc changed = *op;
    plim_shape *shape = operand_of(&changed, i);
    if (shape->rank != 4 || images == 1) continue;
    shape->layout = shape->layout == PLIM_NHWC ? PLIM_FLAT : PLIM_NHWC;
    cr_assert_eq(is_served(&changed), may_differ(op, i), "%s, operand %d", plim_op_kind_name(op->kind), (int)i);
  }
}

Test(launch_kinds, operands_have_one_layout_but_for_convolutions_and_images) {
  for_samples(change_layouts);
}

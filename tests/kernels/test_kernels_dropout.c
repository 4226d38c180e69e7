/* Dropout: values, share, and what the draw depends on. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/philox.h"
#include "tests/support/kernel_check.h"

static plim_op_desc dropout(int64_t n, int64_t c, float drop) {
  const plim_shape x = kernel_activation(PLIM_FLAT, n, c, 0, 0);
  plim_op_desc op = kernel_op(PLIM_OP_DROPOUT, 1, 2, x, x);
  op.out[1] = kernel_mask(x);
  op.attrs.drop = drop;
  return op;
}

Test(kernels_dropout, forward_and_backward_match_the_reference) {
  static const int64_t sizes[][2] = {{1, 1}, {3, 7}, {4, 16}, {8, 64}, {33, 129}, {200, 100}};
  static const float drops[] = {0.2F, 0.0F, 0.5F, 0.9F, 0.2F, 0.3F};
  for (int i = 0; i < 6; i++) {
    const plim_op_desc forward = dropout(sizes[i][0], sizes[i][1], drops[i]);
    plim_op_desc backward = kernel_op(PLIM_OP_DROPOUT_BWD, 2, 1, forward.in[0], forward.in[0]);
    backward.in[1] = forward.out[1];
    backward.attrs.drop = drops[i];
    kernel_check(&forward, (uint64_t)i, 1e-6);
    kernel_check(&backward, (uint64_t)i, 1e-6);
  }
}

/* The mask that (seed, step, op) gives to n elements; to be freed. */
static unsigned char *draw(int64_t n, float drop, uint64_t seed, int64_t step, int32_t op_id) {
  const plim_op_desc op = dropout(1, n, drop);
  plim_kernel_table *table = NULL;
  plim_kernel *kernel = NULL;
  kernel_operands o;
  kernel_operands_make(&op, 1, 0, &o);
  cr_assert_eq(plim_kernel_table_new(NULL, NULL, &table), PLIM_KERNEL_OK);
  cr_assert_eq(plim_kernel_make(table, &op, "single-source", 2, &kernel), PLIM_KERNEL_OK);
  plim_kernel_args args = {o.in, o.out, o.upd, NULL, seed, step, op_id, NULL};
  cr_assert_eq(plim_kernel_run(kernel, &args), PLIM_KERNEL_OK);
  unsigned char *mask = o.out[1];
  o.out[1] = NULL;
  kernel_operands_free(&op, &o);
  plim_kernel_free(kernel);
  plim_kernel_table_free(table);
  return mask;
}

static int64_t bits_set(const unsigned char *mask, int64_t n) {
  int64_t set = 0;
  for (int64_t i = 0; i < n; i++) set += mask[i / 8] >> (i % 8) & 1;
  return set;
}

Test(kernels_dropout, keeps_the_share_that_was_asked_for) {
  static const float drops[] = {0.0F, 0.1F, 0.2F, 0.5F, 0.95F};
  const int64_t n = 200000;
  for (int i = 0; i < 5; i++) {
    unsigned char *mask = draw(n, drops[i], 3, 4, 5);
    const double share = (double)bits_set(mask, n) / (double)n, want = 1 - (double)drops[i];
    const double deviation = sqrt(want * (1 - want) / (double)n);
    cr_assert(fabs(share - want) <= 5 * deviation, "kept %g, not %g", share, want);
    free(mask);
  }
}

Test(kernels_dropout, the_draw_is_a_function_of_seed_step_and_op) {
  const int64_t n = 4096, bytes = n / 8;
  unsigned char *mask[5] = {draw(n, 0.5F, 3, 4, 5), draw(n, 0.5F, 3, 4, 5), draw(n, 0.5F, 2, 4, 5),
                            draw(n, 0.5F, 3, 5, 5), draw(n, 0.5F, 3, 4, 6)};
  cr_assert(memcmp(mask[0], mask[1], (size_t)bytes) == 0);
  for (int i = 2; i < 5; i++) {
    int64_t differ = 0;
    for (int64_t b = 0; b < bytes; b++) {
      const unsigned char x = mask[0][b] ^ mask[i][b];
      differ += bits_set(&x, 8);
    }
    cr_assert(differ > n * 45 / 100 && differ < n * 55 / 100, "draw %d shares all but %lld bits", i, (long long)differ);
  }
  for (int i = 0; i < 5; i++) free(mask[i]);
}

Test(kernels_dropout, an_element_is_kept_by_the_word_that_the_source_says) {
  const int64_t n = 1000;
  unsigned char *mask = draw(n, 0.25F, 9, 8, 7);
  for (int64_t e = 0; e < n; e++) {
    const uint64_t index = UINT64_C(7) << 32 | (uint64_t)(e / 64 * 16 + e % 16);
    const uint32_t word = plim_philox_at(9, 8, index).word[e % 64 / 16];
    cr_assert_eq(mask[e / 8] >> (e % 8) & 1, word >= UINT32_C(1) << 30, "element %lld", (long long)e);
  }
  free(mask);
}

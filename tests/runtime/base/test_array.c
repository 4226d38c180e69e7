/* Arrays that grow and blocks that are carved twice. */
#include "runtime/base/array.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "tests/support/small_graph.h"

Test(array, grows_zeroed_and_keeps_its_contents) {
  plim_context *ctx = plim_test_context();
  int32_t *x = NULL;
  int64_t capacity = 0;
  for (int32_t i = 0; i < 1000; i++) {
    cr_assert_eq(plim_array_reserve(ctx, &x, &capacity, i + 1, sizeof *x), PLIM_OK);
    cr_assert_eq(x[i], 0);
    x[i] = i + 1;
  }
  for (int32_t i = 0; i < 1000; i++) cr_assert_eq(x[i], i + 1);
  cr_assert_lt(plim_context_memory(ctx).allocations, 10);
  plim_release(ctx, x, capacity, sizeof *x);
  cr_assert_eq(plim_context_memory(ctx).bytes, 0);
  plim_context_free(ctx);
}

Test(array, size_that_overflows_leaves_it_as_it_was) {
  plim_context *ctx = plim_test_context();
  int32_t *x = NULL;
  int64_t capacity = 0;
  cr_assert_eq(plim_array_reserve(ctx, &x, &capacity, 3, sizeof *x), PLIM_OK);
  int32_t *before = x;
  cr_assert_eq(plim_array_reserve(ctx, &x, &capacity, INT64_MAX / 2, sizeof *x), PLIM_EOVERFLOW);
  cr_assert_eq(x, before);
  cr_assert_eq(capacity, 16);
  plim_release(ctx, x, capacity, sizeof *x);
  plim_context_free(ctx);
}

Test(array, block_gives_the_same_aligned_places_when_carved_again) {
  _Alignas(16) char memory[256];
  plim_block measure = {NULL, 0}, block = {memory, 0};
  cr_assert_null(plim_block_take(&measure, 3, 1));
  cr_assert_null(plim_block_take(&measure, 5, 8));
  cr_assert_null(plim_block_take(&measure, 0, 8));
  cr_assert_eq(measure.bytes, 16 + 40 + 8);
  cr_assert_eq(plim_block_take(&block, 3, 1), memory);
  cr_assert_eq(plim_block_take(&block, 5, 8), memory + 16);
  cr_assert_eq(plim_block_take(&block, 0, 8), memory + 64);
  cr_assert_eq(block.bytes, measure.bytes);
}

Test(array, block_that_overflows_stays_so) {
  plim_block measure = {NULL, 0};
  (void)plim_block_take(&measure, INT64_MAX / 2, 8);
  cr_assert_eq(measure.bytes, -1);
  (void)plim_block_take(&measure, 1, 1);
  cr_assert_eq(measure.bytes, -1);
}

Test(array, ids_are_copied_one_list_after_the_other) {
  static const int32_t a[] = {3, 1, 4, 1, 5}, b[] = {9};
  int32_t to[7] = {0, 0, 0, 0, 0, 0, -7}, *next = to;
  cr_assert_eq(plim_ids_copy(&next, a, 5), to);
  cr_assert_eq(plim_ids_copy(&next, NULL, 0), to + 5);
  cr_assert_eq(plim_ids_copy(&next, b, 1), to + 5);
  cr_assert_eq(next, to + 6);
  cr_assert_arr_eq(to, a, sizeof a);
  cr_assert(to[5] == 9 && to[6] == -7);
}

/* planner/track/blocked_profile.c: sums of what exceeds a limit are those of a plain array, whatever was added where.
 * */
#include "planner/track/memory_profile.h"

#include <criterion/criterion.h>

#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { MOST = 700 };

static int64_t plain_excess(const int64_t *level, int64_t limit, int64_t bytes, int32_t from, int32_t to) {
  int64_t sum = 0;
  for (int32_t k = from + 1; k < to; k++) {
    int64_t over = level[k] - limit;
    sum += over <= 0 ? 0 : over < bytes ? over : bytes;
  }
  return sum;
}

/* Lengths around whole blocks; steep and flat levels, so that blocks lie on every side of the limit and across it. */
Test(blocked_profile, additions_and_sums_over_spans_are_those_of_an_array) {
  static const int32_t lengths[] = {1, 2, 63, 64, 65, 127, 128, 129, 640, MOST};
  plim_context *ctx = NULL;
  int64_t plain[MOST];
  uint64_t random = test_seed(3);
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    int32_t n = lengths[i];
    plim_blocked_profile blocked_profile;
    cr_assert_eq(plim_blocked_profile_begin(ctx, MOST, &blocked_profile), PLIM_OK);
    for (int round = 0; round < 20; round++) {
      int64_t slope = test_random_between(&random, 0, 20);
      for (int32_t k = 0; k < n; k++) {
        plain[k] = blocked_profile.level[k] = slope * (k < n / 2 ? k : n - k) + test_random_between(&random, 0, 9);
      }
      plim_blocked_profile_set(&blocked_profile, n);
      for (int change = 0; change < 60; change++) {
        int32_t from = (int32_t)test_random_between(&random, -1, n - 1);
        int32_t to = (int32_t)test_random_between(&random, from, n);
        int64_t added = test_random_between(&random, -500, 500), bytes = test_random_between(&random, 0, 300);
        int64_t limit = test_random_between(&random, -500, slope * n / 2 + 500);
        cr_assert_eq(plim_blocked_profile_excess(&blocked_profile, limit, bytes, from, to),
                     plain_excess(plain, limit, bytes, from, to), "%d positions, round %d: from %d to %d", n, round,
                     from, to);
        plim_blocked_profile_add(&blocked_profile, added, from, to);
        for (int32_t k = from + 1; k < to; k++) plain[k] += added;
      }
      for (int32_t k = 0; k < n; k++) cr_assert_eq(plim_blocked_profile_at(&blocked_profile, k), plain[k]);
    }
    plim_blocked_profile_end(&blocked_profile);
  }
  plim_context_free(ctx);
}

Test(blocked_profile, a_sum_that_does_not_fit_is_capped) {
  enum { POSITIONS = 200 };
  const int64_t high = INT64_C(1) << 60;
  plim_context *ctx = NULL;
  plim_blocked_profile blocked_profile;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  cr_assert_eq(plim_blocked_profile_begin(ctx, POSITIONS, &blocked_profile), PLIM_OK);
  for (int32_t k = 0; k < POSITIONS; k++) blocked_profile.level[k] = k % 64 == 0 ? 0 : high + k;
  plim_blocked_profile_set(&blocked_profile, POSITIONS);
  cr_assert_eq(plim_blocked_profile_excess(&blocked_profile, 0, 2 * high, -1, POSITIONS), INT64_MAX,
               "within the range");
  cr_assert_eq(plim_blocked_profile_excess(&blocked_profile, 0, high, 64, 128), INT64_MAX, "cut off by the range");
  cr_assert_eq(plim_blocked_profile_excess(&blocked_profile, -high, high, -1, POSITIONS), INT64_MAX, "above the range");
  cr_assert_eq(plim_blocked_profile_excess(&blocked_profile, high, 2 * high, -1, 64), 63 * 64 / 2,
               "what fits is exact");
  plim_blocked_profile_end(&blocked_profile);
  plim_context_free(ctx);
}

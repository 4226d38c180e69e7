/* The window search: cases that other implementations get wrong, and brute force. */
#include "runtime/arena/window.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

#define EVICTABLE(bytes, cost) \
  { (bytes), (cost), PLIM_ROW_EVICTABLE }
#define PINNED(bytes) \
  { (bytes), 0, PLIM_ROW_BREAKER }
#define FREE(bytes) \
  { (bytes), 0, PLIM_ROW_FREE }
#define FIND(row, need, out) plim_window_find((int32_t)(sizeof(row) / sizeof *(row)), row, need, 0, 2, out)

static void assert_rows(const plim_window *w, int32_t begin, int32_t end) {
  cr_expect_eq(w->begin, begin, "begins at %d, not %d", w->begin, begin);
  cr_expect_eq(w->end, end, "ends at %d, not %d", w->end, end);
}

Test(window, shrinks_at_the_last_piece_too) {
  plim_window out[2];
  const plim_window_row two[] = {EVICTABLE(1, 100), EVICTABLE(10, 1)};
  cr_assert_eq(FIND(two, 10, out), 1);
  assert_rows(&out[0], 1, 2);
  const plim_window_row four[] = {EVICTABLE(1, 1), EVICTABLE(1, 1), EVICTABLE(1, 1), EVICTABLE(10, 1)};
  cr_assert_eq(FIND(four, 10, out), 1);
  assert_rows(&out[0], 3, 4);
}

/* The example of docs/online.md. */
Test(window, finds_two_windows_in_the_example_of_the_page) {
  plim_window out[2];
  const plim_window_row row[] = {PINNED(64),         EVICTABLE(8, 300), FREE(4),           EVICTABLE(8, 200),
                                 EVICTABLE(16, 500), PINNED(8),         EVICTABLE(16, 900)};
  cr_assert_eq(FIND(row, 20, out), 2);
  assert_rows(&out[0], 1, 4);
  cr_expect_eq(out[0].cost.low, 500);
  cr_expect_eq(out[0].bytes, 20);
  assert_rows(&out[1], 3, 5);
  cr_expect_eq(out[1].cost.low, 700);
  cr_expect_eq(out[1].bytes, 24);
}

Test(window, passes_by_what_must_stay) {
  plim_window out[2];
  const plim_window_row just_used[] = {PINNED(10), EVICTABLE(10, 1)};
  cr_assert_eq(FIND(just_used, 10, out), 1);
  assert_rows(&out[0], 1, 2);
  const plim_window_row wall[] = {FREE(10), PINNED(10), FREE(10)};
  cr_assert_eq(FIND(wall, 20, out), 0);
  cr_assert_eq(plim_window_find(0, wall, 1, 0, 2, out), 0);
}

Test(window, adds_costs_exactly) {
  plim_window out[2];
  const int64_t huge = (int64_t)2 * 1000000000 * 1000000000; /* 1e18 and 1, 2, 2.5 in halves */
  const plim_window_row row[] = {EVICTABLE(5, huge), EVICTABLE(5, 2), EVICTABLE(5, 4), PINNED(5), EVICTABLE(10, 5)};
  cr_assert_eq(FIND(row, 10, out), 2);
  assert_rows(&out[0], 4, 5);
  assert_rows(&out[1], 1, 3);
}

Test(window, adds_costs_beyond_64_bits) {
  plim_window out[2];
  const plim_window_row row[] = {
      EVICTABLE(1, INT64_MAX), EVICTABLE(1, INT64_MAX), EVICTABLE(1, INT64_MAX),    PINNED(1),
      EVICTABLE(1, INT64_MAX), EVICTABLE(1, INT64_MAX), EVICTABLE(1, INT64_MAX - 1)};
  cr_assert_eq(FIND(row, 3, out), 2);
  assert_rows(&out[0], 4, 7);
  cr_expect_eq(out[0].cost.high, 1);
}

Test(window, of_equal_costs_takes_fewer_evicted_bytes_then_the_lower_address) {
  plim_window out[2];
  const plim_window_row fewer[] = {EVICTABLE(10, 3), PINNED(1),       EVICTABLE(4, 3), FREE(6),
                                   PINNED(1),        EVICTABLE(4, 3), FREE(6)};
  cr_assert_eq(FIND(fewer, 10, out), 2);
  assert_rows(&out[0], 2, 4);
  assert_rows(&out[1], 5, 7);
  cr_expect_eq(out[0].evicted_bytes, 4);
  cr_expect_eq(out[0].bytes, 10);
}

/* ---- brute force ---- */

typedef struct brute {
  int32_t begin, end;
  int64_t cost, evicted;
} brute;

/* Run [begin, end): 0 when a breaker is inside or it is too small. */
static int measure(const plim_window_row *row, int32_t begin, int32_t end, int64_t need, brute *out) {
  int64_t bytes = 0;
  *out = (brute){begin, end, 0, 0};
  for (int32_t i = begin; i < end; i++) {
    if (row[i].state == PLIM_ROW_BREAKER) return 0;
    bytes += row[i].bytes;
    if (row[i].state == PLIM_ROW_EVICTABLE) out->cost += row[i].cost;
    if (row[i].state == PLIM_ROW_EVICTABLE) out->evicted += row[i].bytes;
  }
  return bytes >= need;
}

static int by_rank(const void *a, const void *b) {
  const brute *x = a, *y = b;
  if (x->cost != y->cost) return x->cost < y->cost ? -1 : 1;
  if (x->evicted != y->evicted) return x->evicted < y->evicted ? -1 : 1;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

/* All runs that neither end row can be left out of, in order; *cheapest is the least cost of any run. */
static int32_t find_brute(int32_t n, const plim_window_row *row, int64_t need, brute *out, int64_t *cheapest) {
  int32_t count = 0;
  brute w, smaller;
  *cheapest = INT64_MAX;
  for (int32_t begin = 0; begin < n; begin++) {
    for (int32_t end = begin + 1; end <= n; end++) {
      if (!measure(row, begin, end, need, &w)) continue;
      if (w.cost < *cheapest) *cheapest = w.cost;
      if (measure(row, begin + 1, end, need, &smaller) || measure(row, begin, end - 1, need, &smaller)) continue;
      out[count++] = w;
    }
  }
  qsort(out, (size_t)count, sizeof *out, by_rank);
  return count;
}

Test(window, equals_brute_force_on_random_lists) {
  enum { MOST = 12, KEPT = 4 };
  uint64_t random = test_seed(20);
  for (int round = 0; round < 100000; round++) {
    plim_window_row row[MOST];
    brute all[MOST * MOST];
    plim_window out[KEPT];
    int32_t n = (int32_t)test_random_between(&random, 0, MOST);
    for (int32_t i = 0; i < n; i++) {
      row[i] = (plim_window_row)EVICTABLE(test_random_between(&random, 1, 9), test_random_between(&random, 0, 20));
      if (test_random_chance(&random, 15)) row[i].state = PLIM_ROW_BREAKER;
      if (test_random_chance(&random, 20)) row[i].state = PLIM_ROW_FREE;
    }
    int64_t need = test_random_between(&random, 1, 25), cheapest;
    int32_t expected = find_brute(n, row, need, all, &cheapest);
    int32_t count = plim_window_find(n, row, need, 0, KEPT, out);
    cr_assert_eq(count, expected < KEPT ? expected : KEPT, "round %d: %d windows, not %d", round, count, expected);
    if (count > 0) cr_assert_eq((int64_t)out[0].cost.low, cheapest, "round %d", round);
    for (int32_t i = 0; i < count; i++) {
      cr_assert(out[i].begin == all[i].begin && out[i].end == all[i].end, "round %d: window %d", round, i);
      cr_assert_eq((int64_t)out[i].cost.low, all[i].cost, "round %d: window %d", round, i);
      cr_assert_eq(out[i].evicted_bytes, all[i].evicted, "round %d: window %d", round, i);
    }
  }
}

/* Halving between bytes that fail and bytes that work. */
#include <criterion/criterion.h>

#include "runtime/base/halving.h"

/* Works from `from` on, but for a gap in which it does not; counts the trials. */
typedef struct steps {
  int64_t from, gap_begin, gap_end;
  int32_t trials;
} steps;

static plim_status works(void *user, int64_t bytes, int *yes) {
  steps *s = user;
  s->trials++;
  *yes = bytes >= s->from && !(bytes >= s->gap_begin && bytes < s->gap_end);
  return PLIM_OK;
}

static plim_status fails(void *user, int64_t bytes, int *yes) {
  (void)user;
  (void)bytes;
  (void)yes;
  return PLIM_ENOMEM;
}

Test(halving, finds_the_edge_to_the_unit) {
  for (int64_t from = 1; from <= 1000; from += 37) {
    steps s = {.from = from};
    int64_t bytes = 0;
    cr_assert_eq(plim_halve_bytes(works, &s, 0, 1000, 10, 64, &bytes), PLIM_OK);
    cr_expect_eq(bytes, (from + 9) / 10 * 10);
    cr_expect_leq(s.trials, 8);
  }
}

Test(halving, reports_bytes_that_were_tried_where_more_may_fail) {
  steps s = {.from = 200, .gap_begin = 400, .gap_end = 600};
  int64_t bytes = 0;
  int yes = 0;
  cr_assert_eq(plim_halve_bytes(works, &s, 100, 1000, 1, 64, &bytes), PLIM_OK);
  cr_assert_eq(works(&s, bytes, &yes), PLIM_OK);
  cr_expect(yes, "%lld", (long long)bytes);
}

Test(halving, stops_after_so_many_trials) {
  steps s = {.from = 1};
  int64_t bytes = 0;
  cr_assert_eq(plim_halve_bytes(works, &s, 0, INT64_MAX, 512, 3, &bytes), PLIM_OK);
  cr_expect_eq(s.trials, 4);
  cr_expect_eq(bytes % 512, 0);
}

Test(halving, says_when_there_is_none) {
  steps s = {.from = 2000};
  int64_t bytes = 0;
  cr_assert_eq(plim_halve_bytes(works, &s, 0, 1000, 1, 64, &bytes), PLIM_OK);
  cr_expect_eq(bytes, -1);
  cr_expect_eq(s.trials, 1);
  cr_assert_eq(plim_halve_bytes(works, &s, 1000, 1000, 1, 64, &bytes), PLIM_OK);
  cr_expect_eq(bytes, -1);
  cr_expect_eq(plim_halve_bytes(fails, NULL, 0, 1000, 1, 64, &bytes), PLIM_ENOMEM);
}

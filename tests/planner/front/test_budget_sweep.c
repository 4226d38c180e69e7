/* planner/front/budget_sweep.c: which budgets a front plans for, in which time, and what ends it. */
#include <criterion/criterion.h>
#include <string.h>

#include "planner/front/front.h"
#include "tests/support/test_context.h"

enum { BUDGETS = 9 };
static const int64_t budget[BUDGETS] = {10, 20, 20, 30, 40, 50, 60, 70, 80};
static const int64_t second_ns = INT64_C(1000000000);

/* What a sweep asked for. */
typedef struct record {
  int32_t n, index[BUDGETS];
  int64_t limit_ns[BUDGETS];
  int32_t fails_at; /* -1: it does not */
  plim_status failure;
} record;

static plim_status note(void *user, int32_t i, int64_t time_limit_ns) {
  record *r = user;
  r->index[r->n] = i;
  r->limit_ns[r->n++] = time_limit_ns;
  return i == r->fails_at ? r->failure : PLIM_OK;
}

static plim_status sweep(record *r, int64_t time_limit_ns, int64_t started_ns, int32_t may_skip) {
  const plim_budget_sweep s = {.n = BUDGETS,
                               .budget = budget,
                               .time_limit_ns = time_limit_ns,
                               .started_ns = started_ns,
                               .may_skip = may_skip,
                               .plan = note,
                               .user = r};
  return plim_budget_sweep_run(&s);
}

Test(budget_sweep, without_a_limit_every_budget_is_planned_without_one) {
  record r = {.fails_at = -1};
  cr_assert_eq(sweep(&r, 0, plim_now_ns(), 1), PLIM_OK);
  cr_assert_eq(r.n, BUDGETS);
  for (int32_t i = 0; i < BUDGETS; i++) {
    cr_expect_eq(r.index[i], i);
    cr_expect_eq(r.limit_ns[i], 0);
  }
}

Test(budget_sweep, what_a_budget_leaves_of_its_time_is_for_the_others) {
  record r = {.fails_at = -1};
  cr_assert_eq(sweep(&r, 900 * second_ns, plim_now_ns(), 0), PLIM_OK);
  cr_assert_eq(r.n, BUDGETS);
  for (int32_t i = 0; i < BUDGETS; i++) { /* none takes any time, but the machine may be busy */
    const int64_t share_ns = 900 * second_ns / (BUDGETS - i);
    cr_expect(r.limit_ns[i] <= share_ns && r.limit_ns[i] > share_ns / 10 * 9, "budget %d: %lld ns", i,
              (long long)r.limit_ns[i]);
  }
}

Test(budget_sweep, where_time_is_over_budgets_are_left_out_if_they_may_be_but_not_the_last) {
  record all = {.fails_at = -1}, some = {.fails_at = -1};
  const int64_t long_ago_ns = plim_now_ns() - 2 * second_ns;
  cr_assert_eq(sweep(&all, second_ns, long_ago_ns, 0), PLIM_OK);
  cr_assert_eq(all.n, BUDGETS);
  cr_assert_eq(sweep(&some, second_ns, long_ago_ns, 1), PLIM_OK);
  cr_assert_lt(some.n, BUDGETS);
  cr_expect_eq(some.index[some.n - 1], BUDGETS - 1);
}

Test(budget_sweep, a_cancel_ends_it_and_is_no_failure) {
  record r = {.fails_at = 2, .failure = PLIM_ECANCEL};
  cr_assert_eq(sweep(&r, 0, plim_now_ns(), 0), PLIM_OK);
  cr_assert_eq(r.n, 3);
}

Test(budget_sweep, a_failure_ends_it_and_is_returned) {
  record r = {.fails_at = 4, .failure = PLIM_ENOMEM};
  cr_assert_eq(sweep(&r, 0, plim_now_ns(), 0), PLIM_ENOMEM);
  cr_assert_eq(r.n, 5);
}

Test(budget_sweep, budgets_that_descend_are_refused_with_their_number) {
  static const int64_t descending[] = {10, 20, 15};
  plim_context *ctx = plim_test_context();
  cr_assert_eq(plim_budget_sweep_check(ctx, BUDGETS, budget), PLIM_OK);
  cr_assert_eq(plim_budget_sweep_check(ctx, 3, descending), PLIM_EUSAGE);
  cr_assert(strstr(plim_context_error(ctx), "budget 2"), "%s", plim_context_error(ctx));
  plim_test_context_end(ctx);
}

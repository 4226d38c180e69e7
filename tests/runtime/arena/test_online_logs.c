/* Random logs of every kind, at every tenth of their peak: what search and best promise against all policies. */
#include <criterion/criterion.h>

#include "planner/planner.h"
#include "runtime/arena/replay_search.h"
#include "runtime/graph/check/check.h"
#include "tests/support/random_log.h"
#include "tests/support/test_seed.h"

enum { LOGS_A_KIND = 2, NO_PLAN = -1 };

typedef struct instance {
  plim_context *ctx;
  plim_graph *graph;
  plim_profile *profile;
  plim_plan *order;
  int64_t peak_bytes;
  random_log_kind kind;
  uint64_t seed;
} instance;

static instance open_log(plim_context *ctx, random_log_kind kind, int32_t size, uint64_t seed) {
  instance i = {.ctx = ctx, .graph = random_log_graph(ctx, kind, size, seed), .kind = kind, .seed = seed};
  plim_plan_options options = plim_plan_options_default();
  options.unpacked = 1;
  options.order = PLIM_ORDER_FIXED;
  cr_assert_eq(plim_profile_from_graph(i.graph, &i.profile), PLIM_OK);
  cr_assert_eq(plim_plan_keep_all(ctx, i.graph, i.profile, &options, &i.order), PLIM_OK);
  cr_assert_eq(plim_handles_peak(i.graph->handles, 1, &i.peak_bytes), PLIM_OK);
  return i;
}

static void close_log(instance *i) {
  plim_plan_free(i->order);
  plim_profile_free(i->profile);
  plim_graph_free(i->graph);
}

/* Time of a plan that the checker takes; frees it. */
static int64_t time_of(const instance *i, plim_status status, plim_plan *plan, const char *who, int64_t bytes) {
  if (status == PLIM_ENOFIT) return NO_PLAN;
  cr_assert_eq(status, PLIM_OK, "%s: %s", who, plim_context_error(i->ctx));
  cr_assert_eq(plim_plan_check(i->ctx, i->graph, plan), PLIM_OK, "%s: %s", who, plim_context_error(i->ctx));
  cr_assert_leq(plan->arena_bytes, bytes, "%s", who);
  int64_t time_ns = plan->time_ns;
  plim_plan_free(plan);
  return time_ns;
}

static int64_t online(const instance *i, const plim_policy *policy, int64_t bytes, int64_t limit_ns) {
  plim_plan *plan = NULL;
  plim_status status =
      plim_arena_online(i->ctx, i->graph, i->order, policy, (plim_replay_limits){bytes, limit_ns}, NULL, &plan);
  return time_of(i, status, plan, policy->name, bytes);
}

static int64_t search(const instance *i, plim_plan_order order, int64_t bytes) {
  plim_plan_options options = plim_plan_options_default();
  plim_plan *plan = NULL;
  options.budget_bytes = bytes;
  options.iterations = 1;
  options.order = order;
  plim_status status = plim_plan_make(i->ctx, i->graph, i->profile, &options, &plan);
  return time_of(i, status, plan, "search", bytes);
}

/* The one is not worse: it has a plan where the other has, and a cheaper or equal one. */
static void expect_not_worse(const instance *i, const char *one, int64_t ns, const char *other, int64_t other_ns,
                             int64_t bytes) {
  cr_expect(other_ns == NO_PLAN || (ns != NO_PLAN && ns <= other_ns),
            "%s, seed %llu, %lld of %lld bytes: %s %lld, %s %lld", random_log_name(i->kind),
            (unsigned long long)i->seed, (long long)bytes, (long long)i->peak_bytes, one, (long long)ns, other,
            (long long)other_ns);
}

static void compare(const instance *i, int64_t bytes, int64_t limit_ns, int plan) {
  int64_t best = online(i, plim_policy_at(0), bytes, limit_ns);
  for (int32_t row = 1; plim_policy_at(row); row++) {
    const plim_policy *policy = plim_policy_at(row);
    expect_not_worse(i, "best", best, policy->name, online(i, policy, bytes, limit_ns), bytes);
  }
  if (!plan) return;
  expect_not_worse(i, "search", search(i, PLIM_ORDER_ANY, bytes), "best", best, bytes);
  expect_not_worse(i, "search in program order", search(i, PLIM_ORDER_FIXED, bytes), "best", best, bytes);
}

static void check_kind(random_log_kind kind, int32_t size, int64_t limit_steps) {
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  for (uint64_t seed = test_seed(1), end = seed + LOGS_A_KIND; test_seed_at(seed) < end; seed++) {
    instance i = open_log(ctx, kind, size, seed);
    for (int64_t tenths = 9; tenths >= 2; tenths--) {
      /* plans take longer: at two budgets of each log, others for the next */
      compare(&i, i.peak_bytes / 10 * tenths, limit_steps * i.order->time_ns, (tenths + (int64_t)seed) % 4 == 0);
    }
    close_log(&i);
  }
  plim_context_free(ctx);
}

Test(online_logs, search_and_best_are_never_worse_on_residual_networks) {
  check_kind(RANDOM_LOG_RESIDUAL, 3, 1);
}
Test(online_logs, search_and_best_are_never_worse_on_networks_with_long_skips) {
  check_kind(RANDOM_LOG_UNET, 2, 1);
}
Test(online_logs, search_and_best_are_never_worse_on_dense_networks) {
  check_kind(RANDOM_LOG_DENSE, 8, 1);
}
Test(online_logs, search_and_best_are_never_worse_on_recurrent_networks) {
  check_kind(RANDOM_LOG_LSTM, 6, 1);
}
Test(online_logs, search_and_best_are_never_worse_on_transformers) {
  check_kind(RANDOM_LOG_TRANSFORMER, 1, 1);
}
Test(online_logs, search_and_best_are_never_worse_on_networks_with_branches) {
  check_kind(RANDOM_LOG_INCEPTION, 1, 1);
}
Test(online_logs, search_and_best_are_never_worse_on_trees_of_one_cell) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  check_kind(RANDOM_LOG_TREE, 3, 1);
}
Test(online_logs, search_and_best_are_never_worse_where_a_network_runs_twice) {
  check_kind(RANDOM_LOG_GAN, 2, 1);
}
Test(online_logs, search_and_best_are_never_worse_on_programs_without_a_pattern) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  check_kind(RANDOM_LOG_TANGLE, 16, 1);
}

Test(online_logs, search_is_never_worse_where_policies_may_compute_again_for_long) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  for (int kind = 0; kind < RANDOM_LOG_KIND_COUNT; kind++) check_kind((random_log_kind)kind, 1, 5);
}

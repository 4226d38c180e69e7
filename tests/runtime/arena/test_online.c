/* Online policies in the arena: right plans or none, the published defects by their smallest cases, and what best
 * promises against its rivals. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "planner/planner.h"
#include "runtime/arena/replay_search.h"
#include "runtime/arena/watch.h"
#include "runtime/graph/check/check.h"
#include "tests/support/dtr_logs.h"
#include "tests/support/failing_memory.h"
#include "tests/support/interpret.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"
#include "tests/support/test_seed.h"

enum { UNIT = 512 };

static plim_context *ctx;

static void setup(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
}

static void teardown(void) {
  plim_context_free(ctx);
}
TestSuite(online, .init = setup, .fini = teardown);

/* ---- programs as logs ---- */

#define START "{\"ANNOTATION\":\"START\",\"INSTRUCTION\":\"ANNOTATE\"}\n"

static plim_graph *graph_of(plim_text *log) {
  plim_graph *g = dtr_graph(ctx, log->chars);
  plim_text_free(log);
  return g;
}

/* Program order with the costs of the graph. */
static plim_plan *order_of(const plim_graph *g) {
  plim_profile *profile = NULL;
  plim_plan *order = NULL;
  plim_plan_options options = plim_plan_options_default();
  options.unpacked = 1;
  options.order = PLIM_ORDER_FIXED;
  cr_assert_eq(plim_profile_from_graph(g, &profile), PLIM_OK);
  cr_assert_eq(plim_plan_keep_all(ctx, g, profile, &options, &order), PLIM_OK, "%s", plim_context_error(ctx));
  plim_profile_free(profile);
  return order;
}

/* What a policy adds to the time of the step within `bytes`; -1: it does not end. */
static int64_t again_ns(const plim_graph *g, const char *policy, int64_t bytes, plim_replay_counts *counts) {
  plim_plan *order = order_of(g), *plan = NULL;
  int64_t ns = -1;
  plim_status status = plim_arena_online(ctx, g, order, plim_policy_find(policy),
                                         (plim_replay_limits){bytes, order->time_ns}, counts, &plan);
  cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(ctx));
  if (plan) {
    cr_assert_eq(plim_plan_check(ctx, g, plan), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_leq(plan->arena_bytes, bytes, "the arena is hard");
    ns = plan->time_ns - order->time_ns;
  }
  plim_plan_free(plan);
  plim_plan_free(order);
  return ns;
}

/* ---- right plans or none ---- */

static void check_policy(const plim_graph *g, const plim_plan *order, const plim_policy *policy, int64_t bytes) {
  plim_plan *plan = NULL;
  plim_replay_counts counts;
  plim_status status =
      plim_arena_online(ctx, g, order, policy, (plim_replay_limits){bytes, 4 * order->time_ns}, &counts, &plan);
  if (status == PLIM_ENOFIT) return;
  cr_assert_eq(status, PLIM_OK, "%s: %s", policy->name, plim_context_error(ctx));
  cr_assert_eq(plim_plan_check(ctx, g, plan), PLIM_OK, "%s: %s", policy->name, plim_context_error(ctx));
  cr_assert(interpret_equals_program_order(g, plan), "%s", policy->name);
  cr_assert_eq(plan->time_ns - order->time_ns, counts.recomputed_ns, "%s", policy->name);
  plim_plan_free(plan);
}

/* Every policy over a random valid schedule; frees the graph. */
static void check_policies(plim_graph *g, uint64_t seed) {
  plim_profile *profile = NULL;
  plim_plan *order = NULL;
  random_plan_options p = {.seed = seed, .packed = 1};
  cr_assert_eq(random_profile_make(g, seed, 1, &profile), PLIM_OK);
  cr_assert_eq(random_plan_make(g, profile, &p, &order), PLIM_OK);
  for (int32_t i = 0; plim_policy_at(i); i++) {
    for (int64_t tenths = 6; tenths <= 11; tenths++) {
      check_policy(g, order, plim_policy_at(i), order->arena_bytes * tenths / 10);
    }
  }
  plim_plan_free(order);
  plim_profile_free(profile);
  plim_graph_free(g);
}

Test(online, every_policy_leaves_what_program_order_leaves) {
  for (uint64_t seed = test_seed(1), end = seed + 25; test_seed_at(seed) < end; seed++) {
    plim_graph *g = NULL;
    cr_assert_eq(random_chain_make(ctx, 6, seed, &g), PLIM_OK);
    check_policies(g, seed);
  }
}

Test(online, no_policy_evicts_what_an_op_of_class_once_wrote) {
  for (uint64_t seed = test_seed(1), end = seed + 25; test_seed_at(seed) < end; seed++) {
    plim_graph *g = NULL;
    random_graph_options options = random_graph_options_default(seed);
    options.once_percent = 20;
    cr_assert_eq(random_graph_make(ctx, &options, &g), PLIM_OK, "%s", plim_context_error(ctx));
    check_policies(g, seed);
  }
}

/* ---- published defects, by their smallest cases ---- */

Test(online, score_of_what_was_just_used_is_infinite_and_never_nan) {
  for (int32_t i = 0; plim_policy_at(i); i++) {
    const plim_policy *policy = plim_policy_at(i);
    cr_expect_not(isnan(plim_policy_score(policy, 0, 0, 0)), "%s", policy->name);
    cr_expect_not(isnan(plim_policy_score(policy, 5, 0, INT64_MAX)), "%s", policy->name);
    if (policy->stale) cr_expect_eq(plim_policy_score(policy, 5, 10, 0), (double)INFINITY, "%s", policy->name);
  }
}

Test(online, cost_is_the_measured_time_not_the_bytes) {
  const plim_policy *dtr = plim_policy_find("dtr-local");
  cr_expect_lt(plim_policy_score(dtr, 3, 100, 50), plim_policy_score(dtr, 300, 100, 50));
}

/* x1 = f(x0) ... xn = f(x(n-1)); then every xi is read again from the end. */
static plim_graph *chain(int32_t n) {
  plim_text log = {ctx, NULL, 0, 0, PLIM_OK};
  char from[32], to[32], args[100];
  plim_text_add(&log, START);
  dtr_constant(&log, "x0", UNIT);
  for (int32_t i = 1; i <= n; i++) {
    (void)snprintf(from, sizeof from, "x%d", i - 1);
    (void)snprintf(to, sizeof to, "x%d", i);
    dtr_call(&log, "f", from, to, UNIT, -1, 1);
  }
  for (int32_t i = n - 1; i >= 1; i--) {
    (void)snprintf(args, sizeof args, i == n - 1 ? "x%d x%d" : "g%d x%d", i + 1, i);
    (void)snprintf(to, sizeof to, "g%d", i);
    dtr_call(&log, "b", args, to, UNIT, -1, 1);
    (void)snprintf(from, sizeof from, i == n - 1 ? "x%d" : "g%d", i + 1);
    dtr_release(&log, from);
    (void)snprintf(from, sizeof from, "x%d", i);
    dtr_release(&log, from);
  }
  return graph_of(&log);
}

Test(online, chain_of_any_length_is_recomputed_without_recursion) {
  enum { LENGTH = 50000 }; /* 100,000 ops */
  plim_graph *g = chain(LENGTH);
  plim_plan *order = order_of(g), *plan = NULL;
  plim_replay_counts counts;
  plim_status status = plim_arena_online(ctx, g, order, plim_policy_find("lru"),
                                         (plim_replay_limits){6 * UNIT, 2 * order->time_ns}, &counts, &plan);
  cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(ctx));
  cr_expect_gt(counts.depth, LENGTH / 2, "depth %lld", (long long)counts.depth);
  plim_plan_free(plan);
  plim_plan_free(order);
  plim_graph_free(g);
}

/* In six units hardly anything stays: whoever evicts computes chains again that are as long as the program, and ends.
 */
static void check_chain(const plim_policy *policy, int32_t length) {
  plim_graph *g = chain(length);
  plim_plan *order = order_of(g), *plan = NULL;
  plim_replay_counts counts;
  plim_status status =
      plim_arena_online(ctx, g, order, policy, (plim_replay_limits){6 * UNIT, 2 * order->time_ns}, &counts, &plan);
  cr_expect(status == PLIM_OK || status == PLIM_ENOFIT, "%s: %s", policy->name, plim_context_error(ctx));
  cr_expect(status == PLIM_OK || counts.thrashed, "%s", policy->name);
  cr_expect_gt(counts.depth, 1, "%s", policy->name);
  plim_plan_free(plan);
  plim_plan_free(order);
  plim_graph_free(g);
}

Test(online, chain_in_hardly_any_memory_ends_under_every_policy) {
#ifdef PLIM_SANITIZED /* where every walk is made twice */
  enum { LENGTH = 100 };
#else
  enum { LENGTH = 2000 };
#endif
  for (int32_t i = 0; plim_policy_at(i); i++)
    check_chain(plim_policy_at(i), plim_policy_at(i)->forecast ? LENGTH / 10 : LENGTH);
}

/* Cancels in the middle of a chain of recomputations, and counts the commands that run after that. */
typedef struct canceller {
  int has_cancelled;
  int32_t ran_after;
} canceller;

static plim_status cancel_in_a_chain(void *user, const struct plim_residency *res, int32_t depth) {
  canceller *c = user;
  (void)res;
  c->ran_after += c->has_cancelled;
  if (depth > 1 && !c->has_cancelled) plim_context_cancel(ctx);
  c->has_cancelled |= depth > 1;
  return PLIM_OK;
}

static plim_status ignore_choice(void *user, struct plim_residency *res, const plim_arena_request *request,
                                 const plim_arena_choice *choice) {
  (void)user, (void)res, (void)request, (void)choice;
  return PLIM_OK;
}

static plim_status ignore_end(void *user, const struct plim_residency *res, int32_t op) {
  (void)user, (void)res, (void)op;
  return PLIM_OK;
}

Test(online, a_cancel_ends_a_chain_in_its_middle) {
  plim_graph *g = chain(400);
  plim_plan *order = order_of(g), *plan = NULL;
  canceller c = {0};
  const plim_arena_watch watch = {&c, ignore_choice, cancel_in_a_chain, ignore_end};
  const plim_replay_config config = {.policy = plim_policy_find("lru"), .frontier = 1, .hold_inputs = 1};
  const plim_replay_limits limits = {6 * UNIT, PLIM_TIME_UNLIMITED};
  plim_replay_counts counts;
  cr_expect_eq(plim_arena_replay_watched(ctx, g, order, &config, &limits, &watch, &counts, &plan), PLIM_ECANCEL);
  cr_expect(c.has_cancelled);
  cr_expect_eq(c.ran_after, 0, "%d commands ran after the cancel", (int)c.ran_after);
  plim_plan_free(plan);
  plim_plan_free(order);
  plim_graph_free(g);
}

/* y(k) = f(y(k-1), r(k)), all r(k) computed first; only the last y is evicted with its chain. Pinning all r at once
 * takes as much room as they have. */
Test(online, operands_of_a_chain_are_pinned_link_by_link_where_room_is_short) {
  plim_text log = {ctx, NULL, 0, 0, PLIM_OK};
  char args[64], to[32];
  enum { LINKS = 6 };
  plim_text_add(&log, START);
  dtr_constant(&log, "c", UNIT);
  for (int32_t k = 1; k <= LINKS; k++) {
    (void)snprintf(to, sizeof to, "r%d", k);
    dtr_call(&log, "make", "c", to, UNIT, -1, 1);
  }
  dtr_call(&log, "first", "c", "y0", UNIT, -1, 1);
  for (int32_t k = 1; k <= LINKS; k++) {
    (void)snprintf(args, sizeof args, "y%d r%d", k - 1, k);
    (void)snprintf(to, sizeof to, "y%d", k);
    dtr_call(&log, "f", args, to, UNIT, -1, 1);
    (void)snprintf(to, sizeof to, "y%d", k - 1);
    dtr_release(&log, to);
  }
  dtr_call(&log, "wide", "c", "w", 3 * UNIT, -1, 1);
  (void)snprintf(args, sizeof args, "w y%d", LINKS);
  dtr_call(&log, "last", args, "z", UNIT, -1, 1);
  for (int32_t k = 1; k <= LINKS; k++) {
    (void)snprintf(to, sizeof to, "r%d", k);
    dtr_release(&log, to);
  }
  plim_graph *g = graph_of(&log);
  plim_replay_counts counts;
  cr_expect_geq(again_ns(g, "best", 8 * UNIT, &counts), 0, "all r at once would take 6 of 8 units");
  plim_graph_free(g);
}

/* A full arena of which one large value could go: who keeps small values in an area of their own evicts it in vain. */
Test(online, small_request_finds_room_where_a_large_value_was) {
  plim_text log = {ctx, NULL, 0, 0, PLIM_OK};
  plim_text_add(&log, START);
  dtr_constant(&log, "c", UNIT);
  dtr_call(&log, "make", "c", "big", 10 * UNIT, -1, 1);
  dtr_call(&log, "f", "c", "s0", UNIT, -1, 100);
  dtr_call(&log, "f", "c", "s1", UNIT, -1, 100);
  dtr_call(&log, "f", "c", "s2", UNIT, -1, 100);
  dtr_call(&log, "join", "s0 s1 s2", "z", UNIT, -1, 1);
  for (int k = 0; k < 3; k++) dtr_release(&log, k == 0 ? "s0" : k == 1 ? "s1" : "s2");
  dtr_call(&log, "use", "big z", "y", UNIT, -1, 1);
  plim_graph *g = graph_of(&log);
  plim_replay_counts counts;
  for (int32_t i = 0; plim_policy_at(i); i++) {
    cr_expect_geq(again_ns(g, plim_policy_at(i)->name, 13 * UNIT, &counts), 0, "%s", plim_policy_at(i)->name);
    cr_expect_geq(counts.evictions, 1, "%s", plim_policy_at(i)->name);
  }
  plim_graph_free(g);
}

/* split -> a, b; b is evicted, a stays. Where a repeat needed room for both, r had to go as well. */
Test(online, repeat_of_several_outputs_needs_room_for_the_missing_ones_alone) {
  plim_text log = {ctx, NULL, 0, 0, PLIM_OK};
  plim_text_add(&log, START);
  dtr_constant(&log, "c", UNIT);
  dtr_call(&log, "split", "c", "a b", 10 * UNIT, -1, 5);
  dtr_call(&log, "touch", "a", "t", UNIT, -1, 1);
  dtr_call(&log, "make", "c", "r", 10 * UNIT, -1, 1);
  dtr_call(&log, "wide", "c", "w", 10 * UNIT, -1, 1);
  dtr_release(&log, "w");
  dtr_call(&log, "join", "a b r t", "z", UNIT, -1, 1);
  plim_graph *g = graph_of(&log);
  plim_replay_counts counts;
  cr_expect_eq(again_ns(g, "lru", 33 * UNIT, &counts), 5);
  cr_expect_eq(counts.evictions, 1);
  cr_expect_eq(counts.recomputes, 1);
  plim_graph_free(g);
}

Test(online, mutation_takes_no_room_beside_what_it_replaces) {
  plim_text log = {ctx, NULL, 0, 0, PLIM_OK};
  plim_text_add(&log, START);
  dtr_constant(&log, "x", UNIT);
  dtr_call(&log, "conv", "x", "a", 10 * UNIT, -1, 100);
  dtr_mutate(&log, "relu_", "a", 0, 10);
  plim_graph *g = graph_of(&log);
  plim_replay_counts counts;
  for (int32_t i = 0; plim_policy_at(i); i++) {
    cr_expect_eq(again_ns(g, plim_policy_at(i)->name, 11 * UNIT, &counts), 0, "%s", plim_policy_at(i)->name);
  }
  plim_graph_free(g);
}

/* ---- plans beside them ---- */

Test(online, search_is_never_costlier_than_the_best_policy) {
  plim_graph *g = chain(30);
  plim_profile *profile = NULL;
  plim_plan *order = order_of(g);
  cr_assert_eq(plim_profile_from_graph(g, &profile), PLIM_OK);
  for (int64_t units = 8; units <= 30; units += 2) {
    plim_replay_counts counts;
    plim_plan_options options = plim_plan_options_default();
    plim_plan *plan = NULL;
    int64_t again = again_ns(g, "best", units * UNIT, &counts);
    options.budget_bytes = units * UNIT;
    options.iterations = 1;
    if (again < 0) continue;
    cr_assert_eq(plim_plan_make(ctx, g, profile, &options, &plan), PLIM_OK, "%s", plim_context_error(ctx));
    cr_expect_leq(plan->time_ns - order->time_ns, again, "%lld units", (long long)units);
    plim_plan_free(plan);
  }
  plim_plan_free(order);
  plim_profile_free(profile);
  plim_graph_free(g);
}

/* ---- ends ---- */

Test(online, limit_on_computing_again_ends_as_thrash_and_lack_of_room_does_not) {
  plim_graph *g = chain(40);
  plim_plan *order = order_of(g), *plan = NULL;
  plim_replay_counts counts;
  cr_expect_eq(
      plim_arena_online(ctx, g, order, plim_policy_find("dtr"), (plim_replay_limits){10 * UNIT, 0}, &counts, &plan),
      PLIM_ENOFIT);
  cr_expect_eq(counts.thrashed, 1);
  cr_expect_eq(plim_arena_online(ctx, g, order, plim_policy_find("dtr"), (plim_replay_limits){3 * UNIT, INT64_MAX},
                                 &counts, &plan),
               PLIM_ENOFIT);
  cr_expect_eq(counts.thrashed, 0);
  cr_expect_null(plan);
  plim_plan_free(order);
  plim_graph_free(g);
}

typedef struct allocation_case {
  const plim_graph *graph;
  const plim_plan *order;
  const plim_policy *policy;
} allocation_case;

static plim_status run_case(plim_context *c, void *user) {
  const allocation_case *a = user;
  plim_plan *plan = NULL;
  plim_graph graph = *a->graph; /* what is made of it allocates through its context */
  graph.ctx = c;
  PLIM_TRY(plim_arena_online(c, &graph, a->order, a->policy, (plim_replay_limits){12 * UNIT, INT64_MAX}, NULL, &plan));
  plim_plan_free(plan);
  return PLIM_OK;
}

Test(online, refused_allocation_leaves_nothing_after) {
  plim_graph *g = chain(20);
  plim_plan *order = order_of(g);
  static const char *const names[] = {"coop", "dtr"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    allocation_case a = {g, order, plim_policy_find(names[i])};
    cr_expect_gt(plim_test_each_allocation(run_case, &a), 10);
  }
  plim_plan_free(order);
  plim_graph_free(g);
}

/* ---- best against its rivals on the published logs ---- */

enum { RIVALS = 3 };
static const char *const rivals[RIVALS] = {"coop", "dtr", "dte"};

/* Adds to cheaper [RIVALS] where the best policy wins; it must not lose. */
static void compare(const plim_graph *g, int64_t bytes, int *cheaper) {
  plim_replay_counts counts;
  int64_t ours = again_ns(g, "best", bytes, &counts);
  for (int r = 0; r < RIVALS; r++) {
    int64_t theirs = again_ns(g, rivals[r], bytes, &counts);
    cheaper[r] += ours >= 0 && (theirs < 0 || ours < theirs);
    cr_expect(theirs < 0 || (ours >= 0 && ours <= theirs), "%s, %lld bytes: %lld ns, %s %lld", g->name,
              (long long)bytes, (long long)ours, rivals[r], (long long)theirs);
  }
}

static void check_rivals(const char *log, int least_tenths) {
  int cheaper[RIVALS] = {0}, points = 10 - least_tenths;
  plim_graph *g = dtr_published(ctx, log);
  int64_t whole = 0;
  cr_assert_eq(plim_handles_peak(g->handles, 1, &whole), PLIM_OK);
  for (int tenths = least_tenths; tenths <= 9; tenths++) compare(g, whole / 10 * tenths, cheaper);
  for (int r = 0; r < RIVALS; r++) {
    cr_expect_geq(4 * cheaper[r], 3 * (points - 1), "%s: cheaper than %s at %d of %d", log, rivals[r], cheaper[r],
                  points);
  }
  plim_graph_free(g);
}

Test(online, best_is_never_costlier_than_its_rivals_on_resnet32) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  check_rivals("resnet32", 2);
}
Test(online, best_is_never_costlier_than_its_rivals_on_unet) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  check_rivals("unet", 3);
}
Test(online, best_is_never_costlier_than_its_rivals_on_densenet121) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  check_rivals("densenet121", 5);
}

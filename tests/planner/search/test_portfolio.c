/* planner/search/portfolio.c: what several searchers find depends on how many there are, not on which is faster; all of
 * them stop. Also run under the thread sanitizer. */
#include <criterion/criterion.h>
#include <string.h>
#include <time.h>

#include "planner/planner.h"
#include "runtime/import/generate.h"
#include "tests/support/test_seed.h"

#ifdef PLIM_SANITIZED
enum { ITERATIONS = 1000 };
#else
enum { ITERATIONS = 1500 };
#endif
enum { FAR_TOO_MANY = 4096 };

static plim_context *ctx;
static plim_graph *graph;
static plim_profile *profile;
static plim_plan_options options;

static void make_graph_of(uint64_t seed) {
  plim_generate_options shape = plim_generate_options_default("layered");
  shape.n = 60;
  shape.seed = seed;
  shape.packed = 1;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  cr_assert_eq(plim_graph_generate(ctx, &shape, &graph), PLIM_OK);
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  plim_plan *keep_all = NULL;
  options = plim_plan_options_default();
  cr_assert_eq(plim_plan_keep_all(ctx, graph, profile, &options, &keep_all), PLIM_OK);
  options.budget_bytes = keep_all->arena_bytes * 75 / 100;
  options.iterations = ITERATIONS;
  plim_plan_free(keep_all);
}

static void free_graph(void) {
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_context_free(ctx);
  profile = NULL, graph = NULL, ctx = NULL;
}

/* The first graph from a seed on of which one thread finds a plan. */
static void make_graph(void) {
  plim_status status = PLIM_ENOFIT;
  for (uint64_t seed = test_seed(1); status != PLIM_OK; seed++) {
    plim_plan *out = NULL;
    if (ctx) free_graph();
    make_graph_of(test_seed_at(seed));
    options.threads = 1;
    status = plim_plan_make(ctx, graph, profile, &options, &out);
    cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(ctx));
    plim_plan_free(out);
  }
}
TestSuite(portfolio, .init = make_graph, .fini = free_graph);

static plim_plan *plan(int32_t threads) {
  plim_plan *out = NULL;
  options.threads = threads;
  cr_assert_eq(plim_plan_make(ctx, graph, profile, &options, &out), PLIM_OK, "%s", plim_context_error(ctx));
  return out;
}

static int equal(const plim_plan *a, const plim_plan *b) {
  int same = a->n_commands == b->n_commands && a->n_buffers == b->n_buffers && a->arena_bytes == b->arena_bytes;
  for (int32_t j = 0; same && j < a->n_commands; j++) {
    same = a->command[j].op == b->command[j].op && a->command[j].variant == b->command[j].variant;
  }
  for (int32_t i = 0; same && i < a->n_buffers; i++) same = a->buffer[i].offset == b->buffer[i].offset;
  return same;
}

Test(portfolio, equal_seeds_and_threads_give_equal_plans) {
  for (int32_t threads = 1; threads <= 3; threads += 2) {
    plim_plan *first = plan(threads), *second = plan(threads);
    cr_assert(equal(first, second), "%d threads", (int)threads);
    plim_plan_free(first);
    plim_plan_free(second);
  }
}

/* Of some graphs the plan of one thread is the best of three too. */
Test(portfolio, searchers_differ) {
  enum { GRAPHS = 12 };
  int differ = 0;
  for (uint64_t seed = test_seed(1), end = seed + GRAPHS; test_seed_at(seed) < end && differ < 2; seed++) {
    plim_plan *made[2] = {NULL, NULL};
    free_graph();
    make_graph_of(seed);
    for (int i = 0; i < 2; i++) {
      options.threads = i == 0 ? 1 : 3;
      plim_status status = plim_plan_make(ctx, graph, profile, &options, &made[i]);
      cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(ctx));
    }
    cr_assert(made[1] || !made[0], "three threads have no plan");
    differ += made[0] && !equal(made[0], made[1]);
    plim_plan_free(made[0]);
    plim_plan_free(made[1]);
  }
  cr_assert_gt(differ, 1, "%d", differ);
}

Test(portfolio, none_and_one_are_the_same_number_of_threads) {
  plim_plan *none = plan(0), *one = plan(1);
  cr_assert(equal(none, one));
  plim_plan_free(none);
  plim_plan_free(one);
}

Test(portfolio, gives_back_all_memory) {
  int64_t before = plim_context_memory(ctx).bytes;
  plim_plan_free(plan(3));
  cr_assert_eq(plim_context_memory(ctx).bytes, before);
}

/* Cancels as soon as a plan is known, and notes its overhead. */
static void cancel_at_a_plan(void *user, const plim_progress *progress) {
  double *percent = user;
  if (progress->best_percent < 0 || plim_context_cancelled(ctx)) return;
  *percent = progress->best_percent;
  plim_context_cancel(ctx);
}

Test(portfolio, a_cancel_stops_all_of_them_and_keeps_the_best) {
  double percent = -1;
  options.iterations = INT64_MAX / 4;
  plim_context_set_progress(ctx, cancel_at_a_plan, &percent);
  plim_plan *out = plan(3);
  cr_assert_geq(percent, 0, "nothing was reported");
  cr_assert_leq(plim_plan_overhead_percent(out), percent + 1e-9);
  plim_plan_free(out);
}

static void remember_the_best(void *user, const plim_progress *report) {
  double *percent = user;
  if (report->best_percent >= 0) *percent = report->best_percent;
}

/* Iterations alone would let them run for years. A plan that was reported is returned, unless a better one is. */
Test(portfolio, a_time_limit_ends_all_of_them_and_keeps_the_best) {
  double percent = -1;
  options.iterations = INT64_MAX / 4;
  options.time_limit_ns = 200000000;
  options.threads = 3;
  plim_context_set_progress(ctx, remember_the_best, &percent);
  plim_plan *out = NULL;
  plim_status status = plim_plan_make(ctx, graph, profile, &options, &out);
  cr_assert(status == PLIM_OK || (status == PLIM_ENOFIT && percent < 0), "%s", plim_context_error(ctx));
  if (status == PLIM_OK && percent >= 0) cr_assert_leq(plim_plan_overhead_percent(out), percent + 1e-9);
  plim_plan_free(out);
}

Test(portfolio, more_threads_than_there_can_be_are_cut_down) {
  options.iterations = 50;
  plim_plan_free(plan(FAR_TOO_MANY));
}

/* The first search for fewest bytes ends 1.4 % above this budget of this graph, so its seed is fixed. */
Test(portfolio, a_plan_that_was_nearly_found_is_looked_for_again) {
  plim_generate_options shape = plim_generate_options_default("layered");
  free_graph();
  shape.n = 40;
  shape.seed = 2;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  cr_assert_eq(plim_graph_generate(ctx, &shape, &graph), PLIM_OK);
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  options = plim_plan_options_default();
  options.unpacked = 1;
  options.budget_bytes = 18040;
  plim_plan_free(plan(1));
}

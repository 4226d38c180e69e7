/* The search against exhaustive search on small random step graphs: never below the optimum, which would be a fault of
 * the timeline, and nearly always at it. */
#include <criterion/criterion.h>

#include "planner/planner.h"
#include "tests/support/plan_oracle.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { CASES = 120, BUDGETS = 3 };

typedef struct tally {
  int cases, optimal, with_repeats, floors, floors_least;
} tally;

static plim_context *ctx;
static void make_context(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
}
static void free_context(void) {
  plim_context_free(ctx);
}
TestSuite(search_oracle, .init = make_context, .fini = free_context);

static plim_plan_options options_for(int64_t budget) {
  plim_plan_options options = plim_plan_options_default();
  options.unpacked = 1;
  options.numerics = PLIM_NUMERICS_FASTEST;
  options.budget_bytes = budget;
  options.iterations = 20000;
  return options;
}

static void compare(const plim_graph *graph, const plim_profile *profile, int64_t budget, uint64_t seed, tally *score) {
  plim_plan_options options = options_for(budget);
  plim_plan *plan = NULL;
  int64_t optimum = plan_oracle(graph, profile, 1, budget);
  cr_assert_eq(plim_plan_make(ctx, graph, profile, &options, &plan), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_geq(plan->time_ns, optimum, "seed %llu budget %lld: below the optimum", (unsigned long long)seed,
                (long long)budget);
  cr_assert_geq(optimum, 0);
  score->cases++;
  score->optimal += plan->time_ns == optimum;
  score->with_repeats += plan->n_commands > graph->n_ops;
  plim_plan_free(plan);
}

/* The smallest budget found, and budgets from there to keep-all. Below the smallest the oracle should find nothing. */
static void compare_budgets(const plim_graph *graph, const plim_profile *profile, uint64_t seed, tally *score) {
  plim_plan_options options = options_for(INT64_MAX);
  plim_plan_floor floor;
  plim_plan *plan = NULL;
  cr_assert_eq(plim_plan_smallest(ctx, graph, profile, &options, &floor, NULL), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_leq(floor.bound_bytes, floor.smallest_bytes);
  cr_assert_lt(plan_oracle(graph, profile, 1, floor.bound_bytes - 1), 0, "seed %llu: a plan below the bound",
               (unsigned long long)seed);
  score->floors++;
  score->floors_least += plan_oracle(graph, profile, 1, floor.smallest_bytes - 1) < 0;
  for (int64_t k = 0; k < BUDGETS; k++) {
    compare(graph, profile, floor.smallest_bytes + k * (floor.keep_all_bytes - floor.smallest_bytes) / BUDGETS, seed,
            score);
  }
  options = options_for(floor.bound_bytes - 1);
  cr_assert_eq(plim_plan_make(ctx, graph, profile, &options, &plan), PLIM_ENOFIT);
}

/* One variant an op, or up to three with one numerics key. */
static plim_profile *profile_of(const plim_graph *graph, uint64_t seed) {
  plim_profile *profile = NULL;
  if (seed % 2 == 0) {
    cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
    return profile;
  }
  plim_variant variant[24];
  int32_t first[9] = {0};
  uint64_t random = seed;
  for (int32_t op = 0; op < graph->n_ops; op++) {
    int32_t n = (int32_t)test_random_between(&random, 1, 3);
    for (int32_t i = 0; i < n; i++) {
      /* a faster one has more workspace, and none is within 3 % of another */
      variant[first[op] + i] = (plim_variant){.name = {(char)('a' + i)},
                                              .numerics_key = "bits",
                                              .time_ns = 100 * (3 - i) + test_random_between(&random, 0, 20),
                                              .workspace_bytes = 700 * i};
    }
    first[op + 1] = first[op] + n;
  }
  plim_machine machine = {.device = "sim", .threads = 1};
  cr_assert_eq(plim_profile_make(graph, &machine, 0, first, variant, &profile), PLIM_OK, "%s", plim_context_error(ctx));
  return profile;
}

Test(search_oracle, finds_the_optimum_of_small_step_graphs) {
  tally score = {0};
  for (uint64_t seed = test_seed(1), end = seed + CASES; test_seed_at(seed) < end; seed++) {
    plim_graph *graph = random_graph_small(ctx, seed, (int32_t)(seed % 2));
    plim_profile *profile = profile_of(graph, seed);
    compare_budgets(graph, profile, seed, &score);
    plim_profile_free(profile);
    plim_graph_free(graph);
  }
  cr_log_info("%d of %d optimal, %d with repeats; %d of %d smallest budgets are the least", score.optimal, score.cases,
              score.with_repeats, score.floors_least, score.floors);
  cr_assert_geq(100 * score.optimal, 97 * score.cases, "%d of %d optimal", score.optimal, score.cases);
  cr_assert_geq(100 * score.floors_least, 97 * score.floors, "%d of %d least", score.floors_least, score.floors);
  cr_assert_geq(score.with_repeats, 60, "only %d plans with repeats", score.with_repeats);
}

/* What may not run again stays until its last reader: neither the bound nor the plans forget it. */
Test(search_oracle, finds_the_optimum_where_ops_are_of_class_once) {
  tally score = {0};
  for (uint64_t seed = test_seed(1), end = seed + CASES / 2; test_seed_at(seed) < end; seed++) {
    plim_graph *graph = random_graph_small_once(ctx, seed, (int32_t)(seed % 2));
    plim_profile *profile = profile_of(graph, seed);
    compare_budgets(graph, profile, seed, &score);
    plim_profile_free(profile);
    plim_graph_free(graph);
  }
  cr_log_info("%d of %d optimal, %d with repeats; %d of %d smallest budgets are the least", score.optimal, score.cases,
              score.with_repeats, score.floors_least, score.floors);
  cr_assert_geq(100 * score.optimal, 97 * score.cases, "%d of %d optimal", score.optimal, score.cases);
  cr_assert_geq(100 * score.floors_least, 97 * score.floors, "%d of %d least", score.floors_least, score.floors);
  cr_assert_geq(score.with_repeats, 10, "only %d plans with repeats", score.with_repeats);
}

/* planner/bound/cut.c: the cut model's bound is never above what exhaustive search finds, is the known optimum where
 * the literature has one, and never falls when the budget does; and the plans that come with it. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "planner/bound/cut_model.h"
#include "planner/bound/lp.h"
#include "planner/core/problem.h"
#include "runtime/import/generate.h"
#include "runtime/import/import.h"
#include "tests/support/dag_cases.h"
#include "tests/support/failing_memory.h"
#include "tests/support/plan_oracle.h"
#include "tests/support/planner_case.h"
#include "tests/support/published_graphs.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"
#include "tools/plimsoll-bench/peers.h"

static plim_context *ctx;
static void make_context(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
}
static void free_context(void) {
  plim_context_free(ctx);
}
TestSuite(cut_bound, .init = make_context, .fini = free_context);

/* The bound of a class at a budget, solved to the end; INT64_MAX: proven that no plan fits. */
static int64_t bound_at(const plim_graph *graph, const plim_profile *profile, int32_t fixed, int64_t budget) {
  plim_plan_options options = plim_plan_options_default();
  plim_problem *problem = NULL;
  plim_cut_model *model = NULL;
  plim_cut_solver *solver = NULL;
  plim_cut_answer answer;
  const plim_cut_limits limits = {.work = 1000000000, .deadline_ns = INT64_MAX, .enough_ns = INT64_MAX};
  options.unpacked = 1;
  options.numerics = PLIM_NUMERICS_FASTEST;
  plim_plan_class plan_class = fixed ? PLIM_CLASS_FIXED : PLIM_CLASS_FREE;
  cr_assert_eq(plim_problem_make(ctx, graph, profile, &options, plan_class, &problem), PLIM_OK);
  cr_assert_eq(plim_cut_model_make(problem, fixed, &model), PLIM_OK);
  cr_assert_eq(plim_cut_solver_new(model, &solver), PLIM_OK);
  cr_assert_eq(plim_cut_solve(solver, budget, &limits, &answer), PLIM_OK);
  cr_assert_eq(answer.bound_ns, answer.cost_ns, "not solved to the end at %lld", (long long)budget);
  int64_t bound = answer.bound_ns;
  plim_cut_solver_free(solver);
  plim_cut_model_free(model);
  plim_problem_free(problem);
  return bound;
}

static int64_t bound_of(const plim_graph *graph, int32_t fixed, int64_t budget) {
  plim_profile *profile = NULL;
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  int64_t bound = bound_at(graph, profile, fixed, budget);
  plim_profile_free(profile);
  return bound;
}

/* ---- against exhaustive search ---- */

typedef struct tally {
  int cases, equal, costlier, none; /* costlier: the optimum takes more than every op once */
} tally;

/* Up to three variants an op, with one numerics key: a faster one has more workspace. */
static plim_profile *small_profile(const plim_graph *graph, uint64_t seed) {
  plim_profile *profile = NULL;
  plim_variant variant[24];
  int32_t first[9] = {0};
  uint64_t random = seed;
  for (int32_t op = 0; op < graph->n_ops; op++) {
    int32_t n = seed % 2 ? (int32_t)test_random_between(&random, 1, 3) : 1;
    for (int32_t i = 0; i < n; i++) {
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

static void compare(const plim_graph *graph, const plim_profile *profile, int32_t fixed, int64_t budget, uint64_t seed,
                    tally *score) {
  int64_t optimum = fixed ? plan_oracle_fixed(graph, profile, 1, budget) : plan_oracle(graph, profile, 1, budget);
  int64_t bound = bound_at(graph, profile, fixed, budget);
  score->cases++;
  score->none += optimum < 0;
  if (optimum < 0) return; /* nothing that could be too high */
  cr_assert_leq(bound, optimum, "seed %llu budget %lld fixed %d: above the optimum", (unsigned long long)seed,
                (long long)budget, fixed);
  score->equal += bound == optimum;
  score->costlier += optimum > bound_at(graph, profile, fixed, INT64_MAX);
}

/* The least bytes that any op needs at once. */
static int64_t least_bytes(const plim_graph *graph, const plim_profile *profile, const plim_plan_options *options) {
  plim_problem *problem = NULL;
  int32_t op;
  cr_assert_eq(plim_problem_make(ctx, graph, profile, options, PLIM_CLASS_FIXED, &problem), PLIM_OK);
  int64_t bytes = plim_bound_bytes(problem, &op);
  plim_problem_free(problem);
  return bytes;
}

/* Budgets from the least that any op needs up to what keeps everything. */
static void compare_budgets(const plim_graph *graph, const plim_profile *profile, uint64_t seed, tally *score) {
  plim_plan_options options = plim_plan_options_default();
  plim_plan *plan = NULL;
  options.unpacked = 1;
  options.order = PLIM_ORDER_FIXED;
  options.numerics = PLIM_NUMERICS_FASTEST;
  cr_assert_eq(plim_plan_keep_all(ctx, graph, profile, &options, &plan), PLIM_OK, "%s", plim_context_error(ctx));
  int64_t low = least_bytes(graph, profile, &options);
  for (int64_t k = 0; k < 3; k++) {
    for (int32_t fixed = 0; fixed < 2; fixed++) {
      compare(graph, profile, fixed, low + k * (plan->peak_bytes - low) / 3, seed, score);
    }
  }
  plim_plan_free(plan);
}

Test(cut_bound, the_bound_is_never_above_the_optimum_of_small_step_graphs) {
  tally score = {0};
  for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) {
    plim_graph *graph = random_graph_small(ctx, seed, (int32_t)(seed % 3));
    plim_profile *profile = small_profile(graph, seed);
    compare_budgets(graph, profile, seed, &score);
    plim_profile_free(profile);
    plim_graph_free(graph);
  }
  cr_log_info("%d of %d bounds are the optimum; %d optima need more than every op once, %d budgets have no plan",
              score.equal, score.cases, score.costlier, score.none);
  cr_assert_geq(score.costlier, 60);
  cr_assert_geq(4 * score.equal, 3 * (score.cases - score.none));
}

Test(cut_bound, the_bound_is_never_above_the_optimum_where_ops_are_of_class_once) {
  tally score = {0};
  for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) {
    plim_graph *graph = random_graph_small_once(ctx, seed, (int32_t)(seed % 3));
    plim_profile *profile = small_profile(graph, seed);
    compare_budgets(graph, profile, seed, &score);
    plim_profile_free(profile);
    plim_graph_free(graph);
  }
  cr_log_info("%d of %d bounds are the optimum; %d optima need more than every op once, %d budgets have no plan",
              score.equal, score.cases, score.costlier, score.none);
  cr_assert_geq(score.costlier, 10);
  cr_assert_geq(4 * score.equal, 3 * (score.cases - score.none));
}

static plim_graph *small_dag(uint64_t seed) {
  int64_t size[8], time[8];
  dag_edge edge[28];
  int32_t n = 4 + (int32_t)(seed % 5), e = 0;
  uint64_t random = seed;
  for (int32_t v = 0; v < n; v++) {
    size[v] = test_random_between(&random, 1, 6);
    time[v] = test_random_between(&random, 0, 5);
    for (int32_t u = 0; u < v; u++) {
      if (u == v - 1 || test_random_chance(&random, 25)) edge[e++] = (dag_edge){u, v};
    }
  }
  return dag_make(ctx, n, size, time, e, edge);
}

Test(cut_bound, the_bound_is_never_above_the_optimum_of_small_graphs) {
  tally score = {0};
  for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) {
    plim_graph *graph = small_dag(seed);
    plim_profile *profile = NULL;
    cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
    compare_budgets(graph, profile, seed, &score);
    plim_profile_free(profile);
    plim_graph_free(graph);
  }
  cr_log_info("%d of %d bounds are the optimum; %d optima need more than every op once, %d budgets have no plan",
              score.equal, score.cases, score.costlier, score.none);
  cr_assert_geq(score.costlier, 60);
  cr_assert_geq(4 * score.equal, 3 * (score.cases - score.none));
}

/* ---- from budget to budget ---- */

/* One solver for all budgets, up and down: what it keeps of one is right for the next. */
static void compare_warm(const plim_graph *graph, int32_t fixed, int64_t high, uint64_t seed, int *kept) {
  plim_plan_options options = plim_plan_options_default();
  plim_profile *profile = NULL;
  plim_problem *problem = NULL;
  plim_cut_model *model = NULL;
  plim_cut_solver *solver = NULL;
  plim_cut_answer answer;
  const plim_cut_limits limits = {.work = 1000000000, .deadline_ns = INT64_MAX, .enough_ns = INT64_MAX};
  plim_plan_class plan_class = fixed ? PLIM_CLASS_FIXED : PLIM_CLASS_FREE;
  options.unpacked = 1;
  options.numerics = PLIM_NUMERICS_FASTEST;
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  cr_assert_eq(plim_problem_make(ctx, graph, profile, &options, plan_class, &problem), PLIM_OK);
  cr_assert_eq(plim_cut_model_make(problem, fixed, &model), PLIM_OK);
  cr_assert_eq(plim_cut_solver_new(model, &solver), PLIM_OK);
  for (int32_t i = 0; i < 12; i++) {
    int64_t budget = high * (i < 6 ? 40 + 10 * i : 165 - 10 * i) / 100;
    int64_t alone = bound_at(graph, profile, fixed, budget);
    cr_assert_eq(plim_cut_solve(solver, budget, &limits, &answer), PLIM_OK);
    cr_assert_eq(answer.bound_ns, alone, "seed %llu fixed %d budget %lld: %lld from the last budget, %lld alone",
                 (unsigned long long)seed, fixed, (long long)budget, (long long)answer.bound_ns, (long long)alone);
    cr_assert_eq(answer.cost_ns, alone);
    if (i > 0 && answer.n_rows == 0 && alone < INT64_MAX && alone > model->least_ns) ++*kept;
  }
  plim_cut_solver_free(solver);
  plim_cut_model_free(model);
  plim_problem_free(problem);
  plim_profile_free(profile);
}

Test(cut_bound, a_solver_that_comes_from_other_budgets_proves_what_a_new_one_does) {
  int kept = 0;
  for (uint64_t seed = test_seed(1), end = seed + 24; test_seed_at(seed) < end; seed++) {
    random_graph_options options = random_graph_options_default(seed);
    plim_graph *graph = seed % 2 ? small_dag(seed) : NULL;
    plim_plan *plan = NULL;
    plim_profile *profile = NULL;
    plim_plan_options keep = plim_plan_options_default();
    options.n_ops = 24;
    if (!graph) cr_assert_eq(random_graph_make(ctx, &options, &graph), PLIM_OK);
    keep.unpacked = 1;
    keep.order = PLIM_ORDER_FIXED;
    cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
    cr_assert_eq(plim_plan_keep_all(ctx, graph, profile, &keep, &plan), PLIM_OK);
    for (int32_t fixed = 0; fixed < 2; fixed++) compare_warm(graph, fixed, plan->peak_bytes, seed, &kept);
    plim_plan_free(plan);
    plim_profile_free(profile);
    plim_graph_free(graph);
  }
  cr_assert_gt(kept, 5, "hardly a budget was solved by the rows of another");
}

/* ---- known cases ---- */

Test(cut_bound, it_is_exact_where_three_levels_ask_for_one_repeat_an_op) {
  const int64_t size[] = {2, 1, 3, 2, 5, 1}, time[] = {1, 1, 1, 1, 1, 1};
  const dag_edge edge[] = {{0, 1}, {0, 2}, {2, 3}, {1, 5}, {3, 5}};
  plim_graph *graph = dag_make(ctx, 6, size, time, 5, edge);
  cr_assert_eq(bound_of(graph, 0, 4), INT64_MAX, "x, p and what p writes need 5 bytes at once");
  cr_assert_leq(bound_of(graph, 0, 5), 7);
  cr_assert_eq(bound_of(graph, 0, 6), 6);
  cr_assert_leq(bound_of(graph, 1, 6), 9);
  cr_assert_eq(bound_of(graph, 1, 7), 8);
  cr_assert_eq(bound_of(graph, 1, 8), 6);
  plim_graph_free(graph);
}

Test(cut_bound, two_branches_cost_repeats_in_program_order_only) {
  const int64_t size[] = {1, 6, 6, 1, 1, 1}, time[] = {1, 1, 1, 1, 1, 1};
  const dag_edge edge[] = {{0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 5}};
  plim_graph *graph = dag_make(ctx, 6, size, time, 6, edge);
  for (int64_t budget = 8; budget <= 12; budget++) {
    cr_assert_eq(bound_of(graph, 0, budget), 6);
    cr_assert_eq(bound_of(graph, 1, budget), 8);
  }
  cr_assert_eq(bound_of(graph, 1, 13), 6);
  plim_graph_free(graph);
}

/* u is read by the first op and after each of two wide ones, next to which it has no room. */
Test(cut_bound, what_is_gone_between_three_readers_is_recomputed_twice) {
  const int64_t size[] = {4, 1, 9, 1, 1, 9, 1, 1}, time[] = {3, 1, 1, 1, 1, 1, 1, 1};
  const dag_edge edge[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {0, 4}, {4, 5}, {5, 6}, {6, 7}, {0, 7}};
  plim_graph *graph = dag_make(ctx, 8, size, time, 9, edge);
  for (int32_t fixed = 0; fixed < 2; fixed++) {
    cr_assert_eq(bound_of(graph, fixed, 14), 10);
    cr_assert_eq(bound_of(graph, fixed, 10), 16);
  }
  plim_graph_free(graph);
}

Test(cut_bound, chains_are_bounded_by_one_repeat_an_op) {
  /* at the largest budgets below keep-all Revolve runs no op twice again: there the bound is the optimum */
  for (int32_t layers = 3; layers <= 7; layers++) {
    plim_graph *graph = dag_chain(ctx, layers, 0);
    cr_assert_eq(bound_of(graph, 0, layers + 1), 2 * layers + 2);
    cr_assert_eq(bound_of(graph, 1, layers + 1), 2 * layers + 2);
    cr_assert_eq(bound_of(graph, 0, layers + 2), 2 * layers + 1);
    plim_graph_free(graph);
  }
}

Test(cut_bound, the_bound_never_falls_when_the_budget_does) {
  for (uint64_t seed = test_seed(1), end = seed + 8; test_seed_at(seed) < end; seed++) {
    random_graph_options options = random_graph_options_default(seed);
    plim_graph *graph = NULL;
    options.n_ops = 30;
    cr_assert_eq(random_graph_make(ctx, &options, &graph), PLIM_OK);
    for (int32_t fixed = 0; fixed < 2; fixed++) {
      int64_t last = 0;
      for (int64_t budget = 60000; budget > 2000; budget -= 2000) {
        int64_t bound = bound_of(graph, fixed, budget);
        cr_assert_geq(bound, last, "seed %llu: the bound fell at %lld bytes", (unsigned long long)seed,
                      (long long)budget);
        if (!fixed) cr_assert_leq(bound, bound_of(graph, 1, budget), "program order has fewer plans");
        last = bound;
      }
    }
    plim_graph_free(graph);
  }
}

/* ---- with plans ---- */

Test(cut_bound, no_plan_of_a_larger_step_graph_is_faster_than_the_bound) {
#ifdef PLIM_SANITIZED
  const uint64_t graphs = 4;
#else
  const uint64_t graphs = 10;
#endif
  int plans = 0;
  for (uint64_t seed = test_seed(1), end = seed + graphs; test_seed_at(seed) < end; seed++) {
    planner_case c = planner_case_random(seed, -1);
    plim_plan *all = NULL, *plan = NULL;
    c.options.iterations = 2000;
    cr_assert_eq(plim_plan_keep_all(c.ctx, c.graph, c.profile, &c.options, &all), PLIM_OK);
    for (int64_t percent = 95; percent >= 50; percent -= 15) {
      c.options.planner = percent % 2 ? "search" : "cut";
      c.options.budget_bytes = all->arena_bytes * percent / 100;
      plim_status status = plim_plan_make(c.ctx, c.graph, c.profile, &c.options, &plan);
      cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "seed %llu: %s", (unsigned long long)seed,
                plim_context_error(c.ctx));
      if (status != PLIM_OK) break;
      cr_assert_leq(plan->bound_ns, plan->time_ns, "seed %llu at %lld %%", (unsigned long long)seed,
                    (long long)percent);
      plim_plan_free(plan);
      plans++;
    }
    plim_plan_free(all);
    planner_case_free(&c);
  }
  cr_assert_geq(plans, (int)(graphs + graphs / 5));
}

/* No schedule of them is as fast as every op once within the budget: what they cannot prove the model proves for them.
 */
Test(cut_bound, plans_of_strategies_without_a_bound_have_its_bound) {
  const char *const planner[] = {"fastsa", "sqrt", "greedy", "revolve", "rotor"};
  plim_graph *graph = dag_chain(ctx, 6, 0);
  plim_profile *profile = NULL;
  plim_plan_options options = plim_plan_options_default();
  peers_add();
  options.unpacked = 1;
  options.iterations = 2000;
  options.budget_bytes = 7;
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  for (size_t i = 0; i < sizeof planner / sizeof planner[0]; i++) {
    plim_plan *plan = NULL;
    options.planner = planner[i];
    cr_assert_eq(plim_plan_make(ctx, graph, profile, &options, &plan), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_eq(plan->bound_ns, 14, "%s: %lld", planner[i], (long long)plan->bound_ns);
    cr_assert_geq(plan->time_ns, 14);
    plim_plan_free(plan);
  }
  plim_profile_free(profile);
  plim_graph_free(graph);
}

/* A curve of budgets begins there. */
Test(cut_bound, its_smallest_budget_is_below_what_keeps_everything) {
  plim_graph *graph = dag_chain(ctx, 6, 0);
  plim_profile *profile = NULL;
  plim_plan *plan = NULL;
  plim_plan_floor floor = {0};
  plim_plan_options options = plim_plan_options_default();
  options.unpacked = 1;
  options.planner = "cut";
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  cr_assert_eq(plim_plan_smallest(ctx, graph, profile, &options, &floor, &plan), PLIM_OK, "%s",
               plim_context_error(ctx));
  cr_assert_eq(floor.keep_all_bytes, 8);
  cr_assert_eq(floor.smallest_bytes, 3);
  cr_assert_eq(plan->peak_bytes, 3);
  plim_plan_free(plan);
  options.budget_bytes = floor.smallest_bytes;
  cr_assert_eq(plim_plan_make(ctx, graph, profile, &options, &plan), PLIM_OK, "%s", plim_context_error(ctx));
  plim_plan_free(plan);
  plim_profile_free(profile);
  plim_graph_free(graph);
}

static void prove(const char *name, int64_t percent, plim_plan_order order, int64_t time_ns) {
  plim_graph *graph = NULL;
  plim_profile *profile = NULL;
  plim_plan *all = NULL, *plan = NULL;
  plim_plan_options options = plim_plan_options_default();
  cr_assert_eq(plim_graph_import(ctx, "nx", plim_test_published(name), &graph), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  options.unpacked = 1;
  options.order = PLIM_ORDER_FIXED;
  cr_assert_eq(plim_plan_keep_all(ctx, graph, profile, &options, &all), PLIM_OK);
  options.order = order;
  options.planner = "cut";
  options.budget_bytes = (all->peak_bytes * percent + 99) / 100;
  cr_assert_eq(plim_plan_make(ctx, graph, profile, &options, &plan), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plan->time_ns, time_ns, "%s at %lld %%: %lld", name, (long long)percent, (long long)plan->time_ns);
  cr_assert_eq(plan->bound_ns, time_ns, "%s at %lld %%: bound %lld", name, (long long)percent,
               (long long)plan->bound_ns);
  plim_plan_free(plan);
  plim_plan_free(all);
  plim_profile_free(profile);
  plim_graph_free(graph);
}

Test(cut_bound, published_training_graphs_are_proved_optimal_in_both_orders) {
  for (int i = 0; i < 2; i++) {
    plim_plan_order order = i ? PLIM_ORDER_FIXED : PLIM_ORDER_FREE;
    prove("graphs/fcn8_train.json", 90, order, 10278354943616);
    prove("graphs/fcn8_train.json", 80, order, 10289323652736);
    prove("graphs/resnet50_train.json", 90, order, 406110);
    prove("graphs/resnet50_train.json", 80, order, 406800);
  }
}

/* The model does not see what is alive while ops run again: the first plan that fits may be far from its bound. */
Test(cut_bound, a_plan_that_fits_is_brought_near_the_bound) {
  for (uint64_t seed = test_seed(3), end = seed + 3; test_seed_at(seed) < end; seed++) {
    plim_generate_options generate = plim_generate_options_default("layered");
    plim_plan_options options = plim_plan_options_default();
    plim_graph *graph = NULL;
    plim_profile *profile = NULL;
    plim_plan *all = NULL, *plan = NULL;
    generate.n = 60;
    generate.seed = seed;
    cr_assert_eq(plim_graph_generate(ctx, &generate, &graph), PLIM_OK);
    cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
    options.unpacked = 1;
    options.order = PLIM_ORDER_FIXED;
    options.planner = "cut";
    cr_assert_eq(plim_plan_keep_all(ctx, graph, profile, &options, &all), PLIM_OK);
    options.budget_bytes = all->peak_bytes / 10 * 8;
    cr_assert_eq(plim_plan_make(ctx, graph, profile, &options, &plan), PLIM_OK, "%s", plim_context_error(ctx));
    int64_t overhead = plan->time_ns - plan->keep_all_ns, bound = plan->bound_ns - plan->keep_all_ns;
    cr_assert_leq(4 * overhead, 5 * bound, "seed %d: %lld, bound %lld", (int)seed, (long long)overhead,
                  (long long)bound);
    plim_plan_free(plan);
    plim_plan_free(all);
    plim_profile_free(profile);
    plim_graph_free(graph);
  }
}

/* ---- proofs in integers ---- */

enum { COLUMNS = 8, ROWS = 5 };

/* The least cost of a solution between low and high that satisfies all rows; -1: there is none. */
static int64_t cheapest(const plim_cut_bounds *bounds, const plim_cut_row *row) {
  int64_t least = -1;
  for (uint32_t solution = 0; solution < 1U << COLUMNS; solution++) {
    int64_t cost = 0;
    int allowed = 1;
    for (int32_t j = 0; j < COLUMNS; j++) {
      int on = solution >> j & 1;
      allowed &= on >= bounds->low[j] && on <= bounds->high[j];
      cost += on * bounds->cost[j];
    }
    for (int32_t r = 0; r < ROWS && allowed; r++) {
      int64_t left = row[r].demand;
      for (int32_t k = 0; k < row[r].n; k++) left -= (solution >> row[r].column[k] & 1) * row[r].weight[k];
      allowed = left <= 0;
    }
    if (allowed && (least < 0 || cost < least)) least = cost;
  }
  return least;
}

Test(cut_bound, no_multipliers_prove_more_than_the_cheapest_solution_costs) {
  int32_t column[COLUMNS] = {0, 1, 2, 3, 4, 5, 6, 7};
  int64_t weight[ROWS][COLUMNS], cost[COLUMNS], scaled_cost[COLUMNS], reduced[COLUMNS];
  uint8_t low[COLUMNS], high[COLUMNS];
  plim_cut_row row[ROWS];
  double multiplier[ROWS];
  int proved = 0;
  for (uint64_t seed = test_seed(1), end = seed + 2000; test_seed_at(seed) < end; seed++) {
    uint64_t random = seed;
    int64_t size = seed % 3 ? 100 : (int64_t)1 << 40; /* large numbers lose digits, not truth */
    for (int32_t j = 0; j < COLUMNS; j++) {
      cost[j] = test_random_between(&random, 0, size);
      low[j] = (uint8_t)test_random_chance(&random, 10);
      high[j] = low[j] || test_random_chance(&random, 90);
    }
    for (int32_t r = 0; r < ROWS; r++) {
      for (int32_t j = 0; j < COLUMNS; j++) weight[r][j] = test_random_between(&random, 1, size);
      row[r] = (plim_cut_row){
          .n = COLUMNS, .column = column, .weight = weight[r], .demand = test_random_between(&random, 1, 3 * size)};
      multiplier[r] = (double)test_random_between(&random, 0, 1000) / 1500;
    }
    plim_cut_bounds bounds = {COLUMNS, cost, low, high};
    int64_t least = cheapest(&bounds, row),
            bound = plim_cut_certify(&bounds, ROWS, row, multiplier, scaled_cost, reduced);
    if (least >= 0) cr_assert_leq(bound, least, "seed %llu", (unsigned long long)seed);
    proved += bound > 0;
    for (int32_t j = 0; j < COLUMNS; j++) { /* at the other bound it costs so much more */
      int at = scaled_cost[j] < 0;
      if (low[j] == high[j] || scaled_cost[j] == 0) continue;
      low[j] = high[j] = !at;
      least = cheapest(&bounds, row);
      if (least >= 0 && bound > 0) cr_assert_leq(bound + reduced[j], least, "seed %llu", (unsigned long long)seed);
      low[j] = 0;
      high[j] = 1;
    }
  }
  cr_assert_geq(proved, 500);
}

/* A column costs 3 or 2, any two of three columns are enough: 4 in fractions and in whole columns. */
Test(cut_bound, the_program_finds_the_least_and_its_multipliers_prove_it) {
  const double cost[] = {3, 2, 2};
  const int64_t costs[] = {3, 2, 2};
  int32_t column[] = {0, 1, 2};
  int64_t weight[] = {1, 1, 1}, scaled_cost[3];
  uint8_t low[] = {0, 0, 0}, high[] = {1, 1, 1};
  const plim_cut_row row = {.n = 3, .column = column, .weight = weight, .demand = 2};
  double multiplier[2];
  plim_lp *lp = NULL;
  cr_assert_eq(plim_lp_new(ctx, 3, cost, 2, &lp), PLIM_OK);
  plim_lp_add(lp, &row);
  cr_assert_eq(plim_lp_solve(lp, 1000, INT64_MAX), PLIM_LP_OPTIMAL);
  cr_assert_float_eq(plim_lp_objective(lp), 4, 1e-9);
  plim_lp_multipliers(lp, 1000, multiplier);
  multiplier[0] /= (double)row.demand; /* the program divides rows by their demand */
  cr_assert_eq(plim_cut_certify(&(plim_cut_bounds){3, costs, low, high}, 1, &row, multiplier, scaled_cost, NULL), 4);
  plim_lp_bound(lp, 1, 0, 0);
  cr_assert_eq(plim_lp_solve(lp, 1000, INT64_MAX), PLIM_LP_OPTIMAL);
  cr_assert_float_eq(plim_lp_objective(lp), 5, 1e-9);
  plim_lp_bound(lp, 2, 0, 0);
  cr_assert_eq(plim_lp_solve(lp, 1000, INT64_MAX), PLIM_LP_INFEASIBLE);
  plim_lp_multipliers(lp, 1000, multiplier);
  multiplier[0] /= (double)row.demand;
  high[1] = high[2] = 0;
  cr_assert_gt(plim_cut_certify(&(plim_cut_bounds){3, costs, low, high}, 1, &row, multiplier, scaled_cost, NULL), 1000);
  plim_lp_bound(lp, 2, 0, 1);
  cr_assert_eq(plim_lp_solve(lp, 1000, INT64_MAX), PLIM_LP_OPTIMAL);
  cr_assert_float_eq(plim_lp_objective(lp), 5, 1e-9);
  plim_lp_free(lp);
}

/* ---- failures ---- */

static plim_status plan_with_cut(plim_context *own, void *user) {
  plim_graph *graph = NULL;
  plim_profile *profile = NULL;
  plim_plan *plan = NULL;
  plim_plan_options options = plim_plan_options_default();
  options.planner = "cut";
  options.budget_bytes = *(int64_t *)user;
  plim_status status = random_chain_make(own, 4, test_seed(3), &graph);
  if (status == PLIM_OK) status = plim_profile_from_graph(graph, &profile);
  if (status == PLIM_OK) status = plim_plan_make(own, graph, profile, &options, &plan);
  plim_plan_free(plan);
  plim_profile_free(profile);
  plim_graph_free(graph);
  return status;
}

Test(cut_bound, every_failed_allocation_is_reported_and_leaves_nothing) {
  plim_graph *graph = NULL;
  plim_profile *profile = NULL;
  plim_plan *all = NULL;
  plim_plan_options options = plim_plan_options_default();
  cr_assert_eq(random_chain_make(ctx, 4, test_seed(3), &graph), PLIM_OK);
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  cr_assert_eq(plim_plan_keep_all(ctx, graph, profile, &options, &all), PLIM_OK);
  int64_t budget = all->arena_bytes - 512;
  cr_assert_gt(plim_test_each_allocation(plan_with_cut, &budget), 50);
  plim_plan_free(all);
  plim_profile_free(profile);
  plim_graph_free(graph);
}

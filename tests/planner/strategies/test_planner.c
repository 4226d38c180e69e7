/* The planner's promises on random step graphs and chains: every strategy's plan passes the checker and keeps its
 * budget, keep-all bytes cost nothing, figures are in order, results repeat, a cancel keeps the best. */
#include "planner/planner.h"

#include <criterion/criterion.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/core/problem.h"
#include "planner/solvers/solver.h"
#include "planner/strategies/strategy.h"
#include "runtime/graph/check/check.h"
#include "runtime/import/import.h"
#include "tests/support/dag_cases.h"
#include "tests/support/failing_memory.h"
#include "tests/support/folder.h"
#include "tests/support/planner_case.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_context.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"
#include "tools/plimsoll-bench/peers.h"

TestSuite(planner, .init = peers_add);

/* Integer programs need a solver, which a machine may not have. */
static int runs_here(plim_context *ctx, const char *planner) {
  plim_solver *solver = NULL;
  if (strcmp(planner, "milp") != 0 && strcmp(planner, "lp-round") != 0) return 1;
  plim_status status = plim_solver_open(ctx, NULL, &solver);
  plim_solver_close(solver);
  return status == PLIM_OK;
}

static int64_t keep_all_bytes(planner_case *c) {
  plim_plan *plan = NULL;
  cr_assert_eq(plim_plan_keep_all(c->ctx, c->graph, c->profile, &c->options, &plan), PLIM_OK, "%s",
               plim_context_error(c->ctx));
  int64_t bytes = plan->arena_bytes;
  cr_assert_eq(plan->n_commands, c->graph->n_ops);
  plim_plan_free(plan);
  return bytes;
}

static void check(const planner_case *c, const plim_plan *plan, uint64_t seed) {
  int32_t op;
  cr_assert_eq(plim_plan_check(c->ctx, c->graph, plan), PLIM_OK, "seed %llu: %s", (unsigned long long)seed,
               plim_context_error(c->ctx));
  cr_assert_leq(plan->arena_bytes, c->options.budget_bytes);
  cr_assert_leq(plan->peak_bytes, plan->arena_bytes);
  cr_assert_geq(plan->peak_bytes, plim_bound_bytes(c->problem, &op));
  cr_assert_geq(plan->time_ns, plan->bound_ns);
  cr_assert_geq(plan->bound_ns, plan->keep_all_ns);
  cr_assert_geq(plim_plan_overhead_percent(plan), 0);
}

/* A plan of each strategy at some share of the keep-all bytes. Counts those made, and those asked for. */
static void plan_by_every_strategy(planner_case *c, uint64_t seed, int32_t *made, int32_t *asked) {
  int64_t all = keep_all_bytes(c);
  c->options.iterations = 3000;
  c->options.budget_bytes = all * (76 + (int64_t)(seed % 25)) / 100;
  for (int32_t row = 0; plim_planner_name(row); row++) {
    plim_plan *plan = NULL;
    c->options.planner = plim_planner_name(row);
    if (!runs_here(c->ctx, c->options.planner)) continue;
    asked[row]++;
    /* integer programs end when they are proved, which may take any time */
    c->options.time_limit_ns = strcmp(c->options.planner, "milp") == 0 ? 20000000 : 0;
    plim_status status = plim_plan_make(c->ctx, c->graph, c->profile, &c->options, &plan);
    cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "seed %llu %s: %s", (unsigned long long)seed,
              c->options.planner, plim_context_error(c->ctx));
    if (status != PLIM_OK) continue;
    check(c, plan, seed);
    cr_assert_str_eq(plan->planner, c->options.planner);
    made[row]++;
    plim_plan_free(plan);
  }
}

static void expect_made(const int32_t *made, const int32_t *asked, int32_t least) {
  for (int32_t row = 0; plim_planner_name(row); row++) { /* keep-all fits where the budget is nearly all */
    const char *name = plim_planner_name(row);
    int32_t enough = strcmp(name, "keep-all") == 0 ? 1 : least;
    cr_assert(made[row] >= enough || !asked[row], "%s made only %d plans", name, made[row]);
  }
}

/* Graphs of each test of all strategies. */
#ifdef PLIM_SANITIZED
enum { GRAPHS = 20 };
#else
enum { GRAPHS = 60 };
#endif

Test(planner, plans_of_every_strategy_pass_the_checker_and_keep_the_budget) {
  int32_t made[32] = {0}, asked[32] = {0};
  for (uint64_t seed = test_seed(1), end = seed + GRAPHS; test_seed_at(seed) < end; seed++) {
    planner_case c = planner_case_random(seed, -1);
    plan_by_every_strategy(&c, seed, made, asked);
    planner_case_free(&c);
  }
  expect_made(made, asked, GRAPHS / 6);
}

/* The checker refuses a second run of such an op. */
Test(planner, no_strategy_runs_an_op_of_class_once_again) {
  int32_t made[32] = {0}, asked[32] = {0};
  for (uint64_t seed = test_seed(1), end = seed + GRAPHS / 2; test_seed_at(seed) < end; seed++) {
    planner_case c = planner_case_once(seed, -1);
    plan_by_every_strategy(&c, seed, made, asked);
    planner_case_free(&c);
  }
  expect_made(made, asked, GRAPHS / 20);
}

Test(planner, keep_all_bytes_cost_exactly_nothing) {
  for (uint64_t seed = test_seed(1), end = seed + 40; test_seed_at(seed) < end; seed++) {
    planner_case c = planner_case_random(seed, -1);
    c.options.budget_bytes = keep_all_bytes(&c);
    c.options.iterations = 2000;
    plim_plan *plan = planner_case_plan(&c, PLIM_OK);
    cr_assert_eq(plan->time_ns, plan->keep_all_ns, "seed %llu", (unsigned long long)seed);
    cr_assert_eq(plan->proved, 1);
    cr_assert_eq(plan->n_commands, c.graph->n_ops);
    plim_plan_free(plan);
    planner_case_free(&c);
  }
}

Test(planner, more_bytes_never_make_the_plan_slower_than_the_slowest_of_fewer) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  for (uint64_t seed = test_seed(1), end = seed + 12; test_seed_at(seed) < end; seed++) {
    planner_case c = planner_case_random(seed, -1);
    int64_t all = keep_all_bytes(&c), last_ns = INT64_MAX;
    c.options.iterations = 20000;
    for (int64_t percent = 70; percent <= 100; percent += 10) {
      plim_plan *plan = NULL;
      c.options.budget_bytes = all * percent / 100;
      if (plim_plan_make(c.ctx, c.graph, c.profile, &c.options, &plan) != PLIM_OK) continue;
      cr_assert_leq(plan->time_ns, last_ns, "seed %llu at %lld %%", (unsigned long long)seed, (long long)percent);
      last_ns = plan->time_ns;
      plim_plan_free(plan);
    }
    planner_case_free(&c);
  }
}

Test(planner, the_smallest_budget_has_a_plan_and_is_not_below_the_bound) {
  for (uint64_t seed = test_seed(1), end = seed + 8; test_seed_at(seed) < end; seed++) {
    planner_case c = planner_case_random(seed, 20);
    for (int32_t row = 0; plim_planner_name(row); row++) {
      plim_plan_floor floor;
      plim_plan *plan = NULL;
      c.options.planner = plim_planner_name(row);
      if (!runs_here(c.ctx, c.options.planner)) continue;
      c.options.iterations = 2000;
      c.options.budget_bytes = 1;
      cr_assert_eq(plim_plan_smallest(c.ctx, c.graph, c.profile, &c.options, &floor, &plan), PLIM_OK, "%s",
                   plim_context_error(c.ctx));
      cr_assert_geq(floor.smallest_bytes, floor.bound_bytes);
      cr_assert_eq(plan->arena_bytes, floor.smallest_bytes);
      cr_assert_eq(plan->budget_bytes, floor.smallest_bytes);
      plim_plan_free(plan);
      c.options.budget_bytes = floor.smallest_bytes;
      plan = planner_case_plan(&c, PLIM_OK);
      check(&c, plan, seed);
      plim_plan_free(plan);
      c.options.budget_bytes = floor.bound_bytes - 1;
      (void)planner_case_plan(&c, PLIM_ENOFIT);
    }
    planner_case_free(&c);
  }
}

Test(planner, equal_iterations_give_equal_plans) {
  for (uint64_t seed = test_seed(1), end = seed + 10; test_seed_at(seed) < end; seed++) {
    planner_case c = planner_case_random(seed, -1);
    c.options.budget_bytes = keep_all_bytes(&c) * 85 / 100;
    c.options.iterations = 20000;
    plim_plan *first = NULL, *second = NULL;
    plim_status status = plim_plan_make(c.ctx, c.graph, c.profile, &c.options, &first);
    cr_assert_eq(plim_plan_make(c.ctx, c.graph, c.profile, &c.options, &second), status);
    if (status == PLIM_OK) {
      cr_assert_eq(first->n_commands, second->n_commands);
      cr_assert_eq(first->n_buffers, second->n_buffers);
      for (int32_t j = 0; j < first->n_commands; j++) cr_assert_eq(first->command[j].op, second->command[j].op);
      cr_assert_eq(memcmp(first->buffer, second->buffer, (size_t)first->n_buffers * sizeof *first->buffer), 0);
      plim_plan_free(first);
      plim_plan_free(second);
    }
    planner_case_free(&c);
  }
}

Test(planner, keys_restrict_what_a_plan_may_use) {
  for (uint64_t seed = test_seed(1), end = seed + 30; test_seed_at(seed) < end; seed++) {
    planner_case c = planner_case_random(seed, 30);
    const char *numerics_key[64];
    for (int32_t op = 0; op < c.graph->n_ops; op++) {
      numerics_key[op] = c.profile->variant[c.profile->first[op + 1] - 1].numerics_key; /* that of the last variant */
    }
    c.options.numerics_key = numerics_key;
    c.options.numerics = PLIM_NUMERICS_GIVEN;
    c.options.iterations = 3000;
    plim_plan *plan = planner_case_plan(&c, PLIM_OK);
    check(&c, plan, seed);
    for (int32_t j = 0; j < plan->n_commands; j++) {
      cr_assert_str_eq(plan->variant[plan->command[j].variant].variant.numerics_key, numerics_key[plan->command[j].op]);
    }
    plim_plan_free(plan);
    numerics_key[0] = "no such key";
    (void)planner_case_plan(&c, PLIM_EUSAGE);
    planner_case_free(&c);
  }
}

Test(planner, a_tie_within_three_percent_goes_to_less_workspace) {
  planner_case c = planner_case_random(test_seed(2), 6);
  plim_variant variant[3 * 6];
  int32_t first[7];
  cr_assert_leq(c.graph->n_ops, 6);
  for (int32_t op = 0; op < c.graph->n_ops && op < 6; op++) {
    const plim_variant rows[] = {{"large", "x", 1000, 4096}, {"small", "y", 1030, 1024}, {"slow", "y", 1031, 0}};
    memcpy(&variant[3 * op], rows, sizeof rows);
    first[op] = 3 * op;
  }
  first[c.graph->n_ops] = 3 * c.graph->n_ops;
  plim_machine machine = {.device = "sim", .threads = 1};
  plim_profile_free(c.profile);
  cr_assert_eq(plim_profile_make(c.graph, &machine, 0, first, variant, &c.profile), PLIM_OK);
  plim_plan *plan = planner_case_plan(&c, PLIM_OK);
  cr_assert_eq(plan->time_ns, 1030 * c.graph->n_ops);
  cr_assert_eq(plan->keep_all_ns, plan->time_ns);
  for (int32_t i = 0; i < plan->n_variants; i++) cr_assert_str_eq(plan->variant[i].variant.name, "small");
  plim_plan_free(plan);
  planner_case_free(&c);
}

typedef struct canceller {
  plim_context *ctx;
  int64_t allocations, cancel_at;
} canceller;

/* A memory hook that cancels at the n-th request: cancels in the middle of whatever runs then. */
static void *cancelling_resize(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
  canceller *k = user;
  if (new_bytes > 0 && ++k->allocations == k->cancel_at && k->ctx) plim_context_cancel(k->ctx);
  return plim_failing_resize(&(plim_failing_memory){0}, ptr, old_bytes, new_bytes);
}

/* A chain in a context whose memory is that hook's. */
static planner_case cancelling_case(canceller *k, uint64_t seed) {
  plim_context *ctx = NULL;
  plim_graph *graph = NULL;
  cr_assert_eq(plim_context_new(cancelling_resize, k, &ctx), PLIM_OK);
  cr_assert_eq(random_chain_make(ctx, 8, seed, &graph), PLIM_OK);
  plim_plan_options options = plim_plan_options_default();
  return planner_case_make(ctx, graph, NULL, &options);
}

/* A budget at 90 % of keep-all, or one just below the smallest that plim_plan_smallest finds. */
static void set_budget(planner_case *c, int below) {
  plim_plan_floor floor;
  c->options.iterations = below ? 2000 : 20000;
  c->options.budget_bytes = keep_all_bytes(c) * 90 / 100;
  if (!below) return;
  cr_assert_eq(plim_plan_smallest(c->ctx, c->graph, c->profile, &c->options, &floor, NULL), PLIM_OK);
  c->options.budget_bytes = floor.smallest_bytes - PLIM_ALIGN;
}

/* The first seed of a chain that has a plan within that budget, or none just below. */
static uint64_t find_chain(int below) {
  for (uint64_t seed = test_seed(5);; seed++) {
    canceller k = {.ctx = NULL};
    plim_plan *plan = NULL;
    planner_case c = cancelling_case(&k, seed);
    set_budget(&c, below);
    plim_status status = plim_plan_make(c.ctx, c.graph, c.profile, &c.options, &plan);
    plim_plan_free(plan);
    planner_case_free(&c);
    if (status == (below ? PLIM_ENOFIT : PLIM_OK)) return test_seed_at(seed);
  }
}

Test(planner, a_cancel_keeps_the_best_plan_so_far) {
  const uint64_t seed = find_chain(0);
  int32_t kept = 0, none = 0;
  for (int64_t at = 1; at <= 400; at += 23) {
    canceller k = {.cancel_at = at};
    plim_plan *plan = NULL;
    planner_case c = cancelling_case(&k, seed);
    set_budget(&c, 0);
    k.allocations = 0;
    k.ctx = c.ctx;
    plim_status status = plim_plan_make(c.ctx, c.graph, c.profile, &c.options, &plan);
    k.ctx = NULL;
    if (status == PLIM_OK) {
      check(&c, plan, (uint64_t)at);
      kept++;
    } else {
      cr_assert_eq(status, PLIM_ECANCEL, "%s", plim_context_error(c.ctx));
      none++;
    }
    plim_plan_free(plan);
    planner_case_free(&c);
  }
  cr_assert(kept > 0 && none > 0, "%d kept, %d without a plan", kept, none);
}

/* Every search runs, and none finds a plan. */
static plim_status plan_just_below(planner_case *c, canceller *k, int64_t cancel_at) {
  plim_plan *plan = NULL;
  k->cancel_at = cancel_at;
  k->allocations = 0;
  k->ctx = c->ctx;
  plim_status status = plim_plan_make(c->ctx, c->graph, c->profile, &c->options, &plan);
  k->ctx = NULL;
  plim_plan_free(plan);
  return status;
}

Test(planner, a_cancel_before_a_plan_says_so_in_every_search) {
  enum { PLACES = 60 };
  const uint64_t seed = find_chain(1);
  int32_t cancelled = 0;
  int64_t all = 0, budget = 0;
  for (int64_t i = 0; i <= PLACES; i++) {
    canceller k = {.ctx = NULL};
    planner_case c = cancelling_case(&k, seed);
    if (i == 0) set_budget(&c, 1);
    if (i == 0) budget = c.options.budget_bytes;
    c.options.iterations = 2000;
    c.options.budget_bytes = budget;
    plim_status status = plan_just_below(&c, &k, i == 0 ? 0 : all * i / (PLACES + 1));
    if (i == 0) all = k.allocations;
    if (status == PLIM_ECANCEL) {
      cr_assert_not_null(strstr(plim_context_error(c.ctx), "planning was cancelled before a plan within"), "%s",
                         plim_context_error(c.ctx));
      cancelled++;
    } else {
      cr_assert_eq(status, PLIM_ENOFIT, "%s", plim_context_error(c.ctx));
    }
    planner_case_free(&c);
  }
  cr_assert_gt(cancelled, PLACES / 2);
}

typedef struct fault_case {
  const char *planner;
  int64_t budget_percent;
  int32_t threads;
  int kept; /* 1: through a plan front on disk */
} fault_case;

static plim_status plan_once(plim_context *ctx, void *user) {
  const fault_case *f = user;
  plim_graph *graph = NULL;
  plim_profile *profile = NULL;
  plim_plan *plan = NULL;
  plim_plan_floor floor;
  PLIM_TRY(random_chain_make(ctx, 3, test_seed(3), &graph));
  plim_plan_options options = plim_plan_options_default();
  options.planner = f->planner;
  options.iterations = 300;
  options.threads = f->threads;
  options.budget_bytes = f->budget_percent * 400;
  if (f->kept) options.front_folder = plim_test_folder();
  plim_status status = plim_profile_from_graph(graph, &profile);
  if (status == PLIM_OK && f->budget_percent > 0) {
    status = plim_plan_make(ctx, graph, profile, &options, &plan);
    if (status == PLIM_ENOFIT) status = PLIM_OK;
  } else if (status == PLIM_OK) {
    status = plim_plan_smallest(ctx, graph, profile, &options, &floor, &plan);
  }
  if (status != PLIM_OK) cr_assert_null(plan, "a failure hands out a plan");
  if (f->kept) plim_test_folder_remove();
  plim_plan_free(plan);
  plim_profile_free(profile);
  plim_graph_free(graph);
  return status;
}

Test(planner, a_refused_allocation_leaves_nothing_after) {
  fault_case cases[] = {{"keep-all", 100, 1, 1}, {"greedy", 90, 1, 1},  {"greedy", 0, 1, 1},  {"search", 90, 1, 0},
                        {"search", 45, 1, 0},    {"search", 90, 2, 0},  {"fastsa", 90, 1, 0}, {"keep-all", 100, 1, 0},
                        {"sqrt", 90, 1, 0},      {"greedy", 90, 1, 0},  {"greedy", 0, 1, 0},  {"revolve", 90, 1, 0},
                        {"rotor", 70, 1, 0},     {"moccasin", 80, 1, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    cr_assert_geq(plim_test_each_allocation(plan_once, &cases[i]), 20);
  }
}

Test(planner, an_unknown_planner_gets_the_nearest_name) {
  planner_case c = planner_case_random(test_seed(4), 8);
  c.options.planner = "serch";
  (void)planner_case_plan(&c, PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(c.ctx), "\"search\""), "%s", plim_context_error(c.ctx));
  planner_case_free(&c);
}

Test(planner, rows_that_a_program_adds_stand_after_the_table_and_the_library_alone_has_none) {
  planner_case c = planner_case_random(test_seed(4), 8);
  int32_t all = 0, ours = 0;
  c.options.planner = "revolve";
  plim_plan_free(planner_case_plan(&c, PLIM_OK));
  while (plim_planner_name(all)) all++;
  cr_assert_str_eq(plim_planner_name(all - 1), "revolve");
  cr_assert_not_null(strstr(plim_planner_source(all - 1), "Griewank"));
  plim_strategies_add(NULL, 0);
  while (plim_planner_name(ours)) ours++;
  cr_assert_eq(ours, all - 2, "fastsa and revolve were added");
  (void)planner_case_plan(&c, PLIM_EUSAGE);
  planner_case_free(&c);
}

/* Programs of integers are in test_milp.c. */
Test(planner, strategies_that_do_not_obey_iterations_make_one_plan_whatever_their_number) {
  int obeyed = 0;
  for (int32_t row = 0; plim_planner_name(row); row++) {
    if (plim_planner_obeys(row, PLIM_EFFORT_ITERATIONS) || !plim_planner_obeys(row, PLIM_EFFORT_TIME)) {
      obeyed++;
      continue;
    }
    planner_case c = planner_case_random(test_seed(9), 24);
    char hex[2][PLIM_FINGERPRINT_BYTES];
    c.options.planner = plim_planner_name(row);
    for (int k = 0; k < 2; k++) {
      plim_plan *plan = NULL;
      c.options.iterations = 1 + 5000 * k;
      c.options.threads = 1 + k;
      cr_assert_eq(plim_plan_make(c.ctx, c.graph, c.profile, &c.options, &plan), PLIM_OK, "%s",
                   plim_context_error(c.ctx));
      cr_assert_eq(plim_plan_fingerprint(plan, hex[k]), PLIM_OK);
      plim_plan_free(plan);
    }
    cr_assert_str_eq(hex[0], hex[1], "%s", c.options.planner);
    planner_case_free(&c);
  }
  cr_assert_eq(obeyed, 6, "search, fastsa, moccasin, cut, milp and lp-round");
  cr_assert_not(plim_planner_obeys(-1, PLIM_EFFORT_TIME));
}

/* A plan may take any variant, so the slow ones count too. */
Test(planner, a_slow_variant_whose_times_do_not_add_up_is_refused) {
  planner_case c = planner_case_random(test_seed(1), 10);
  plim_plan *plan = NULL;
  static const plim_variant fast = {.name = "fast", .numerics_key = "k", .time_ns = 1, .workspace_bytes = 1 << 20},
                            slow = {.name = "slow", .numerics_key = "k", .time_ns = INT64_C(1) << 62};
  enum { MOST_OPS = 256 };
  int32_t first[MOST_OPS + 1] = {0}, n = c.graph->n_ops;
  plim_variant row[2 * MOST_OPS];
  plim_profile *profile = NULL;
  cr_assert_lt(n, MOST_OPS);
  for (int32_t op = 0; op < n; op++) {
    row[2 * op] = fast;
    row[2 * op + 1] = slow;
    first[op + 1] = 2 * (op + 1);
  }
  cr_assert_eq(plim_profile_make(c.graph, &c.profile->machine, 0, first, row, &profile), PLIM_OK, "%s",
               plim_context_error(c.ctx));
  cr_assert_eq(plim_plan_make(c.ctx, c.graph, profile, &c.options, &plan), PLIM_EOVERFLOW);
  plim_profile_free(profile);
  planner_case_free(&c);
}

Test(planner, times_too_large_for_plans_are_refused_with_what_helps) {
  plim_context *ctx = plim_test_context();
  const int64_t size[] = {1, 1, 1}, time[] = {1000000000000000, 1000000000000000, 1000000000000000};
  const dag_edge edge[] = {{0, 1}, {1, 2}};
  plim_graph *graph = dag_make(ctx, 3, size, time, 2, edge);
  plim_profile *profile = NULL;
  plim_plan *plan = NULL;
  plim_plan_options options = plim_plan_options_default();
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  cr_assert_eq(plim_plan_make(ctx, graph, profile, &options, &plan), PLIM_EOVERFLOW);
  cr_assert_not_null(strstr(plim_context_error(ctx), "add up to more than the 2251799813685247 "));
  cr_assert_not_null(strstr(plim_context_error(ctx), "divide them all by one number"));
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

static void expect_usage(const planner_case *c, plim_status status, const char *words) {
  cr_assert_eq(status, PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(c->ctx), words), "%s", plim_context_error(c->ctx));
}

Test(planner, options_of_another_size_are_refused_before_they_are_read) {
  static const char words[] = "plim_plan_options has struct_bytes 8, and this library knows";
  planner_case c = planner_case_random(test_seed(2), 12);
  plim_plan_options o = c.options;
  plim_plan *plan = NULL;
  plim_plan_floor floor;
  int64_t budget = 1;
  plim_plan_span span = {.n = 1, .high_bytes = 1, .budget = &budget, .plan = &plan};
  int yes;
  o.struct_bytes = 8;
  o.planner = "none like this";
  expect_usage(&c, plim_plan_make(c.ctx, c.graph, c.profile, &o, &plan), words);
  expect_usage(&c, plim_plan_keep_all(c.ctx, c.graph, c.profile, &o, &plan), words);
  expect_usage(&c, plim_plan_front(c.ctx, c.graph, c.profile, &o, 1, &budget, &plan), words);
  expect_usage(&c, plim_plan_range(c.ctx, c.graph, c.profile, &o, &span), words);
  expect_usage(&c, plim_plan_smallest(c.ctx, c.graph, c.profile, &o, &floor, &plan), words);
  expect_usage(&c, plim_plan_bound(c.ctx, c.graph, c.profile, &o, &floor), words);
  expect_usage(&c, plim_plan_fits(c.ctx, c.graph, c.profile, &o, &yes), words);
  cr_assert_null(plan);
  planner_case_free(&c);
}

/* An older caller's struct ends before fields that were added at its end. */
Test(planner, options_of_an_older_caller_are_not_read_beyond_their_end) {
  planner_case c = planner_case_random(test_seed(1), 10);
  plim_plan_options options = plim_plan_options_default();
  const size_t older = offsetof(plim_plan_options, paging);
  int64_t budget = 1;
  void *o = malloc(older);
  plim_plan_result made = {.plan = NULL};
  plim_plan *plan = NULL;
  options.struct_bytes = (int64_t)older;
  memcpy(o, &options, older);
  cr_assert_eq(plim_plan_search(c.ctx, c.graph, c.profile, o, &made), PLIM_EUSAGE);
  cr_assert_eq(plim_plan_front(c.ctx, c.graph, c.profile, o, 1, &budget, &plan), PLIM_EUSAGE);
  free(o);
  planner_case_free(&c);
}

Test(planner, a_time_limit_of_centuries_is_none) {
  planner_case c = planner_case_random(test_seed(1), 10);
  plim_plan_options o = plim_plan_options_default();
  plim_plan *plan = NULL, *limited = NULL;
  o.budget_bytes = INT64_MAX;
  cr_assert_eq(plim_plan_make(c.ctx, c.graph, c.profile, &o, &plan), PLIM_OK, "%s", plim_context_error(c.ctx));
  o.budget_bytes = plan->peak_bytes / 10 * 8;
  plim_status status = plim_plan_make(c.ctx, c.graph, c.profile, &o, &limited);
  plim_plan_free(limited);
  limited = NULL;
  o.time_limit_ns = INT64_MAX;
  cr_assert_eq(plim_plan_make(c.ctx, c.graph, c.profile, &o, &limited), status, "%s", plim_context_error(c.ctx));
  plim_plan_free(limited);
  plim_plan_free(plan);
  planner_case_free(&c);
}

Test(planner, whether_a_plan_fits_is_said_only_when_it_is_known) {
  planner_case c = planner_case_random(test_seed(1), 10);
  plim_plan_options o = plim_plan_options_default();
  int yes = 7;
  o.budget_bytes = 1 << 30;
  plim_context_cancel(c.ctx);
  cr_assert_eq(plim_plan_fits(c.ctx, c.graph, c.profile, &o, &yes), PLIM_ECANCEL);
  cr_assert_eq(yes, 7);
  planner_case_free(&c);
}

Test(planner, keys_that_are_not_given_are_refused) {
  planner_case c = planner_case_random(test_seed(2), 12);
  const char *numerics_key[12] = {NULL};
  plim_plan *plan = NULL;
  c.options.numerics = PLIM_NUMERICS_GIVEN;
  expect_usage(&c, plim_plan_make(c.ctx, c.graph, c.profile, &c.options, &plan), "PLIM_NUMERICS_GIVEN asks for");
  c.options.numerics_key = numerics_key;
  expect_usage(&c, plim_plan_make(c.ctx, c.graph, c.profile, &c.options, &plan), "numerics_key[0] is NULL");
  planner_case_free(&c);
}

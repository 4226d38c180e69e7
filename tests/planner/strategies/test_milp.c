/* planner/strategies/milp.c and lp_round.c: Checkmate's program against exhaustive search of its class and the known
 * optima of chains and small graphs; its relaxation below them; both on step graphs, and without a solver. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/exact/dag.h"
#include "planner/exact/stage_model.h"
#include "planner/planner.h"
#include "planner/solvers/solver.h"
#include "runtime/import/generate.h"
#include "runtime/import/import.h"
#include "tests/support/dag_cases.h"
#include "tests/support/failing_memory.h"
#include "tests/support/planner_case.h"
#include "tests/support/published_graphs.h"
#include "tests/support/random_graph.h"
#include "tests/support/stage_oracle.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

static plim_context *ctx;
static void make_context(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
}
static void free_context(void) {
  plim_context_free(ctx);
}
TestSuite(milp, .init = make_context, .fini = free_context);

static void skip_without_solver(void) {
  plim_solver *solver = NULL;
  if (plim_solver_open(ctx, NULL, &solver) != PLIM_OK) cr_skip_test("%s", plim_context_error(ctx));
  plim_solver_close(solver);
}

static plim_plan_options options_for(const char *planner, int64_t budget) {
  plim_plan_options options = plim_plan_options_default();
  options.planner = planner;
  options.unpacked = 1;
  options.budget_bytes = budget;
  return options;
}

/* The plan at a budget, NULL: refused. Bounds and classes are as they must be. */
static plim_plan *make_plan(const plim_graph *graph, const char *planner, int64_t budget) {
  plim_profile *profile = NULL;
  plim_plan *plan = NULL;
  plim_plan_options options = options_for(planner, budget);
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  plim_status status = plim_plan_make(ctx, graph, profile, &options, &plan);
  plim_profile_free(profile);
  cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(ctx));
  if (!plan) return NULL;
  cr_assert_leq(plan->peak_bytes, budget);
  cr_assert_eq(plan->plan_class, PLIM_CLASS_STAGES);
  cr_assert_leq(plan->bound_ns, plan->time_ns);
  return plan;
}

/* The program's time at a budget, proved; -1: refused. The relaxation's plan and bound stand on both sides of it. */
static int64_t proved_time(const plim_graph *graph, int64_t budget) {
  plim_plan *plan = make_plan(graph, "milp", budget), *rounded = make_plan(graph, "lp-round", budget);
  int64_t time_ns = -1;
  if (plan) {
    time_ns = plan->time_ns;
    cr_assert(plan->proved && plan->bound_ns == time_ns);
    cr_assert_not_null(rounded);
    cr_assert_leq(rounded->bound_ns, time_ns);
  }
  if (rounded) cr_assert(plan && rounded->time_ns >= time_ns);
  plim_plan_free(plan);
  plim_plan_free(rounded);
  return time_ns;
}

/* Row N - 2: least time of L(N) at budgets 3, 4, ... N + 2; 0 after the last. */
static const int64_t chain_optimum[][6] = {{6, 5}, {10, 8, 7}, {15, 11, 10, 9}, {21, 14, 13, 12, 11}};

Test(milp, chains_take_the_time_of_revolve) {
  skip_without_solver();
  for (int32_t layers = 2; layers <= 5; layers++) {
    plim_graph *graph = dag_chain(ctx, layers, 0);
    cr_assert_eq(proved_time(graph, 2), -1);
    for (int32_t k = 0; k < 6 && chain_optimum[layers - 2][k] > 0; k++) {
      cr_assert_eq(proved_time(graph, 3 + k), chain_optimum[layers - 2][k], "L(%d) at %d", layers, 3 + k);
    }
    plim_graph_free(graph);
  }
}

Test(milp, the_published_chain_of_eight_layers_takes_26_at_budget_4) {
  skip_without_solver();
  plim_graph *graph = dag_chain(ctx, 8, 0);
  cr_assert_eq(proved_time(graph, 4), 26);
  plim_graph_free(graph);
}

Test(milp, chains_whose_backward_reads_the_input_reach_their_optimum) {
  skip_without_solver();
  const int64_t optimum[] = {-1, 12, 10, 9};
  plim_graph *graph = dag_chain(ctx, 4, 1);
  for (int32_t k = 0; k < 4; k++) cr_assert_eq(proved_time(graph, 3 + k), optimum[k], "L'(4) at %d", 3 + k);
  plim_graph_free(graph);
}

Test(milp, stages_are_slower_than_free_order_where_they_must_be) {
  skip_without_solver();
  const int64_t size[] = {2, 1, 3, 2, 5, 1}, two_size[] = {1, 6, 6, 1, 1, 1}, one[] = {1, 1, 1, 1, 1, 1};
  const dag_edge edge[] = {{0, 1}, {0, 2}, {2, 3}, {1, 5}, {3, 5}};
  const dag_edge two_edge[] = {{0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 5}};
  const int64_t time[] = {-1, -1, 9, 8, 6};
  plim_graph *graph = dag_make(ctx, 6, size, one, 5, edge);
  for (int32_t k = 0; k < 5; k++) cr_assert_eq(proved_time(graph, 4 + k), time[k], "three levels at %d", 4 + k);
  plim_graph_free(graph);
  graph = dag_make(ctx, 6, two_size, one, 6, two_edge);
  cr_assert_eq(proved_time(graph, 7), -1);
  cr_assert_eq(proved_time(graph, 8), 8);
  cr_assert_eq(proved_time(graph, 12), 8);
  cr_assert_eq(proved_time(graph, 13), 6);
  plim_graph_free(graph);
}

enum { MAX_NODES = 8, MAX_EDGES = MAX_NODES * MAX_NODES };

static plim_graph *random_dag(uint64_t seed) {
  int64_t size[MAX_NODES], time[MAX_NODES];
  dag_edge edge[MAX_EDGES];
  uint64_t random = seed;
  int32_t n = 4 + (int32_t)(seed % 5), edges = 0;
  for (int32_t v = 0; v < n; v++) {
    size[v] = test_random_between(&random, 1, 9);
    time[v] = test_random_between(&random, 0, 12);
    for (int32_t u = 0; u < v; u++) {
      if (u == v - 1 ? test_random_chance(&random, 70) : test_random_chance(&random, 30)) {
        edge[edges++] = (dag_edge){u, v};
      }
    }
  }
  return dag_make(ctx, n, size, time, edges, edge);
}

/* The least time by the program alone, which the strategy asks only where its own search does not end; -1: there is
 * none. Its answer keeps the budget and takes the time that its objective says. */
static int64_t program_time(const plim_dag *dag, int64_t budget) {
  const plim_solve_options exactly = {.absolute_gap = 0.999, .cutoff = INFINITY};
  plim_stage_model *model = NULL;
  plim_stage_schedule *stages = NULL;
  plim_solver *solver = NULL;
  plim_solution found;
  int64_t time_ns = -1;
  if (budget < plim_dag_least_peak(dag, NULL)) return -1;
  cr_assert_eq(plim_solver_open(ctx, NULL, &solver), PLIM_OK);
  cr_assert_eq(plim_stage_model_make(dag, budget, INT64_MAX, &model), PLIM_OK);
  cr_assert_eq(plim_stage_schedule_new(dag, &stages), PLIM_OK);
  double *point = calloc((size_t)model->linear.n_columns, sizeof *point);
  cr_assert_eq(plim_solver_solve(solver, &model->linear, &exactly, &found, point), PLIM_OK, "%s",
               plim_context_error(ctx));
  cr_assert_neq(found.end, PLIM_SOLVE_STOPPED);
  if (found.found) {
    cr_assert_eq(plim_stage_model_read(model, point, 0.5, stages), PLIM_OK);
    cr_assert_leq(stages->peak_bytes, budget);
    time_ns = stages->time_ns;
  }
  free(point);
  plim_stage_schedule_free(stages);
  plim_stage_model_free(model);
  plim_solver_close(solver);
  return time_ns;
}

static int64_t exhaustive(const plim_graph *graph, int64_t budget, int64_t *least_peak, int64_t *time_ns) {
  plim_plan_options options = options_for("milp", budget);
  plim_profile *profile = NULL;
  plim_problem *problem = NULL;
  plim_dag *dag = NULL;
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  cr_assert_eq(plim_problem_make(ctx, graph, profile, &options, PLIM_CLASS_STAGES, &problem), PLIM_OK);
  cr_assert_eq(plim_dag_make(problem, budget, &dag), PLIM_OK);
  *least_peak = plim_dag_least_peak(dag, NULL);
  *time_ns = dag->time_ns;
  int64_t optimum = stage_oracle(dag, budget);
  if (budget < INT64_MAX) cr_assert_eq(program_time(dag, budget), optimum);
  plim_dag_free(dag);
  plim_problem_free(problem);
  plim_profile_free(profile);
  return optimum;
}

static void equals_exhaustive_search(uint64_t seeds) {
  int repeats = 0;
  for (uint64_t seed = test_seed(1), end = seed + seeds; test_seed_at(seed) < end; seed++) {
    plim_graph *graph = random_dag(seed);
    int64_t least, time_ns;
    (void)exhaustive(graph, INT64_MAX, &least, &time_ns);
    for (int64_t budget = least; budget <= least + 4; budget += 2) {
      int64_t optimum = exhaustive(graph, budget, &least, &time_ns), found = proved_time(graph, budget);
      cr_assert_eq(found, optimum, "seed %llu at %lld: %lld, not %lld", (unsigned long long)seed, (long long)budget,
                   (long long)found, (long long)optimum);
      repeats += optimum > time_ns;
    }
    plim_graph_free(graph);
  }
  cr_assert_gt(repeats, 10, "only %d with repeats", repeats);
}

Test(milp, equals_exhaustive_search_of_its_class) {
  skip_without_solver();
  equals_exhaustive_search(60);
}

Test(milp, equals_exhaustive_search_with_cbc_alone) {
  setenv("PLIM_HIGHS", "/nowhere", 1);
  skip_without_solver();
  equals_exhaustive_search(25);
}

static plim_graph *published(const char *name) {
  plim_graph *graph = NULL;
  cr_assert_eq(plim_graph_import(ctx, "nx", plim_test_published(name), &graph), PLIM_OK, "%s", plim_context_error(ctx));
  return graph;
}

Test(milp, a_published_training_graph_is_proved_in_its_class_at_three_budgets) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  skip_without_solver();
  const int64_t time_ns[] = {10278354943616, 10289323652736, 10366941963904}, peak = 13484795520;
  plim_graph *graph = published("graphs/fcn8_train.json");
  for (int64_t k = 0; k < 3; k++) cr_assert_eq(proved_time(graph, (peak * (90 - 10 * k) + 99) / 100), time_ns[k]);
  plim_graph_free(graph);
}

/* A chain that takes the solver thousands of nodes and the search before it hundreds of decisions, with one: what is
 * found is a plan, and not said to be proved. */
Test(milp, iterations_bound_the_solver_s_effort) {
  plim_graph *graph = dag_chain(ctx, 9, 0);
  plim_profile *profile = NULL;
  skip_without_solver();
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  for (int relaxed = 0; relaxed < 2; relaxed++) {
    plim_plan_options options = options_for(relaxed ? "lp-round" : "milp", 4);
    plim_plan *plan[2] = {NULL, NULL};
    options.iterations = 1;
    for (int k = 0; k < 2; k++) {
      cr_assert_eq(plim_plan_make(ctx, graph, profile, &options, &plan[k]), PLIM_OK, "%s", plim_context_error(ctx));
    }
    if (plan[0]->proved) cr_assert_eq(plan[0]->time_ns, 30); /* the start may be the optimum, and seen to be it */
    cr_assert_leq(plan[0]->peak_bytes, 4);
    cr_assert_eq(plan[0]->time_ns, plan[1]->time_ns);
    plim_plan_free(plan[0]);
    plim_plan_free(plan[1]);
  }
  plim_profile_free(profile);
  plim_graph_free(graph);
}

/* More ops than programs of stages have: the cut model's relaxation is rounded. */
Test(milp, rounding_reaches_beyond_the_programs_that_a_solver_is_given) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  plim_generate_options generate = plim_generate_options_default("residual");
  plim_graph *graph = NULL;
  plim_profile *profile = NULL;
  plim_plan *whole = NULL, *plan = NULL;
  plim_plan_options options = options_for("lp-round", INT64_MAX);
  skip_without_solver();
  generate.n = 950;
  cr_assert_eq(plim_graph_generate(ctx, &generate, &graph), PLIM_OK);
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  options.order = PLIM_ORDER_FIXED;
  cr_assert_eq(plim_plan_keep_all(ctx, graph, profile, &options, &whole), PLIM_OK);
  plan = make_plan(graph, "lp-round", whole->peak_bytes / 10 * 8);
  cr_assert_not_null(plan, "%s", plim_context_error(ctx));
  cr_assert_gt(plan->bound_ns, plan->keep_all_ns);
  cr_assert_leq(plan->time_ns - plan->keep_all_ns, 2 * (plan->bound_ns - plan->keep_all_ns));
  plim_plan_free(plan);
  plim_plan_free(whole);
  plim_profile_free(profile);
  plim_graph_free(graph);
}

/* Every planner takes every graph: several outputs, updates, in-place pairs, workspaces, variants, addresses. */
static void plan_step_graph(uint64_t seed, const char *planner, int *with_repeats) {
  planner_case c = planner_case_random(seed, 9 + (int32_t)(seed % 12));
  plim_plan_options options = c.options;
  plim_plan_floor floor;
  plim_plan *plan = NULL;
  options.planner = planner;
  options.order = PLIM_ORDER_FIXED;
  cr_assert_eq(plim_plan_smallest(c.ctx, c.graph, c.profile, &options, &floor, NULL), PLIM_OK, "%s",
               plim_context_error(c.ctx));
  options.budget_bytes = floor.smallest_bytes;
  cr_assert_eq(plim_plan_make(c.ctx, c.graph, c.profile, &options, &plan), PLIM_OK, "seed %llu: %s",
               (unsigned long long)seed, plim_context_error(c.ctx));
  cr_assert_eq(plan->plan_class, PLIM_CLASS_STAGES);
  cr_assert_leq(plan->arena_bytes, options.budget_bytes);
  *with_repeats += plan->n_commands > c.graph->n_ops;
  plim_plan_free(plan);
  planner_case_free(&c);
}

Test(milp, plans_step_graphs_down_to_the_smallest_budget_it_knows) {
  skip_without_solver();
  int with_repeats = 0;
  for (uint64_t seed = test_seed(1), end = seed + 24; test_seed_at(seed) < end; seed++)
    plan_step_graph(seed, seed % 3 ? "milp" : "lp-round", &with_repeats);
  cr_assert_geq(with_repeats, 3, "only %d with repeats", with_repeats);
}

static plim_status plan_under_failures(plim_context *each, void *user) {
  const int64_t size[] = {1, 6, 6, 1, 1, 1}, one[] = {1, 1, 1, 1, 1, 1};
  const dag_edge edge[] = {{0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 5}};
  plim_plan_options options = options_for("lp-round", 8);
  plim_graph *graph = dag_make(ctx, 6, size, one, 6, edge);
  plim_profile *profile = NULL;
  plim_plan *plan = NULL;
  (void)user;
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  plim_status status = plim_plan_make(each, graph, profile, &options, &plan);
  if (status == PLIM_OK) cr_assert_eq(plan->time_ns, 8);
  plim_plan_free(plan);
  plim_profile_free(profile);
  plim_graph_free(graph);
  return status;
}

Test(milp, a_failed_allocation_leaves_nothing_after) {
  skip_without_solver();
  cr_assert_gt(plim_test_each_allocation(plan_under_failures, NULL), 50);
}

Test(milp, without_a_solver_it_says_how_to_get_one) {
  plim_graph *graph = dag_chain(ctx, 3, 0);
  plim_profile *profile = NULL;
  plim_plan *plan = NULL;
  plim_plan_options options = options_for("milp", 4);
  setenv("PLIM_HIGHS", "/nowhere", 1);
  setenv("PLIM_CBC", "/nowhere", 1);
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  cr_assert_eq(plim_plan_make(ctx, graph, profile, &options, &plan), PLIM_EUNSUPPORTED);
  cr_assert_not_null(strstr(plim_context_error(ctx), "tools/get_solvers"), "%s", plim_context_error(ctx));
  options.planner = "lp-round";
  cr_assert_eq(plim_plan_make(ctx, graph, profile, &options, &plan), PLIM_EUNSUPPORTED);
  options.order = PLIM_ORDER_FREE;
  cr_assert_eq(plim_plan_make(ctx, graph, profile, &options, &plan), PLIM_EUSAGE);
  plim_profile_free(profile);
  plim_graph_free(graph);
}

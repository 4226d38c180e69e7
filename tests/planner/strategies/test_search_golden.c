/* The search on graphs whose optimum is known, without rounding or addresses: chains (Revolve's numbers) and small
 * graphs where free order, fixed order and stages differ. */
#include <criterion/criterion.h>

#include "planner/planner.h"
#include "tests/support/dag_cases.h"

static plim_context *ctx;
static void make_context(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
}
static void free_context(void) {
  plim_context_free(ctx);
}
TestSuite(search_golden, .init = make_context, .fini = free_context);

/* Time of the search's plan at a budget; -1: refused. */
static int64_t plan_time(const plim_graph *graph, int64_t budget, int32_t fixed_order) {
  plim_profile *profile = NULL;
  plim_plan *plan = NULL;
  int64_t time_ns = -1;
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  plim_plan_options options = plim_plan_options_default();
  options.unpacked = 1;
  options.order = fixed_order ? PLIM_ORDER_FIXED : PLIM_ORDER_FREE;
  options.budget_bytes = budget;
  options.iterations = 100000;
  plim_status status = plim_plan_make(ctx, graph, profile, &options, &plan);
  if (status == PLIM_OK) {
    cr_assert_leq(plan->peak_bytes, budget);
    cr_assert_eq(plan->plan_class, fixed_order ? PLIM_CLASS_FIXED : PLIM_CLASS_FREE);
    time_ns = plan->time_ns;
  } else {
    cr_assert_eq(status, PLIM_ENOFIT, "%s", plim_context_error(ctx));
  }
  plim_plan_free(plan);
  plim_profile_free(profile);
  return time_ns;
}

/* Row N - 2: least time of L(N) at budgets 3, 4, ... N + 2; 0 after the last. */
static const int64_t chain_optimum[][8] = {
    {6, 5}, {10, 8, 7}, {15, 11, 10, 9}, {21, 14, 13, 12, 11}, {28, 18, 16, 15, 14, 13}, {36, 22, 19, 18, 17, 16, 15}};

Test(search_golden, chains_take_the_time_of_revolve_in_free_and_fixed_order) {
  for (int32_t layers = 2; layers <= 7; layers++) {
    plim_graph *graph = dag_chain(ctx, layers, 0);
    cr_assert_eq(plan_time(graph, 2, 0), -1);
    for (int32_t k = 0; chain_optimum[layers - 2][k] > 0; k++) {
      cr_assert_eq(plan_time(graph, 3 + k, 0), chain_optimum[layers - 2][k], "L(%d) at %d", layers, 3 + k);
      cr_assert_eq(plan_time(graph, 3 + k, 1), chain_optimum[layers - 2][k], "L(%d) at %d, fixed", layers, 3 + k);
    }
    plim_graph_free(graph);
  }
}

/* Row N - 2: least time of L'(N) at budgets 3 (always refused), 4, ...; 0 after the last. */
static const int64_t chain_with_input_optimum[][7] = {
    {-1, 5}, {-1, 8, 7}, {-1, 12, 10, 9}, {-1, 17, 13, 12, 11}, {-1, 23, 16, 15, 14, 13}};

Test(search_golden, chains_whose_backward_reads_the_input_reach_their_optimum) {
  for (int32_t layers = 2; layers <= 6; layers++) {
    plim_graph *graph = dag_chain(ctx, layers, 1);
    for (int32_t k = 0; chain_with_input_optimum[layers - 2][k] != 0; k++) {
      int64_t expected = chain_with_input_optimum[layers - 2][k], found = plan_time(graph, 3 + k, 0);
      cr_assert_eq(found, expected, "L'(%d) at %d: %lld, not %lld", layers, 3 + k, (long long)found,
                   (long long)expected);
    }
    plim_graph_free(graph);
  }
}

Test(search_golden, a_longer_chain_takes_the_time_of_the_formula) {
  plim_graph *graph = dag_chain(ctx, 8, 0);
  cr_assert_eq(plan_time(graph, 4, 0), 26);
  cr_assert_eq(plan_time(graph, 5, 0), 22);
  plim_graph_free(graph);
}

Test(search_golden, three_levels_differ_between_free_and_fixed_order) {
  const int64_t size[] = {2, 1, 3, 2, 5, 1}, time[] = {1, 1, 1, 1, 1, 1};
  const dag_edge edge[] = {{0, 1}, {0, 2}, {2, 3}, {1, 5}, {3, 5}};
  const int64_t free_time[] = {-1, 7, 6, 6, 6}, fixed_time[] = {-1, 11, 9, 8, 6};
  plim_graph *graph = dag_make(ctx, 6, size, time, 5, edge);
  for (int32_t k = 0; k < 5; k++) {
    cr_assert_eq(plan_time(graph, 4 + k, 0), free_time[k], "free at %d", 4 + k);
    cr_assert_eq(plan_time(graph, 4 + k, 1), fixed_time[k], "fixed at %d", 4 + k);
  }
  plim_graph_free(graph);
}

Test(search_golden, two_branches_need_no_repeat_when_the_order_is_free) {
  const int64_t size[] = {1, 6, 6, 1, 1, 1}, time[] = {1, 1, 1, 1, 1, 1};
  const dag_edge edge[] = {{0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 5}};
  plim_graph *graph = dag_make(ctx, 6, size, time, 6, edge);
  cr_assert_eq(plan_time(graph, 7, 0), -1);
  cr_assert_eq(plan_time(graph, 7, 1), -1);
  for (int64_t budget = 8; budget <= 12; budget++) {
    cr_assert_eq(plan_time(graph, budget, 0), 6);
    cr_assert_eq(plan_time(graph, budget, 1), 8);
  }
  cr_assert_eq(plan_time(graph, 13, 1), 6);
  plim_graph_free(graph);
}

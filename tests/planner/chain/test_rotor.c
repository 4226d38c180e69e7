/* planner/chain/rotor.c: the recurrence on chains with known values, and plans against them. */
#include "planner/chain/chain.h"

#include <criterion/criterion.h>

#include "planner/planner.h"
#include "runtime/import/generate.h"
#include "tests/support/dag_cases.h"

enum { MAX_LAYERS = 6 };

/* Row N - 2: the recurrence's value for L'(N) at budgets 4, 5, ...; and the optimum; 0 after the last. */
static const int64_t value[][6] = {{5}, {9, 7}, {14, 11, 9}, {20, 14, 13, 11}, {27, 18, 16, 15, 13}};
static const int64_t optimum[][6] = {{5}, {8, 7}, {12, 10, 9}, {17, 13, 12, 11}, {23, 16, 15, 14, 13}};

static plim_context *ctx;
static void make_context(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
}
static void free_context(void) {
  plim_context_free(ctx);
}
TestSuite(rotor, .init = make_context, .fini = free_context);

/* L'(N) as Rotor's data: states and gradients of one byte, none at the ends; everything held by one option. */
static void make_chain(int32_t layers, plim_rotor_stage *stage, int64_t *state_bytes) {
  for (int32_t i = 0; i <= layers; i++) {
    int64_t x = i < layers, xb = i < layers, of = i == layers, ob = i < layers;
    stage[i] = (plim_rotor_stage){.forward_ns = 1,
                                  .forward_bytes = x + of,
                                  .back_ns = 1 + (i < layers),
                                  .back_bytes = x + xb + (of > ob ? of : ob),
                                  .handed_bytes = x,
                                  .n_options = 1,
                                  .option = {{1 + (i < layers), xb, xb + of, x + xb + ob}}};
    for (int32_t k = 0; k <= layers; k++) state_bytes[i * (layers + 1) + k] = k > 0;
  }
}

Test(rotor, the_recurrence_has_the_known_values_on_chains_whose_backward_reads_the_input) {
  for (int32_t layers = 2; layers <= MAX_LAYERS; layers++) {
    plim_rotor_stage stage[MAX_LAYERS + 1];
    int64_t state_bytes[(MAX_LAYERS + 1) * (MAX_LAYERS + 1)];
    plim_rotor_chain chain = {.n = layers + 1, .stage = stage, .state_bytes = state_bytes};
    plim_rotor *rotor = NULL;
    make_chain(layers, stage, state_bytes);
    cr_assert_eq(plim_rotor_make(ctx, &chain, layers + 3, 1, &rotor), PLIM_OK);
    cr_assert_eq(plim_rotor_time(rotor, 0, layers, 3), INT64_MAX);
    for (int32_t k = 0; value[layers - 2][k] > 0; k++) {
      cr_assert_eq(plim_rotor_time(rotor, 0, layers, 4 + k), value[layers - 2][k], "L'(%d) at %d", layers, 4 + k);
    }
    plim_rotor_free(rotor);
  }
}

Test(rotor, plans_reach_the_optimum_where_the_recurrence_charges_items_twice) {
  for (int32_t layers = 2; layers <= MAX_LAYERS; layers++) {
    plim_graph *graph = dag_chain(ctx, layers, 1);
    cr_assert_eq(dag_plan_time(graph, "rotor", 3), -1);
    for (int32_t k = 0; value[layers - 2][k] > 0; k++) {
      int64_t found = dag_plan_time(graph, "rotor", 4 + k);
      cr_assert_eq(found, optimum[layers - 2][k], "L'(%d) at %d: %lld", layers, 4 + k, (long long)found);
    }
    plim_graph_free(graph);
  }
}

/* Row N - 2: least time of L(N) at budgets 3, 4, ...; 0 after the last. */
static const int64_t chain_optimum[][8] = {
    {6, 5}, {10, 8, 7}, {15, 11, 10, 9}, {21, 14, 13, 12, 11}, {28, 18, 16, 15, 14, 13}};

Test(rotor, plans_of_unit_chains_take_the_least_time) {
  for (int32_t layers = 2; layers <= MAX_LAYERS; layers++) {
    plim_graph *graph = dag_chain(ctx, layers, 0);
    for (int32_t k = 0; chain_optimum[layers - 2][k] > 0; k++) {
      cr_assert_eq(dag_plan_time(graph, "rotor", 3 + k), chain_optimum[layers - 2][k], "L(%d) at %d", layers, 3 + k);
    }
    plim_graph_free(graph);
  }
}

/* The time of Rotor's plan at a share of program order's peak, without addresses; 0: no limit on time. */
static int64_t time_at(const plim_graph *graph, int32_t percent, int64_t limit_ns) {
  plim_profile *profile = NULL;
  plim_plan *plan = NULL;
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  plim_plan_options options = plim_plan_options_default();
  options.planner = "keep-all";
  options.unpacked = 1;
  options.order = PLIM_ORDER_FIXED;
  cr_assert_eq(plim_plan_make(ctx, graph, profile, &options, &plan), PLIM_OK);
  options.planner = "rotor";
  options.budget_bytes = plan->peak_bytes / 100 * percent;
  options.time_limit_ns = limit_ns;
  plim_plan_free(plan);
  cr_assert_eq(plim_plan_make(ctx, graph, profile, &options, &plan), PLIM_OK, "%s", plim_context_error(ctx));
  int64_t time_ns = plan->time_ns;
  plim_plan_free(plan);
  plim_profile_free(profile);
  return time_ns;
}

/* The limit is a hang's: the plans end long before. */
Test(rotor, with_a_limit_on_time_plans_for_less_memory_are_polished_for_the_budget) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  static const char *const shape[] = {"residual", "transformer"};
  for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++) {
    plim_generate_options options = plim_generate_options_default(shape[i]);
    plim_graph *graph = NULL;
    options.n = 300;
    cr_assert_eq(plim_graph_generate(ctx, &options, &graph), PLIM_OK);
    int64_t limited = time_at(graph, 50, INT64_C(600000000000)), unlimited = time_at(graph, 50, 0);
    cr_assert_lt(limited, unlimited, "%s: %lld and %lld", shape[i], (long long)limited, (long long)unlimited);
    plim_graph_free(graph);
  }
}

/* Of the smallest size a part has no plan. */
Test(rotor, with_a_limit_on_time_no_size_without_a_plan_is_asked_for) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  plim_generate_options options = plim_generate_options_default("residual");
  plim_graph *graph = NULL;
  options.n = 200;
  cr_assert_eq(plim_graph_generate(ctx, &options, &graph), PLIM_OK);
  for (int32_t percent = 30; percent <= 60; percent += 10) {
    cr_assert_leq(time_at(graph, percent, INT64_C(600000000000)), time_at(graph, percent, 0), "at %d %%", (int)percent);
  }
  plim_graph_free(graph);
}

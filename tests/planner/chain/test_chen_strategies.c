/* planner/chain/chain_forward.c, checkpoints.c and planner/strategies/chen.c: the forward part of plain graphs and its
 * cuts, and plans whose times can be counted by hand. */
#include <criterion/criterion.h>

#include "planner/chain/chain.h"
#include "tests/support/dag_cases.h"

enum { LAYERS = 9 };

static plim_context *ctx;
static void make_context(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
}
static void free_context(void) {
  plim_context_free(ctx);
}
TestSuite(chen_strategies, .init = make_context, .fini = free_context);

/* A unit chain of layers and back, with a link from layer 1 to layer 4. */
static plim_graph *chain_with_skip(void) {
  int64_t one[2 * LAYERS + 1];
  dag_edge edge[4 * LAYERS];
  int32_t n = 0;
  for (int32_t v = 0; v <= 2 * LAYERS; v++) one[v] = 1;
  for (int32_t v = 1; v <= 2 * LAYERS; v++) edge[n++] = (dag_edge){v - 1, v};
  for (int32_t i = 0; i < LAYERS; i++) edge[n++] = (dag_edge){i, 2 * LAYERS - i};
  edge[n++] = (dag_edge){1, 4};
  return dag_make(ctx, 2 * LAYERS + 1, one, one, n, edge);
}

Test(chen_strategies, a_plain_graph_turns_where_it_is_widest_and_a_skip_takes_cuts_away) {
  plim_graph *graph = chain_with_skip();
  plim_profile *profile = NULL;
  plim_problem *problem = NULL;
  plim_forward forward;
  plim_plan_options options = plim_plan_options_default();
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  cr_assert_eq(plim_problem_make(ctx, graph, profile, &options, PLIM_CLASS_FIXED, &problem), PLIM_OK);
  cr_assert_eq(plim_forward_make(problem, &forward), PLIM_OK);
  cr_assert_eq(forward.n, LAYERS + 1); /* the loss is the last one */
  for (int32_t v = 0; v < forward.n; v++) {
    int expected =
        v < LAYERS && v != 2 && v != 3; /* layers under the skip are none, nor is the loss: nothing reads it */
    cr_assert_eq(forward.is_cut[v], expected, "op %d", v);
  }
  plim_forward_free(&forward);
  plim_problem_free(problem);
  plim_profile_free(profile);
  plim_graph_free(graph);
}

Test(chen_strategies, every_third_of_nine_layers_is_kept_and_the_others_run_twice) {
  plim_graph *graph = dag_chain(ctx, LAYERS, 0);
  cr_assert_eq(dag_plan_time(graph, "sqrt", 5), -1);
  cr_assert_eq(dag_plan_time(graph, "sqrt", 6), 2 * LAYERS + 1 + 6);
  plim_graph_free(graph);
}

Test(chen_strategies, greedy_keeps_everything_where_it_fits_and_is_no_worse_than_sqrt) {
  plim_graph *graph = dag_chain(ctx, LAYERS, 0);
  int64_t last = INT64_MAX;
  cr_assert_eq(dag_plan_time(graph, "greedy", 6), 2 * LAYERS + 1 + 6);
  for (int64_t budget = 6; budget <= LAYERS + 2; budget++) {
    int64_t time = dag_plan_time(graph, "greedy", budget);
    cr_assert_leq(time, last, "at %d", (int)budget);
    last = time;
  }
  cr_assert_eq(last, 2 * LAYERS + 1);
  plim_graph_free(graph);
}

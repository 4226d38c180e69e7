/* runtime/program/online_plan: steps that an online policy decides. */
#include "runtime/program/online_plan.h"

#include <criterion/criterion.h>

#include "runtime/graph/check/check.h"
#include "tests/support/small_graph.h"

/* A costly workspace buys 1 %: keep-all leaves it, because times so near count as equal; the policy runs the fastest.
 */
Test(online_plan, a_variant_that_is_hardly_faster_makes_no_plan_that_beats_keep_all) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = plim_test_small_graph(ctx);
  plim_profile *profile = NULL;
  plim_plan *plan = NULL;
  plim_variant variant[2 * SMALL_OPS] = {{.time_ns = 0}};
  int32_t first[SMALL_OPS + 1] = {0};
  plim_machine machine = {.device = "cpu", .threads = 1};
  for (int32_t o = 0; o < graph->n_ops; o++) {
    variant[2 * o] = (plim_variant){.name = "lean", .numerics_key = "same", .time_ns = 1000};
    variant[2 * o + 1] =
        (plim_variant){.name = "quick", .numerics_key = "same", .time_ns = 990, .workspace_bytes = 1024};
    first[o + 1] = 2 * (o + 1);
  }
  cr_assert_eq(plim_profile_make(graph, &machine, 1, first, variant, &profile), PLIM_OK, "%s", plim_context_error(ctx));
  plim_online_plan_options wanted = {
      .struct_bytes = sizeof wanted, .policy = plim_policy_at(0), .planning = plim_plan_options_default(), .thrash = 1};
  wanted.planning.budget_bytes = 1 << 24;
  cr_assert_eq(plim_online_plan_make(ctx, graph, profile, &wanted, NULL, &plan), PLIM_OK, "%s",
               plim_context_error(ctx));
  cr_expect_eq(plim_plan_check(ctx, graph, plan), PLIM_OK);
  cr_expect_eq(plan->time_ns, 990 * graph->n_ops);
  plim_plan_free(plan);
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_context_free(ctx);
}

/* runtime/program/online_plan: steps that an online policy decides. */
#include "runtime/program/online_plan.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "runtime/graph/check/check.h"
#include "tests/support/random_graph.h"
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

/* A memory hook that cancels its context at a request. */
typedef struct canceller {
  plim_context *ctx;
  int64_t requests_left; /* 0: it does not cancel */
} canceller;

static void *cancelling_resize(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
  canceller *c = user;
  (void)old_bytes;
  if (new_bytes == 0) {
    free(ptr);
    return NULL;
  }
  if (c->requests_left > 0 && --c->requests_left == 0) plim_context_cancel(c->ctx);
  return realloc(ptr, new_bytes);
}

Test(online_plan, a_cancel_after_the_first_plan_leaves_the_fastest_so_far) {
  canceller c = {.ctx = NULL};
  plim_graph *graph = NULL;
  plim_profile *profile = NULL;
  plim_plan *plan = NULL, *keep_all = NULL;
  plim_online_plan_options wanted = plim_online_plan_options_default();
  cr_assert_eq(plim_context_new(cancelling_resize, &c, &c.ctx), PLIM_OK);
  cr_assert_eq(random_chain_make(c.ctx, 16, 1, &graph), PLIM_OK);
  cr_assert_eq(random_profile_make(graph, 1, 1, &profile), PLIM_OK);
  cr_assert_eq(plim_plan_keep_all(c.ctx, graph, profile, &wanted.planning, &keep_all), PLIM_OK);
  wanted.policy = plim_policy_find("coop");
  wanted.thrash = 100;
  wanted.planning.budget_bytes = keep_all->arena_bytes / 10 * 8;
  const int64_t before = plim_context_memory(c.ctx).allocations;
  cr_assert_eq(plim_online_plan_make(c.ctx, graph, profile, &wanted, NULL, &plan), PLIM_OK, "%s",
               plim_context_error(c.ctx));
  cr_assert_gt(plan->time_ns, plan->keep_all_ns, "all limits are tried where something is recomputed");
  const int64_t requests = plim_context_memory(c.ctx).allocations - before;
  plim_plan_free(plan);
  for (int tenths = 3; tenths < 10; tenths++) {
    plan = NULL;
    c.requests_left = requests * tenths / 10;
    cr_assert_eq(plim_online_plan_make(c.ctx, graph, profile, &wanted, NULL, &plan), PLIM_OK, "%d tenths: %s", tenths,
                 plim_context_error(c.ctx));
    cr_expect(plim_context_cancelled(c.ctx));
    plim_context_resume(c.ctx);
    cr_expect_eq(plim_plan_check(c.ctx, graph, plan), PLIM_OK);
    plim_plan_free(plan);
  }
  plim_plan_free(keep_all);
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_context_free(c.ctx);
}

/* Base plans: random ones, and planners' ones of random and generated graphs. */
#include <criterion/criterion.h>

#include "planner/planner.h"
#include "runtime/graph/check/check.h"
#include "runtime/import/generate.h"
#include "tests/support/judge.h"
#include "tests/support/mutants.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"

static plim_graph *base_graph(plim_context *ctx, int i, uint64_t seed) {
  plim_graph *graph = NULL;
  random_graph_options g = random_graph_options_default(seed);
  plim_generate_options l = plim_generate_options_default("layered");
  plim_status status;
  g.max_bytes = 3000;
  l.n = 20 + i;
  l.seed = seed;
  l.packed = i % 2;
  if (i % 3 == 0) {
    status = random_chain_make(ctx, 2 + i % 9, seed, &graph);
  } else {
    status = i % 3 == 1 ? random_graph_make(ctx, &g, &graph) : plim_graph_generate(ctx, &l, &graph);
  }
  cr_assert_eq(status, PLIM_OK, "base %d: %s", i, plim_context_error(ctx));
  return graph;
}

/* A plan of the planner's at a share of what keep-all needs; the first that there is. */
static plim_plan *planned(plim_context *ctx, const plim_graph *graph, const plim_profile *profile, int unpacked) {
  plim_plan_options o = plim_plan_options_default();
  plim_plan *all = NULL, *plan = NULL;
  o.unpacked = unpacked;
  o.iterations = 100;
  cr_assert_eq(plim_plan_keep_all(ctx, graph, profile, &o, &all), PLIM_OK, "%s", plim_context_error(ctx));
  for (int percent = 85; percent <= 100 && !plan; percent += 5) {
    o.budget_bytes = (unpacked ? all->peak_bytes : all->arena_bytes) / 100 * percent + 100;
    if (plim_plan_make(ctx, graph, profile, &o, &plan) != PLIM_OK) plan = NULL;
  }
  plim_plan_free(all);
  cr_assert_not_null(plan);
  return plan;
}

mutant_base mutant_base_make(plim_context *ctx, int i, uint64_t seed) {
  mutant_base b = {base_graph(ctx, i, seed), NULL};
  plim_profile *profile = NULL;
  random_plan_options r = random_plan_options_default(seed);
  plim_status status =
      i % 3 == 2 ? plim_profile_from_graph(b.graph, &profile) : random_profile_make(b.graph, seed, 3, &profile);
  cr_assert_eq(status, PLIM_OK, "base %d: %s", i, plim_context_error(ctx));
  if (i % 3 == 2 || i % 4 == 3) {
    b.plan = planned(ctx, b.graph, profile, i % 2 == 0);
  } else {
    r = (random_plan_options){.seed = seed,
                              .shuffle_percent = 25,
                              .repeat_percent = 30,
                              .pair_percent = 60,
                              .merge_percent = 50,
                              .packed = i % 8 != 4};
    status = random_plan_make(b.graph, profile, &r, &b.plan);
    cr_assert_eq(status, PLIM_OK, "base %d: %s", i, plim_context_error(ctx));
  }
  plim_profile_free(profile);
  cr_assert_eq(plim_plan_check(ctx, b.graph, b.plan), PLIM_OK, "base %d: %s", i, plim_context_error(ctx));
  cr_assert_null(judge_plan(b.graph, b.plan), "base %d: %s", i, judge_plan(b.graph, b.plan));
  return b;
}

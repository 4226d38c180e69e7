/* The cut model and what begins from it where there are so many ops that the program of the model does not get done. */
#include <criterion/criterion.h>

#include "planner/planner.h"
#include "runtime/graph/generate.h"

static plim_context *ctx;
static plim_graph *graph;
static plim_profile *profile;

static void setup(void) {
  plim_generate_options options = plim_generate_options_default("residual");
  options.n = 3100; /* just above what counts as many */
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  cr_assert_eq(plim_graph_generate(ctx, &options, &graph), PLIM_OK);
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
}
static void teardown(void) {
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_context_free(ctx);
}
TestSuite(cut_large, .init = setup, .fini = teardown);

static plim_plan *plan(const char *planner, int64_t budget_bytes) {
  plim_plan_options options = plim_plan_options_default();
  plim_plan *out = NULL;
  options.planner = planner;
  options.unpacked = 1;
  options.budget_bytes = budget_bytes;
  options.iterations = 2000;
  cr_assert_eq(plim_plan_make(ctx, graph, profile, &options, &out), PLIM_OK, "%s", plim_context_error(ctx));
  return out;
}

Test(cut_large, few_moves_suffice_to_come_near_the_bound_and_again_give_the_same) {
  plim_plan *rotor = plan("rotor", INT64_MAX);
  int64_t budget = rotor->peak_bytes / 10 * 8;
  plim_plan_free(rotor);
  rotor = plan("rotor", budget);
  plim_plan *ours = plan("search", budget), *again = plan("search", budget);
  cr_assert_leq(ours->peak_bytes, budget);
  cr_assert_geq(ours->time_ns, ours->bound_ns);
  cr_assert_gt(plim_plan_bound_percent(ours), 1, "the bound proves nothing");
  cr_assert_lt(plim_plan_overhead_percent(ours), 1.3 * plim_plan_bound_percent(ours));
  cr_assert_lt(plim_plan_overhead_percent(ours), 0.9 * plim_plan_overhead_percent(rotor));
  cr_assert_eq(ours->time_ns, again->time_ns);
  cr_assert_eq(ours->bound_ns, again->bound_ns);
  cr_assert_eq(ours->n_steps, again->n_steps);
  plim_plan_free(rotor);
  plim_plan_free(ours);
  plim_plan_free(again);
}

/* Generated graphs: every shape at several sizes is a graph of about that size, equal for equal seeds, and plannable.
 */
#include "runtime/import/generate.h"

#include <criterion/criterion.h>
#include <string.h>

#include "planner/planner.h"
#include "tests/support/failing_memory.h"
#include "tests/support/small_graph.h"
#include "tests/support/test_seed.h"

static plim_graph *generate(plim_context *ctx, plim_generate_options options) {
  plim_graph *graph = NULL;
  cr_assert_eq(plim_graph_generate(ctx, &options, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  return graph;
}

Test(generate, every_shape_has_about_the_ops_asked_for) {
  plim_context *ctx = plim_test_context();
  static const int32_t sizes[] = {8, 30, 101, 1000, 10000};
  for (int32_t row = 0; plim_generate_name(row); row++) {
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      plim_generate_options options = plim_generate_options_default(plim_generate_name(row));
      options.n = sizes[i];
      plim_graph *g = generate(ctx, options);
      cr_assert_leq(g->n_ops, sizes[i], "%s", options.shape);
      if (row == 0) cr_assert_eq(g->n_ops, sizes[i]);
      if (sizes[i] >= 1000) cr_assert_geq(g->n_ops, sizes[i] * 97 / 100, "%s %d", options.shape, g->n_ops);
      for (int32_t v = 1; row == 0 && v < g->n_ops; v++) cr_assert_gt(g->op[v].n_in, 0);
      plim_graph_free(g);
    }
  }
  plim_context_free(ctx);
}

Test(generate, equal_seeds_give_equal_graphs_and_others_do_not) {
  plim_context *ctx = plim_test_context();
  for (int32_t row = 0; plim_generate_name(row); row++) {
    plim_generate_options options = plim_generate_options_default(plim_generate_name(row));
    options.n = 200;
    options.seed = test_seed(1);
    plim_graph *a = generate(ctx, options), *b = generate(ctx, options);
    options.seed++;
    plim_graph *c = generate(ctx, options);
    cr_assert_str_eq(a->fingerprint, b->fingerprint);
    cr_assert_str_neq(a->fingerprint, c->fingerprint);
    plim_graph_free(a);
    plim_graph_free(b);
    plim_graph_free(c);
  }
  plim_context_free(ctx);
}

Test(generate, graphs_can_be_planned) {
  plim_context *ctx = plim_test_context();
  for (int32_t row = 0; plim_generate_name(row); row++) {
    plim_generate_options options = plim_generate_options_default(plim_generate_name(row));
    plim_plan_options planning = plim_plan_options_default();
    plim_profile *profile = NULL;
    plim_plan *plan = NULL;
    options.n = 120;
    options.seed = test_seed(1);
    plim_graph *g = generate(ctx, options);
    cr_assert_eq(g->unpacked, 1);
    cr_assert_eq(plim_profile_from_graph(g, &profile), PLIM_OK);
    planning.planner = "keep-all";
    planning.unpacked = g->unpacked;
    cr_assert_eq(plim_plan_make(ctx, g, profile, &planning, &plan), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_gt(plan->peak_bytes, 0);
    plim_plan_free(plan);
    plim_profile_free(profile);
    plim_graph_free(g);
  }
  plim_context_free(ctx);
}

static plim_status generate_small(plim_context *ctx, void *user) {
  plim_generate_options options = plim_generate_options_default(user);
  plim_graph *g = NULL;
  options.n = 60;
  plim_status status = plim_graph_generate(ctx, &options, &g);
  plim_graph_free(g);
  return status;
}

Test(generate, refused_allocation_leaves_nothing_after) {
  char layered[] = "layered", unet[] = "unet";
  cr_assert_gt(plim_test_each_allocation(generate_small, layered), 0);
  cr_assert_gt(plim_test_each_allocation(generate_small, unet), 0);
}

Test(generate, figures_that_are_not_allowed_are_refused_with_numbers) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = NULL;
  plim_generate_options shape = plim_generate_options_default("layerd"), few = plim_generate_options_default("chain"),
                        share = plim_generate_options_default("layered");
  few.n = 7;
  share.edges = 1.5;
  cr_assert_eq(plim_graph_generate(ctx, &shape, &g), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(ctx), "did you mean \"layered\"?"));
  cr_assert_eq(plim_graph_generate(ctx, &few, &g), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(ctx), "7 ops are not generated, 8 to 1000000 are"));
  cr_assert_eq(plim_graph_generate(ctx, &share, &g), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(ctx), "edges 1.5"));
  cr_assert_null(g);
  plim_context_free(ctx);
}

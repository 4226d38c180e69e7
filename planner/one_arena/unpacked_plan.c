/* Makes plans of one arena for planners over spaces. The graph's times are those of no platform, so that the profile
 * is made of the costs given. */
#include "planner/one_arena/arena_plan.h"

#include <stdio.h>

#include "planner/one_arena/one_arena_internal.h"

static plim_status make_profile(const plim_graph *graph, const int64_t *cost, plim_profile **out) {
  const plim_machine machine = {.device = "", .threads = 1};
  plim_context *ctx = graph->ctx;
  plim_variant *variant = NULL;
  int32_t *first = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, graph->n_ops, sizeof *variant, &variant));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, (int64_t)graph->n_ops + 1, sizeof *first, &first));
  for (int32_t o = 0; o < graph->n_ops; o++) {
    variant[o].time_ns = cost[o];
    variant[o].workspace_bytes = graph->costs ? graph->costs->workspace[o] : 0;
    (void)snprintf(variant[o].name, sizeof variant[o].name, "given");
    (void)snprintf(variant[o].numerics_key, sizeof variant[o].numerics_key, "given");
    first[o + 1] = o + 1;
  }
  first[0] = 0;
  status = plim_profile_make(graph, &machine, 0, first, variant, out);
done:
  plim_release(ctx, variant, graph->n_ops, sizeof *variant);
  plim_release(ctx, first, (int64_t)graph->n_ops + 1, sizeof *first);
  return status;
}

plim_status plim_one_arena_plan(const plim_graph *graph, const int64_t *cost, int64_t budget_bytes,
                                int64_t time_limit_ns, int32_t threads, plim_plan **out) {
  plim_plan_options options = plim_plan_options_default();
  plim_profile *profile = NULL;
  options.budget_bytes = budget_bytes;
  options.unpacked = 1;
  options.threads = threads;
  options.time_limit_ns = time_limit_ns;
  if (time_limit_ns <= 0) options.iterations = (int64_t)one_arena_tuning.moves_an_op * graph->n_ops;
  *out = NULL;
  PLIM_TRY(make_profile(graph, cost, &profile));
  plim_status status = plim_arena_plan_make(graph->ctx, graph, profile, &options, out);
  plim_profile_free(profile);
  return status == PLIM_ENOFIT || status == PLIM_ECANCEL ? PLIM_OK : status;
}

/* The public functions of the planner. */
#include <stdio.h>
#include <string.h>

#include "planner/planning.h"

static const plim_strategy strategies[] = {
    {"search", "annealing over sequences with repeats, order free, packing in the loop", plim_search_run},
    {"keep-all", "every op once, fastest variants; the order of the smallest arena", plim_keep_all_run},
    {"sqrt", "Chen et al. 2016: every sqrt(n)-th checkpoint", plim_chen_sqrt_run},
    {"greedy", "Chen et al. 2016: checkpoints by bytes, swept over the threshold", plim_chen_greedy_run},
};
enum { STRATEGIES = sizeof strategies / sizeof strategies[0] };

const char *plim_planner_name(int32_t row) {
  return row >= 0 && row < STRATEGIES ? strategies[row].name : NULL;
}

const char *plim_planner_source(int32_t row) {
  return row >= 0 && row < STRATEGIES ? strategies[row].source : NULL;
}

plim_plan_options plim_plan_options_default(void) {
  return (plim_plan_options){.struct_bytes = sizeof(plim_plan_options), .budget_bytes = INT64_MAX, .seed = 1};
}

static const plim_strategy *find_strategy(const char *name) {
  for (int32_t row = 0; row < STRATEGIES; row++) {
    if (strcmp(strategies[row].name, name) == 0) return &strategies[row];
  }
  return NULL;
}

static plim_status make_plan(const plim_problem *problem, const plim_plan_options *options,
                             const plim_strategy *strategy, plim_plan **out) {
  plim_planning *pl = NULL;
  plim_status status = plim_planning_begin(problem, options, &pl);
  if (status != PLIM_OK) return status;
  status = strategy->run(pl);
  if (status == PLIM_ECANCEL && pl->found) status = PLIM_OK; /* the best so far */
  if (status != PLIM_OK) goto done;
  if (!pl->found) {
    status = plim_fail(problem->ctx, PLIM_ENOFIT, "no plan within %lld bytes was found by '%s'; it needs %lld bytes",
                       (long long)pl->budget_bytes, strategy->name, (long long)pl->least_bytes);
    goto done;
  }
  PLIM_CHECK(plim_planning_emit(pl, strategy->name, out));
done:
  plim_planning_end(pl);
  return status;
}

plim_status plim_plan_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                           const plim_plan_options *options, plim_plan **out) {
  const plim_strategy *strategy = find_strategy(options->planner ? options->planner : strategies[0].name);
  if (!strategy) return plim_fail(ctx, PLIM_EUSAGE, "there is no planner '%s'", options->planner);
  plim_problem *problem = NULL;
  PLIM_TRY(plim_problem_make(ctx, graph, profile, options, &problem));
  plim_status status = make_plan(problem, options, strategy, out);
  plim_problem_free(problem);
  return status;
}

plim_status plim_plan_keep_all(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                               const plim_plan_options *options, plim_plan **out) {
  plim_plan_options keep = *options;
  keep.planner = "keep-all";
  keep.budget_bytes = INT64_MAX;
  return plim_plan_make(ctx, graph, profile, &keep, out);
}

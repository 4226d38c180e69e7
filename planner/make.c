/* The functions of planner.h that make plans: they check options, and choose between plans of one arena
 * (planner/one_arena) and plans that page or run on several devices (planner/paging). */
#include "planner/core/incumbent.h"
#include "planner/front/front.h"
#include "planner/one_arena/arena_plan.h"
#include "planner/paging/paging.h"
#include "runtime/base/effort.h"

plim_paging plim_paging_default(void) {
  return (plim_paging){.struct_bytes = sizeof(plim_paging),
                       .latency_ns = {1, 1},
                       .bytes_per_ns = {1, 1},
                       .recompute = 1,
                       .device_latency_ns = 1,
                       .device_bytes_per_ns = 1,
                       .homes = PLIM_HOMES_WHERE_FASTER};
}

plim_plan_options plim_plan_options_default(void) {
  return (plim_plan_options){
      .struct_bytes = sizeof(plim_plan_options), .budget_bytes = PLIM_BYTES_UNLIMITED, .seed = 1};
}

static plim_status make_paged(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                              const plim_plan_options *options, plim_plan_result *out) {
  plim_plan_result made = {.plan = NULL};
  int64_t outer_ns = plim_effort_begin(ctx, plim_plan_task_last_moment(options));
  plim_status status = plim_paging_make_kept(ctx, graph, profile, options, &made.plan, &made.from_front);
  status = plim_effort_end(ctx, outer_ns, status);
  if (status == PLIM_ECANCEL) return plim_fail(ctx, status, "planning was cancelled before a plan was found");
  if (status == PLIM_OK && !made.plan) status = plim_fail(ctx, PLIM_ENOFIT, "no plan was found in time");
  if (status == PLIM_OK || status == PLIM_ENOFIT) *out = made;
  return status;
}

plim_status plim_plan_search(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                             const plim_plan_options *options, plim_plan_result *out) {
  PLIM_TRY(plim_check_options(ctx, "plim_plan_options", options->struct_bytes, sizeof *options));
  const plim_plan_options timed = plim_plan_task_options(options);
  return options->paging ? make_paged(ctx, graph, profile, &timed, out)
                         : plim_arena_plan_search(ctx, graph, profile, &timed, out);
}

plim_status plim_plan_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                           const plim_plan_options *options, plim_plan **out) {
  plim_plan_result made = {.plan = NULL};
  PLIM_TRY(plim_plan_search(ctx, graph, profile, options, &made));
  *out = made.plan;
  return PLIM_OK;
}

plim_status plim_plan_keep_all(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                               const plim_plan_options *options, plim_plan **out) {
  PLIM_TRY(plim_check_options(ctx, "plim_plan_options", options->struct_bytes, sizeof *options));
  plim_plan_options keep = *options;
  keep.planner = "keep-all";
  keep.paging = NULL;
  keep.budget_bytes = PLIM_BYTES_UNLIMITED;
  return plim_plan_make(ctx, graph, profile, &keep, out);
}

/* ---- several budgets ---- */

/* The call of each budget has some time, however short its share is. So the deadline of all of them is around it. */
static plim_status make_paged_front(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                    const plim_plan_options *options, int32_t n, const int64_t *budget,
                                    plim_plan **plan) {
  const plim_plan_options timed = plim_plan_task_options(options);
  int64_t outer_ns = plim_effort_begin(ctx, plim_plan_task_last_moment(&timed));
  plim_status status = plim_paging_front(ctx, graph, profile, &timed, n, budget, plan);
  return plim_effort_end(ctx, outer_ns, status);
}

plim_status plim_plan_front(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                            const plim_plan_options *options, int32_t n, const int64_t *budget, plim_plan **plan) {
  PLIM_TRY(plim_check_options(ctx, "plim_plan_options", options->struct_bytes, sizeof *options));
  PLIM_TRY(plim_budget_sweep_check(ctx, n, budget));
  return options->paging ? make_paged_front(ctx, graph, profile, options, n, budget, plan)
                         : plim_arena_front(ctx, graph, profile, options, n, budget, plan);
}

/* ---- one arena alone ---- */

plim_status plim_plan_smallest(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                               const plim_plan_options *options, plim_plan_floor *out, plim_plan **plan) {
  PLIM_TRY(plim_check_options(ctx, "plim_plan_options", options->struct_bytes, sizeof *options));
  return plim_arena_smallest(ctx, graph, profile, options, out, plan);
}

plim_status plim_plan_range(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                            const plim_plan_options *options, plim_plan_span *span) {
  PLIM_TRY(plim_check_options(ctx, "plim_plan_options", options->struct_bytes, sizeof *options));
  return plim_arena_range(ctx, graph, profile, options, span);
}

plim_status plim_plan_bound(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                            const plim_plan_options *options, plim_plan_floor *out) {
  PLIM_TRY(plim_check_options(ctx, "plim_plan_options", options->struct_bytes, sizeof *options));
  return plim_arena_bound(ctx, graph, profile, options, out);
}

plim_status plim_plan_fits(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                           const plim_plan_options *options, int *yes) {
  PLIM_TRY(plim_check_options(ctx, "plim_plan_options", options->struct_bytes, sizeof *options));
  return plim_arena_fits(ctx, graph, profile, options, yes);
}

/* The functions of planner.h that make plans: they check options, and choose between plans of one arena
 * (planner/one_arena) and plans that page or run on several devices (planner/paging). */
#include "planner/core/incumbent.h"
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
  int64_t outer_ns = plim_effort_begin(ctx, plim_incumbent_last_moment(options));
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
  const plim_plan_options timed = plim_incumbent_timed(options);
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

/* Plans of several budgets that page. */
typedef struct paged_front {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_profile *profile;
  plim_plan_options options; /* with the time limit of all budgets */
  int64_t started_ns;
  plim_plan *keep_all; /* NULL: there is none */
  int32_t n;
  const int64_t *budget; /* [n] ascending */
  plim_plan **plan;      /* [n] NULL: none */
} paged_front;

/* Take a known plan (NULL: none) where it fits into the budget and is better. */
static plim_status take_known(const paged_front *front, int64_t budget_bytes, const plim_plan *known,
                              plim_plan **plan) {
  plim_plan *copy = NULL;
  if (!known || known->arena_bytes > budget_bytes) return PLIM_OK;
  PLIM_TRY(plim_paging_plan_for(front->graph, known, budget_bytes, &copy));
  plim_paging_keep_better(front->options.paging, plan, copy);
  return PLIM_OK;
}

/* The plan of budget i, from a search of its own, from keep-all and from the plan of the budget before; NULL: none. */
static plim_status make_one(const paged_front *front, int32_t i, plim_plan **out) {
  plim_plan_options own = front->options;
  plim_plan *plan = NULL;
  own.budget_bytes = front->budget[i];
  own.time_limit_ns =
      plim_effort_share(plim_effort_rest(front->options.time_limit_ns, front->started_ns), front->n - i);
  plim_status status = plim_plan_make(front->ctx, front->graph, front->profile, &own, &plan);
  int none = status == PLIM_ENOFIT || status == PLIM_ECANCEL; /* a cancel leaves what is known */
  if (status != PLIM_OK && !none) return status;
  status = take_known(front, own.budget_bytes, front->keep_all, &plan);
  if (status == PLIM_OK && i > 0) status = take_known(front, own.budget_bytes, front->plan[i - 1], &plan);
  if (status != PLIM_OK) {
    plim_plan_free(plan);
    return status;
  }
  *out = plan;
  return PLIM_OK;
}

static void report(const paged_front *front, int32_t done) {
  const plim_plan *plan = front->plan[done - 1];
  const plim_progress progress = {.stage = "front",
                                  .done = done,
                                  .total = front->n,
                                  .elapsed_ns = plim_now_ns() - front->started_ns,
                                  .best_percent = plan ? plim_plan_overhead_percent(plan) : -1};
  plim_context_report(front->ctx, &progress);
}

static plim_status make_each(paged_front *front) {
  plim_status status = plim_plan_keep_all(front->ctx, front->graph, front->profile, &front->options, &front->keep_all);
  if (status == PLIM_ENOFIT || status == PLIM_ECANCEL) status = PLIM_OK;
  for (int32_t i = 0; i < front->n && status == PLIM_OK; i++) {
    status = make_one(front, i, &front->plan[i]);
    if (status == PLIM_OK) report(front, i + 1);
  }
  return status;
}

/* What fits into fewer bytes fits into more: a budget whose own search found nothing cheaper has the plan of the budget
 * before. A call for one budget has some time however short its share is, so the limit of all of them stands around. */
static plim_status make_paged_front(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                    const plim_plan_options *options, int32_t n, const int64_t *budget,
                                    plim_plan **plan) {
  paged_front front = {.ctx = ctx,
                       .graph = graph,
                       .profile = profile,
                       .options = plim_incumbent_timed(options),
                       .started_ns = plim_now_ns(),
                       .n = n,
                       .budget = budget,
                       .plan = plan};
  for (int32_t i = 0; i < n; i++) plan[i] = NULL;
  int64_t outer_ns = plim_effort_begin(ctx, plim_incumbent_last_moment(&front.options));
  plim_status status = plim_effort_end(ctx, outer_ns, make_each(&front));
  plim_plan_free(front.keep_all);
  for (int32_t i = 0; i < n && status != PLIM_OK; i++) {
    plim_plan_free(plan[i]);
    plan[i] = NULL;
  }
  return status;
}

plim_status plim_plan_front(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                            const plim_plan_options *options, int32_t n, const int64_t *budget, plim_plan **plan) {
  PLIM_TRY(plim_check_options(ctx, "plim_plan_options", options->struct_bytes, sizeof *options));
  for (int32_t i = 1; i < n; i++) {
    if (budget[i] >= budget[i - 1]) continue;
    return plim_fail(ctx, PLIM_EUSAGE, "budget %d of the front, %lld bytes, is below the one before it", (int)i,
                     (long long)budget[i]);
  }
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

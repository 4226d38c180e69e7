/* Plans that page, for several budgets of the arena. What fits into fewer bytes fits into more, so that a budget whose
 * own search found nothing cheaper has the plan of the budget before. */
#include "planner/paging/paging.h"
#include "runtime/base/effort.h"

static plim_status copy_plan(const plim_graph *graph, const plim_plan *plan, int64_t budget_bytes, plim_plan **out) {
  plim_plan wider = *plan;
  wider.budget_bytes = budget_bytes;
  return plim_plan_from_parts(graph, &wider, out);
}

/* The plan for a budget, from a search of its own and from the plan of the budget before; NULL: none. */
static plim_status make_one(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                            const plim_plan_options *options, const plim_plan *before, plim_plan **out) {
  plim_plan *plan = NULL, *copy = NULL;
  plim_status status = plim_plan_make(ctx, graph, profile, options, &plan);
  int none = status == PLIM_ENOFIT || status == PLIM_ECANCEL; /* a cancel leaves what is known */
  if (status != PLIM_OK && !none) return status;
  status = before ? copy_plan(graph, before, options->budget_bytes, &copy) : PLIM_OK;
  if (status != PLIM_OK) {
    plim_plan_free(plan);
    return status;
  }
  plim_paging_keep_better(options->paging, &plan, copy);
  *out = plan;
  return PLIM_OK;
}

plim_status plim_paging_front(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                              const plim_plan_options *options, int32_t n, const int64_t *budget, plim_plan **plan) {
  plim_plan_options own = *options;
  int64_t end_ns = plim_effort_deadline_of(plim_now_ns(), options->time_limit_ns);
  for (int32_t i = 0; i < n; i++) plan[i] = NULL;
  for (int32_t i = 0; i < n; i++) {
    int64_t left_ns = end_ns < INT64_MAX ? end_ns - plim_now_ns() : 0;
    own.budget_bytes = budget[i];
    if (end_ns < INT64_MAX) own.time_limit_ns = left_ns > n - i ? left_ns / (n - i) : 1;
    plim_status status = make_one(ctx, graph, profile, &own, i > 0 ? plan[i - 1] : NULL, &plan[i]);
    if (status == PLIM_OK) continue;
    for (int32_t k = 0; k < i; k++) {
      plim_plan_free(plan[k]);
      plan[k] = NULL;
    }
    return status;
  }
  return PLIM_OK;
}

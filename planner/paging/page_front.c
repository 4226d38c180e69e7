/* Plans that page for growing budgets of the arena. Each budget has a search of its own. What fits into fewer bytes
 * fits into more: where that search finds nothing cheaper, a budget has the plan of the budget before, or
 * keep-all's. */
#include "planner/front/front.h"
#include "planner/paging/command_list.h"
#include "planner/paging/paging.h"

typedef struct page_front {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_profile *profile;
  const plim_plan_options *options;
  plim_plan *keep_all; /* NULL: there is none */
  plim_budget_sweep sweep;
  plim_plan **plan; /* [n] NULL: none */
} page_front;

/* Take a known plan (NULL: none) where it fits into the budget, keeps the deadline and is better. */
static plim_status take_known(const page_front *front, int64_t budget_bytes, const plim_plan *known, plim_plan **plan) {
  plim_plan *copy = NULL;
  if (!known || known->arena_bytes > budget_bytes) return PLIM_OK;
  if (plim_paging_lateness(front->options->paging, known) > 0) return PLIM_OK;
  PLIM_TRY(plim_paging_plan_for(front->graph, known, budget_bytes, &copy));
  plim_paging_keep_better(front->options->paging, plan, copy);
  return PLIM_OK;
}

static void report(const page_front *front, int32_t done) {
  const plim_plan *plan = front->plan[done - 1];
  const int is_of_time = !front->options->paging->powers;
  const plim_progress progress = {.stage = "front",
                                  .done = done,
                                  .total = front->sweep.n,
                                  .elapsed_ns = plim_now_ns() - front->sweep.started_ns,
                                  .best_percent = is_of_time && plan ? plim_plan_overhead_percent(plan) : -1};
  plim_context_report(front->ctx, &progress);
}

/* A cancel leaves what is known. */
static plim_status plan_one(void *user, int32_t i, int64_t time_limit_ns) {
  const page_front *front = user;
  plim_plan_options own = *front->options;
  plim_plan *plan = NULL;
  own.budget_bytes = front->sweep.budget[i];
  own.time_limit_ns = time_limit_ns;
  plim_status status = plim_plan_make(front->ctx, front->graph, front->profile, &own, &plan);
  if (status != PLIM_OK && status != PLIM_ENOFIT && status != PLIM_ECANCEL) return status;
  status = take_known(front, own.budget_bytes, front->keep_all, &plan);
  if (status == PLIM_OK && i > 0) status = take_known(front, own.budget_bytes, front->plan[i - 1], &plan);
  if (status != PLIM_OK) {
    plim_plan_free(plan);
    return status;
  }
  front->plan[i] = plan;
  report(front, i + 1);
  return PLIM_OK;
}

plim_status plim_paging_front(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                              const plim_plan_options *options, int32_t n, const int64_t *budget, plim_plan **plan) {
  page_front front = {.ctx = ctx, .graph = graph, .profile = profile, .options = options, .plan = plan};
  front.sweep = (plim_budget_sweep){.n = n,
                                    .budget = budget,
                                    .time_limit_ns = options->time_limit_ns,
                                    .started_ns = plim_now_ns(),
                                    .plan = plan_one,
                                    .user = &front};
  for (int32_t i = 0; i < n; i++) plan[i] = NULL;
  plim_status status = plim_plan_keep_all(ctx, graph, profile, options, &front.keep_all);
  if (status == PLIM_ENOFIT || status == PLIM_ECANCEL) status = PLIM_OK;
  if (status == PLIM_OK) status = plim_budget_sweep_run(&front.sweep);
  plim_plan_free(front.keep_all);
  for (int32_t i = 0; i < n && status != PLIM_OK; i++) {
    plim_plan_free(plan[i]);
    plan[i] = NULL;
  }
  return status;
}

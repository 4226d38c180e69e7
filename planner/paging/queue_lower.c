/* From a command list to a plan: copies spread, every space packed, the checker asked. */
#include <stdio.h>

#include "planner/paging/paging.h"
#include "planner/paging/paging_tuning.h"
#include "planner/paging/queue_search.h"
#include "runtime/base/effort.h"
#include "runtime/graph/check/check.h"

static plim_status make_plan(const plim_queue_lowering *k, const plim_command_list *list, plim_plan **out) {
  plim_plan draft = *k->base, *plan = NULL;
  (void)snprintf(draft.planner, sizeof draft.planner, "%.20s, %s", k->name, k->how);
  draft.plan_class = PLIM_CLASS_FREE;
  draft.budget_bytes = k->spaces->budget_bytes[0];
  draft.keep_all_ns = k->keep_all_ns;
  draft.bound_ns = k->bound_ns;
  draft.proved = 0;
  draft.n_pages = k->spaces->n - 1;
  draft.page = k->spaces->page;
  PLIM_TRY(plim_command_list_plan(list, &draft, &plan));
  plim_status status = plim_plan_check(list->ctx, list->graph, plan);
  if (status == PLIM_OK) {
    *out = plan;
  } else {
    plim_plan_free(plan);
  }
  return status;
}

static plim_status pack(const plim_queue_lowering *k, plim_command_list *list, int *fits) {
  *fits = 1;
  for (int32_t s = 0; s < k->spaces->n && *fits; s++) {
    PLIM_TRY(plim_command_list_pack(list, s, k->spaces->budget_bytes[s], tuning.queue.effort, fits));
  }
  return PLIM_OK;
}

/* Copies spread in a share of the bytes; 0: not at all. */
static plim_status try_share(const plim_queue_lowering *k, plim_command_list *list, double share, int *fits) {
  int64_t limit[PLIM_PAGE_SPACES + 1];
  PLIM_TRY(plim_command_list_begin(list));
  for (int32_t s = 0; s < k->spaces->n; s++) {
    int64_t budget = k->spaces->budget_bytes[s];
    limit[s] = budget < INT64_MAX ? (int64_t)((double)budget * share) : INT64_MAX;
  }
  if (share > 0) PLIM_TRY(plim_command_list_spread(list, k->spaces->n, k->spaces->computes, limit));
  return pack(k, list, fits);
}

/* The faster one of *best and the plan of the list's own order. */
static plim_status try_unspread(const plim_queue_lowering *k, plim_command_list *list, plim_plan **best) {
  plim_plan *plan = NULL;
  int fits;
  PLIM_TRY(try_share(k, list, 0, &fits));
  if (fits) PLIM_TRY(make_plan(k, list, &plan));
  plim_paging_keep_better(k->paging, best, plan);
  return PLIM_OK;
}

/* Copies spread in all the bytes, or in fewer where packing fails, or not at all. */
plim_status plim_queue_lower(const plim_queue_lowering *k, plim_command_list *list, int *fits, plim_plan **out) {
  const double *shares = tuning.queue.share;
  plim_plan *best = NULL;
  *fits = 0;
  for (int32_t i = 0; i < PLIM_QUEUE_SPREADS && !*fits; i++) {
    PLIM_TRY(try_share(k, list, shares[i], fits));
    if (plim_effort_over(list->ctx, PLIM_EFFORT_LOOK)) break;
  }
  if (!*fits) return PLIM_OK;
  PLIM_TRY(make_plan(k, list, &best));
  plim_status status = PLIM_OK;
  if (k->unspread && !plim_effort_over(list->ctx, PLIM_EFFORT_LOOK)) status = try_unspread(k, list, &best);
  if (status == PLIM_OK) {
    *out = best;
  } else {
    plim_plan_free(best);
  }
  return status;
}

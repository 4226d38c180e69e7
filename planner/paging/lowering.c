/* Makes a plan of a command list: spreads copies, packs every space, asks the checker. */
#include "planner/paging/command_list.h"

#include <stdio.h>

#include "planner/paging/paging_tuning.h"
#include "runtime/base/effort.h"
#include "runtime/graph/check/check.h"

static void name_planner(const plim_lowering *lowering, plim_plan *draft) {
  if (lowering->suffix) {
    (void)snprintf(draft->planner, sizeof draft->planner, "%.20s, %s", lowering->planner, lowering->suffix);
  } else {
    (void)snprintf(draft->planner, sizeof draft->planner, "%s", lowering->planner);
  }
}

/* *best becomes the plan of the order in hand where that is better. */
static plim_status add_plan(const plim_lowering *lowering, const plim_command_list *list, plim_plan **best) {
  plim_plan draft = *lowering->base, *plan = NULL;
  name_planner(lowering, &draft);
  draft.plan_class = PLIM_CLASS_FREE;
  draft.budget_bytes = lowering->spaces->budget_bytes[0];
  draft.keep_all_ns = lowering->keep_all_ns;
  draft.bound_ns = lowering->bound_ns;
  draft.proved = 0;
  draft.n_page_spaces = lowering->spaces->n - 1;
  draft.page = lowering->spaces->page;
  PLIM_TRY(plim_command_list_plan(list, &draft, &plan));
  plim_status status = plim_plan_check(list->ctx, list->graph, plan);
  if (status == PLIM_OK) {
    plim_paging_keep_better(lowering->paging, best, plan);
  } else {
    plim_plan_free(plan);
  }
  return status;
}

static plim_status pack_spaces(const plim_lowering *lowering, plim_command_list *list, int32_t first_space,
                               int32_t *fits) {
  *fits = 1;
  for (int32_t s = first_space; s < lowering->spaces->n && *fits; s++) {
    PLIM_TRY(
        plim_command_list_pack(list, s, lowering->spaces->budget_bytes[s], paging_tuning.lower.packing_rounds, fits));
  }
  return PLIM_OK;
}

/* Copies spread in a share of the bytes. */
static plim_status try_share(const plim_lowering *lowering, plim_command_list *list, double share, int32_t *fits) {
  int64_t limit[PLIM_PLAN_SPACES];
  PLIM_TRY(plim_command_list_begin(list));
  for (int32_t s = 0; s < lowering->spaces->n; s++) {
    const int64_t budget = lowering->spaces->budget_bytes[s];
    limit[s] = budget < INT64_MAX ? (int64_t)((double)budget * share) : INT64_MAX;
  }
  PLIM_TRY(plim_command_list_spread(list, lowering->spaces->n, lowering->spaces->computes, limit));
  return pack_spaces(lowering, list, 0, fits);
}

/* The order of the list itself. */
static plim_status try_own_order(const plim_lowering *lowering, plim_command_list *list, int32_t *fits) {
  PLIM_TRY(plim_command_list_begin(list));
  PLIM_TRY(pack_spaces(lowering, list, 0, fits));
  if (*fits || !lowering->has_addresses) return PLIM_OK;
  PLIM_TRY(plim_command_list_begin(list)); /* offsets as proposed */
  return pack_spaces(lowering, list, 1, fits);
}

static plim_status find_best(const plim_lowering *lowering, plim_command_list *list, plim_plan **best) {
  int32_t fits = 0, over = 0;
  for (int32_t i = 0; i < lowering->n_shares && !fits && !over; i++) {
    PLIM_TRY(try_share(lowering, list, lowering->share[i], &fits));
    over = plim_effort_over(list->ctx, PLIM_EFFORT_LOOK);
  }
  if (fits) PLIM_TRY(add_plan(lowering, list, best));
  if (fits && (!lowering->compares || over)) return PLIM_OK;
  if (!lowering->has_addresses && over) return PLIM_OK; /* nothing packs any more */
  PLIM_TRY(try_own_order(lowering, list, &fits));
  return fits ? add_plan(lowering, list, best) : PLIM_OK;
}

plim_status plim_lower(const plim_lowering *lowering, plim_command_list *list, int32_t *fits, plim_plan **out) {
  plim_plan *best = NULL;
  plim_status status = find_best(lowering, list, &best);
  if (status != PLIM_OK) {
    plim_plan_free(best);
    return status;
  }
  *fits = best != NULL;
  if (best) *out = best;
  return PLIM_OK;
}

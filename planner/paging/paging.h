/* Plans that page: what does not fit is recomputed, or copied to a page space and back beside compute. */
#ifndef PLIM_PLANNER_PAGING_PAGING_H
#define PLIM_PLANNER_PAGING_PAGING_H

#include "planner/planner.h"

/* ==== plans (page_kept.c, page_front.c) ==== */

/* Who calls whom:
 *   make_paged (make.c) -> plim_paging_make_kept (page_kept.c): a plan kept on disk, or a new one from
 *   -> plim_paging_make (paging_make.c): the better of a plan with everything at home in the arena, from
 *      -> plim_page_plan_make (page_plan.c), and a plan with homes in the page space, from
 *      -> plim_home_make (home_plan.c), which has the rest planned by plim_page_plan_make. */

/* plim_plan_make with options->paging, which must not be NULL, through the plans that are kept in
 * options->front_folder. *from_front 1: an earlier call made the plan. */
PLIM_MUST_USE plim_status plim_paging_make_kept(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                                const plim_plan_options *options, plim_plan **out, int32_t *from_front);

/* plim_plan_front with options->paging (page_front.c). The budgets ascend. */
PLIM_MUST_USE plim_status plim_paging_front(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                            const plim_plan_options *options, int32_t n, const int64_t *budget,
                                            plim_plan **plan);

/* ==== overhead (page_bound.c) ==== */

/* What a plan takes beside keep-all, and what every plan with these options takes at least: in percent of keep-all's
 * time, or with powers of its joules. */
typedef struct plim_paging_overhead {
  double percent, bound_percent;
  int32_t proved; /* 1: no plan takes less */
} plim_paging_overhead;

/* The overhead of a plan that was made with options->paging; NULL: of one arena.
 *   keep_all_joule  in  read with paging->powers only
 * O(commands). Thread-safe. */
plim_paging_overhead plim_paging_overhead_of(const plim_plan *plan, const plim_paging *paging, double keep_all_joule);

#endif

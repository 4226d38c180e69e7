/* Plans that page: what does not fit is recomputed, or copied to a page space and back beside compute. */
#ifndef PLIM_PLANNER_PAGING_PAGING_H
#define PLIM_PLANNER_PAGING_PAGING_H

#include "planner/planner.h"

/* ==== links and costs (copy_cost.c) ==== */

/* The time of a copy: its latency, and its bytes divided by the bandwidth; 2^53 ns at most. */
int64_t plim_paging_copy_ns(int64_t latency_ns, double bytes_per_ns, int64_t bytes);

/* The time of a copy to the page space (in 0), or from it (in 1). */
int64_t plim_paging_link_ns(const plim_paging *paging, int in, int64_t bytes);

/* The delay share in thousandths, as spaces of a plan have it. */
int32_t plim_paging_delay_permille(const plim_paging *paging);

/* Keep the better of two plans in *best, and free the other one. The faster plan is better. With powers the plan that
 * is less late is better, then the one of less energy. plan: NULL is legal. */
void plim_paging_keep_better(const plim_paging *paging, plim_plan **best, plim_plan *plan);

/* A bound that was proved for one arena does not hold where pages are allowed: keep-all's time does. */
void plim_paging_bound_by_keep_all(plim_plan *draft);

/* Make a plan of a draft (plim_plan_from_parts), for another budget of the arena. A bound for fewer bytes does not hold
 * for more; keep-all's time does. */
PLIM_MUST_USE plim_status plim_paging_plan_for(const plim_graph *graph, const plim_plan *draft, int64_t budget_bytes,
                                               plim_plan **out);

/* The time by which a plan misses the deadline; 0: it keeps it, or there is none. */
int64_t plim_paging_lateness(const plim_paging *paging, const plim_plan *plan);

/* ==== plan (page_kept.c, paging_make.c) ==== */

/* Who calls whom:
 *   make_paged (make.c) -> plim_paging_make_kept (page_kept.c): a plan kept on disk, or a new one from
 *   -> plim_paging_make (paging_make.c): the better of a plan with everything at home in the arena, from
 *      -> plim_page_plan_make (page_plan.c), and a plan with homes in the page space, from
 *      -> plim_home_make (home_plan.c), which has the rest planned by plim_page_plan_make. */

/* plim_plan_make with options->paging, which must not be NULL. */
PLIM_MUST_USE plim_status plim_paging_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                           const plim_plan_options *options, plim_plan **out);

/* The same, through the plans that are kept in options->front_folder. *from_front 1: an earlier call made the plan. */
PLIM_MUST_USE plim_status plim_paging_make_kept(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                                const plim_plan_options *options, plim_plan **out, int32_t *from_front);

/* plim_plan_front with options->paging (page_front.c). The budgets ascend. */
PLIM_MUST_USE plim_status plim_paging_front(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                            const plim_plan_options *options, int32_t n, const int64_t *budget,
                                            plim_plan **plan);

#endif

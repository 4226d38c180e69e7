/* Plans that page: what does not fit is recomputed, or copied to a page space and back beside compute. */
#ifndef PLIM_PLANNER_PAGING_PAGING_H
#define PLIM_PLANNER_PAGING_PAGING_H

#include "planner/planner.h"

/* ==== links and costs ==== */

/* Time of a copy of so many bytes: latency and bytes by bandwidth, 2^53 ns at most. */
int64_t plim_paging_copy_ns(int64_t latency_ns, double bytes_per_ns, int64_t bytes);

/* That of one to the page space (in 0), or from it (in 1). */
int64_t plim_paging_link_ns(const plim_paging *paging, int in, int64_t bytes);

/* The delay share in thousandths, as spaces of a plan have it. */
int32_t plim_paging_delay_permille(const plim_paging *paging);

/* *best becomes the better one of both, and the other is freed: the faster one, or with powers the one that is less
 * late, then the one of less energy. plan: NULL is legal. */
void plim_paging_keep_better(const plim_paging *paging, plim_plan **best, plim_plan *plan);

/* By how much the plan misses the deadline; 0: there is none, or it keeps it. */
int64_t plim_paging_lateness(const plim_paging *paging, const plim_plan *plan);

/* ==== plan ==== */

/* plim_plan_make with options->paging, which must not be NULL. */
PLIM_MUST_USE plim_status plim_paging_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                           const plim_plan_options *options, plim_plan **out);

/* The same, through the plans that are kept in options->front_folder. *from_front 1: an earlier call made the plan. */
PLIM_MUST_USE plim_status plim_paging_make_kept(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                                const plim_plan_options *options, plim_plan **out, int32_t *from_front);

#endif

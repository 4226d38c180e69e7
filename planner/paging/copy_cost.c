/* What copies take, and of two plans the faster one. */
#include "planner/paging/paging.h"
#include "runtime/base/integers.h"

int64_t plim_paging_copy_ns(int64_t latency_ns, double bytes_per_ns, int64_t bytes) {
  return latency_ns + plim_integers_from_real((double)bytes / bytes_per_ns);
}

int64_t plim_paging_link_ns(const plim_paging *paging, int in, int64_t bytes) {
  return plim_paging_copy_ns(paging->latency_ns[in], paging->bytes_per_ns[in], bytes);
}

int32_t plim_paging_delay_permille(const plim_paging *paging) {
  const double permille = 1000 * paging->charge;
  return permille < PLIM_PAGE_DELAY_PERMILLE ? (int32_t)(permille + 0.5) : PLIM_PAGE_DELAY_PERMILLE;
}

void plim_paging_keep_better(plim_plan **best, plim_plan *plan) {
  if (!plan) return;
  if (*best && (*best)->time_ns <= plan->time_ns) {
    plim_plan_free(plan);
  } else {
    plim_plan_free(*best);
    *best = plan;
  }
}

/* Times and delays of copies, and the better one of two plans. */
#include "planner/paging/command_list.h"
#include "runtime/base/integers.h"

int64_t plim_paging_copy_ns(int64_t latency_ns, double bytes_per_ns, int64_t bytes) {
  return latency_ns + plim_integers_from_real((double)bytes / bytes_per_ns);
}

int64_t plim_paging_link_ns(const plim_paging *paging, int in, int64_t bytes) {
  return plim_paging_copy_ns(paging->latency_ns[in], paging->bytes_per_ns[in], bytes);
}

int32_t plim_paging_delay_permille(const plim_paging *paging) {
  const double permille = 1000 * paging->delay_share;
  return permille < PLIM_PAGE_DELAY_PERMILLE ? (int32_t)(permille + 0.5) : PLIM_PAGE_DELAY_PERMILLE;
}

int64_t plim_paging_lateness(const plim_paging *paging, const plim_plan *plan) {
  return paging->powers && paging->deadline_ns > 0 && plan->time_ns > paging->deadline_ns
             ? plan->time_ns - paging->deadline_ns
             : 0;
}

void plim_paging_bound_by_keep_all(plim_plan *draft) {
  if (draft->bound_ns <= draft->keep_all_ns) return;
  draft->bound_ns = draft->keep_all_ns;
  draft->proved = draft->time_ns == draft->bound_ns;
}

plim_status plim_paging_plan_for(const plim_graph *graph, const plim_plan *draft, int64_t budget_bytes,
                                 plim_plan **out) {
  plim_plan own = *draft;
  if (budget_bytes > own.budget_bytes) plim_paging_bound_by_keep_all(&own);
  own.budget_bytes = budget_bytes;
  return plim_plan_from_parts(graph, &own, out);
}

int plim_paging_is_better(const plim_paging *paging, const plim_plan *a, const plim_plan *b) {
  if (!paging->powers) return a->time_ns < b->time_ns;
  const int64_t late_a = plim_paging_lateness(paging, a), late_b = plim_paging_lateness(paging, b);
  if (late_a != late_b) return late_a < late_b;
  return plim_plan_energy(a, paging->powers) < plim_plan_energy(b, paging->powers);
}

int plim_paging_keep_better(const plim_paging *paging, plim_plan **best, plim_plan *plan) {
  if (!plan) return 0;
  if (*best && !plim_paging_is_better(paging, plan, *best)) {
    plim_plan_free(plan);
    return 0;
  }
  plim_plan_free(*best);
  *best = plan;
  return 1;
}

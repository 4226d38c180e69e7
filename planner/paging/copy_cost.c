/* What copies and plans with copies take. */
#include "planner/paging/paging.h"
#include "runtime/base/integers.h"

int64_t plim_paging_copy_ns(int64_t latency_ns, double bytes_per_ns, int64_t bytes) {
  return latency_ns + plim_integers_from_real((double)bytes / bytes_per_ns);
}

int64_t plim_paging_link_ns(const plim_paging *paging, int in, int64_t bytes) {
  return plim_paging_copy_ns(paging->latency_ns[in], paging->bytes_per_ns[in], bytes);
}

static int computes(const plim_plan *plan, int32_t space) {
  return space == 0 || plan->page[space - 1].computes;
}

int64_t plim_paging_cost_ns(const plim_paging *paging, const plim_plan *plan) {
  double copies_ns = 0;
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *s = &plan->command[j];
    if (s->kind != PLIM_COMMAND_COPY || (computes(plan, s->from) && computes(plan, s->to))) continue;
    copies_ns += (double)s->time_ns;
  }
  double cost = (double)plan->time_ns + paging->charge * copies_ns;
  return cost < 0x1p62 ? (int64_t)cost : INT64_C(1) << 62;
}

void plim_paging_keep_better(const plim_paging *paging, plim_plan **best, plim_plan *plan) {
  if (!plan) return;
  if (*best && plim_paging_cost_ns(paging, *best) <= plim_paging_cost_ns(paging, plan)) {
    plim_plan_free(plan);
  } else {
    plim_plan_free(*best);
    *best = plan;
  }
}

/* The cheapest device of a space, and reports of progress. */
#include "planner/spaces/search/space_search_state.h"

void plim_space_report(plim_context *ctx, const plim_space_rules *rules) {
  if (!rules->progress) return;
  rules->progress->elapsed_ns = plim_now_ns() - rules->started_ns;
  plim_context_report(ctx, rules->progress);
}

int32_t plim_space_cheapest_device(const plim_space_problem *p, const plim_space_rules *rules,
                                   const plim_space_weights *w, int32_t node, int32_t space) {
  int32_t best = -1;
  for (int32_t d = 0; d < rules->devices; d++) {
    if (p->platform->device[d].space != space || plim_space_run_ns(p, node, d) < 0) continue;
    if (best < 0 || plim_space_run_cost(p, w, node, d) < plim_space_run_cost(p, w, node, best)) best = d;
  }
  return best;
}

/* The rig of plans that page. */
#include "tests/support/paging_rig.h"

#include <criterion/criterion.h>

#include "tests/support/random_graph.h"

void paging_rig_make(paging_rig *r, int32_t length, uint64_t seed) {
  plim_plan *keep_all = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &r->ctx), PLIM_OK);
  cr_assert_eq(random_chain_make(r->ctx, length, seed, &r->graph), PLIM_OK);
  cr_assert_eq(random_profile_make(r->graph, seed, 1, &r->profile), PLIM_OK);
  r->options = plim_plan_options_default();
  r->options.iterations = 100;
  cr_assert_eq(plim_plan_keep_all(r->ctx, r->graph, r->profile, &r->options, &keep_all), PLIM_OK);
  double bytes_per_ns = (double)keep_all->arena_bytes / (double)(keep_all->time_ns + 1);
  r->paging = (plim_paging){.struct_bytes = sizeof(plim_paging),
                            .space = "host",
                            .budget_bytes = keep_all->arena_bytes * 4,
                            .latency_ns = {1, 1},
                            .bytes_per_ns = {10 * bytes_per_ns, 10 * bytes_per_ns},
                            .delay_share = 0.1,
                            .recompute = 1};
  int64_t persistent = plim_graph_persistent_bytes(r->graph);
  r->options.budget_bytes = persistent + (keep_all->arena_bytes - persistent) * 3 / 4;
  plim_plan_free(keep_all);
}

void paging_rig_free(paging_rig *r) {
  plim_profile_free(r->profile);
  plim_graph_free(r->graph);
  plim_context_free(r->ctx);
}

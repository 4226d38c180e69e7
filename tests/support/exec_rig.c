#include "tests/support/exec_rig.h"

#include <criterion/criterion.h>

#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"

plim_exec_options exec_rig_options(plim_exec_addresses addresses) {
  plim_exec_options options = {.struct_bytes = sizeof options, .addresses = addresses, .own_kernels = 1};
  return options;
}

void exec_rig_documents(exec_rig *r, uint64_t seed) {
  random_graph_options graph = random_graph_options_default(seed);
  random_plan_options plan = random_plan_options_default(seed);
  if (!r->ctx) cr_assert_eq(plim_context_new(NULL, NULL, &r->ctx), PLIM_OK);
  cr_assert_eq(random_graph_make(r->ctx, &graph, &r->graph), PLIM_OK, "seed %llu", (unsigned long long)seed);
  cr_assert_eq(random_profile_make(r->graph, seed, 3, &r->profile), PLIM_OK);
  cr_assert_eq(random_plan_make(r->graph, r->profile, &plan, &r->plan), PLIM_OK);
}

void exec_rig_make(exec_rig *r, uint64_t seed, plim_exec_addresses addresses) {
  exec_rig_documents(r, seed);
  plim_exec_options options = exec_rig_options(addresses);
  const plim_graph *graph = r->graph;
  const plim_plan *plan = r->plan;
  plim_status status = plim_exec_open(r->ctx, NULL, &options, 1, &graph, &plan, &r->exec);
  cr_assert_eq(status, PLIM_OK, "seed %llu: %s", (unsigned long long)seed, plim_context_error(r->ctx));
}

void exec_rig_free(exec_rig *r) {
  plim_exec_close(r->exec);
  plim_plan_free(r->plan);
  plim_profile_free(r->profile);
  plim_graph_free(r->graph);
  plim_context_free(r->ctx);
}

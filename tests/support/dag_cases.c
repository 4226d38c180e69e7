#include "tests/support/dag_cases.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "planner/planner.h"

enum { MAX_NODES = 512 };

plim_graph *dag_make(plim_context *ctx, int32_t n, const int64_t *size, const int64_t *time, int32_t n_edges,
                     const dag_edge *edge) {
  plim_graph_builder *b = NULL;
  plim_graph *graph = NULL;
  int32_t value[MAX_NODES];
  cr_assert_leq(n, MAX_NODES);
  cr_assert_eq(plim_graph_begin(ctx, "dag", 0, &b), PLIM_OK);
  for (int32_t v = 0; v < n; v++) {
    char name[32];
    plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &size[v]);
    (void)snprintf(name, sizeof name, "v%d", v);
    cr_assert_eq(plim_graph_add(b, name, PLIM_ROLE_ACTIVATION, &shape, &value[v]), PLIM_OK);
  }
  for (int32_t v = 0; v < n; v++) {
    char name[32];
    int32_t op;
    (void)snprintf(name, sizeof name, "op%d", v);
    plim_op_spec spec = {.name = name, .kind = PLIM_OP_CUSTOM, .n_out = 1, .out = {value[v]}, .time_ns = time[v]};
    for (int32_t e = 0; e < n_edges; e++) {
      if (edge[e].to != v) continue;
      cr_assert_lt(spec.n_in, PLIM_OP_MAX_IN);
      spec.in[spec.n_in++] = value[edge[e].from];
    }
    cr_assert_eq(plim_graph_add_op(b, &spec, &op), PLIM_OK);
  }
  cr_assert_eq(plim_graph_end(b, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  return graph;
}

plim_graph *dag_chain(plim_context *ctx, int32_t layers, int32_t with_input) {
  int64_t one[MAX_NODES];
  dag_edge edge[3 * MAX_NODES];
  int32_t n = 2 * layers + 1, e = 0;
  cr_assert_leq(n, MAX_NODES);
  for (int32_t v = 0; v < n; v++) one[v] = 1;
  for (int32_t v = 1; v < n; v++) edge[e++] = (dag_edge){v - 1, v};
  for (int32_t i = 0; i < layers; i++) {
    edge[e++] = (dag_edge){i, 2 * layers - i};
    if (with_input && i >= 1) edge[e++] = (dag_edge){i - 1, 2 * layers - i};
  }
  return dag_make(ctx, n, one, one, e, edge);
}

int64_t dag_plan_time(const plim_graph *graph, const char *planner, int64_t budget) {
  plim_profile *profile = NULL;
  plim_plan *plan = NULL;
  int64_t time_ns = -1;
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  plim_plan_options options = plim_plan_options_default();
  options.planner = planner;
  options.unpacked = 1;
  options.budget_bytes = budget;
  plim_status status = plim_plan_make(graph->ctx, graph, profile, &options, &plan);
  cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(graph->ctx));
  if (status == PLIM_OK) time_ns = plan->time_ns;
  plim_plan_free(plan);
  plim_profile_free(profile);
  return time_ns;
}

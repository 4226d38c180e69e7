// A C++ program outside the tree: a chain of three ops, planned, its peak printed. Uses libplimsoll-plan alone.
#include <plimsoll/plan.h>

#include <cstdio>

int main() {
  plim_context *ctx = nullptr;
  if (plim_context_new(nullptr, nullptr, &ctx) != PLIM_OK) return 1;
  const int64_t floats = 1 << 20;
  const plim_shape shape = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, &floats);
  plim_graph_builder *b = nullptr;
  plim_graph *graph = nullptr;
  plim_profile *profile = nullptr;
  plim_plan *plan = nullptr;
  const char *const names[] = {"a", "b", "c"};
  plim_status status = plim_graph_begin(ctx, "three", 0, &b);
  int32_t last = -1, op;
  for (int i = 0; i < 3 && status == PLIM_OK; i++) {
    plim_op_spec spec = {};
    spec.name = names[i];
    spec.time_ns = 1000;
    if (last >= 0) spec.in[spec.n_in++] = last;
    status = plim_graph_add(b, names[i], PLIM_ROLE_ACTIVATION, &shape, &last);
    spec.out[spec.n_out++] = last;
    if (status == PLIM_OK) status = plim_graph_add_op(b, &spec, &op);
  }
  if (status == PLIM_OK) status = plim_graph_end(b, &graph);
  if (status == PLIM_OK) status = plim_profile_from_graph(graph, &profile);
  plim_plan_options options = plim_plan_options_default();
  options.budget_bytes = 8 << 20;
  if (status == PLIM_OK) status = plim_plan_make(ctx, graph, profile, &options, &plan);
  if (status == PLIM_OK) std::printf("peak %lld bytes\n", static_cast<long long>(plan->peak_bytes));
  if (status != PLIM_OK) std::fprintf(stderr, "plan: %s\n", plim_context_error(ctx));
  plim_plan_free(plan);
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_context_free(ctx);
  return plim_status_exit(status);
}

/* Planning alone: eight layers forward and backward as a graph of our own, planned within fewer and fewer bytes.
 * Links libplimsoll-plan: cc plan.c $(pkg-config --cflags --libs plimsoll-plan) */
#include <plimsoll/plan.h>
#include <stdio.h>

enum { LAYERS = 8, MIB = 1 << 20 };

/* Layer k makes activation a[k + 1] of a[k]; its backward op makes gradient g of the one before and of a[k]. */
static plim_status make_graph(plim_context *ctx, plim_graph **graph) {
  const int64_t floats = MIB / 4;
  const plim_shape shape = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, &floats);
  int32_t a[LAYERS + 1], g = -1, op;
  char name[24];
  plim_graph_builder *b;
  PLIM_TRY(plim_graph_begin(ctx, "eight", 0, &b));
  PLIM_TRY(plim_graph_add(b, "input", PLIM_ROLE_INPUT, &shape, &a[0]));
  for (int k = 0; k < 2 * LAYERS; k++) {
    const int back = k >= LAYERS, layer = back ? 2 * LAYERS - 1 - k : k;
    plim_op_spec spec = {.name = name, .phase = back ? PLIM_PHASE_BACKWARD : PLIM_PHASE_FORWARD, .time_ns = 1000};
    spec.in[spec.n_in++] = back ? a[layer] : a[k];
    if (back) spec.in[spec.n_in++] = k > LAYERS ? g : a[LAYERS];
    (void)snprintf(name, sizeof name, back ? "gradient%d" : "layer%d", layer);
    PLIM_TRY(plim_graph_add(b, name, back ? PLIM_ROLE_GRADIENT : PLIM_ROLE_ACTIVATION, &shape, &g));
    spec.out[spec.n_out++] = g;
    if (!back) a[k + 1] = g;
    PLIM_TRY(plim_graph_add_op(b, &spec, &op));
  }
  return plim_graph_end(b, graph); /* which frees the builder */
}

int main(void) {
  plim_context *ctx;
  plim_graph *graph = NULL;
  plim_profile *profile = NULL;
  plim_status status = plim_context_new(NULL, NULL, &ctx);
  if (status == PLIM_OK) status = make_graph(ctx, &graph);
  if (status == PLIM_OK) status = plim_profile_from_graph(graph, &profile); /* the times above */
  plim_plan_options options = plim_plan_options_default();
  for (int mib = 10; mib >= 4 && status == PLIM_OK; mib -= 2) {
    plim_plan *plan;
    options.budget_bytes = (int64_t)mib * MIB;
    status = plim_plan_make(ctx, graph, profile, &options, &plan);
    if (status != PLIM_OK) break;
    (void)printf("budget %2d MiB: peak %2lld MiB, %d ops run, %.1f %% more time, at least %.1f %%\n", mib,
                 (long long)plan->peak_bytes / MIB, plan->n_commands, plim_plan_overhead_percent(plan),
                 plim_plan_bound_percent(plan));
    plim_plan_free(plan);
  }
  if (status != PLIM_OK) (void)fprintf(stderr, "plan: %s\n", plim_context_error(ctx));
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_context_free(ctx);
  return plim_status_exit(status);
}

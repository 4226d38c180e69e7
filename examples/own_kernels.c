/* A program with its own kernels: planner, arena and plim_exec_step alone.
 *
 * A field u follows u' = u + dt sin(u) for many steps; we look for the start whose end is zero everywhere, by gradient
 * descent. The gradient runs the steps backward and needs every field of the way, which is what costs memory: within a
 * budget the planner recomputes some of them. The kernels below know nothing of that.
 * Links libplimsoll: cc own_kernels.c $(pkg-config --cflags --libs plimsoll) -lm */
#include <math.h>
#include <plimsoll/plimsoll.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 16384, STEPS = 64, DESCENTS = 20 };

#define TRY(call)                                                          \
  do {                                                                     \
    if ((call) != PLIM_OK) {                                               \
      (void)fprintf(stderr, "own_kernels: %s\n", plim_context_error(ctx)); \
      exit(1);                                                             \
    }                                                                      \
  } while (0)

/* ---- the kernels: what an op does is told by attrs.count ---- */

enum { FORWARD, LOSS, START_BACK, BACKWARD, DESCEND };
static const float dt = 0.05f, rate = 0.2f;

static plim_status run(void *user, const plim_run_call *call) {
  (void)user;
  const float *x = call->args.in[0];
  float *y = call->graph->op[call->op].n_out ? call->args.out[0] : call->args.upd[0];
  double sum = 0;
  switch (call->graph->op[call->op].attrs.count) {
    case FORWARD:
      for (int i = 0; i < CELLS; i++) y[i] = x[i] + dt * sinf(x[i]);
      return PLIM_OK;
    case LOSS:
      for (int i = 0; i < CELLS; i++) sum += (double)x[i] * x[i];
      y[0] = (float)(sum / CELLS);
      return PLIM_OK;
    case START_BACK:
      for (int i = 0; i < CELLS; i++) y[i] = 2 * x[i];
      return PLIM_OK;
    case BACKWARD: { /* x: gradient after the step, may be the same memory as y; u: field before it */
      const float *u = call->args.in[1];
      for (int i = 0; i < CELLS; i++) y[i] = x[i] * (1 + dt * cosf(u[i]));
      return PLIM_OK;
    }
    case DESCEND:
      for (int i = 0; i < CELLS; i++) y[i] -= rate * dt * x[i];
      return PLIM_OK;
    default:
      return PLIM_EUNSUPPORTED;
  }
}

/* ---- the graph: one descent ---- */

static plim_op_spec spec(const char *name, int what, int32_t in, plim_phase phase) {
  return (plim_op_spec){.name = name, .phase = phase, .attrs.count = what, .n_in = 1, .in = {in}, .time_ns = 1000};
}

static plim_graph *descent(plim_context *ctx) {
  const plim_shape field = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, (int64_t[]){CELLS});
  const plim_shape one = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, (int64_t[]){1});
  plim_graph_builder *b;
  plim_graph *graph;
  int32_t u[STEPS + 1], gradient, loss, id;
  char name[32];
  TRY(plim_graph_begin(ctx, "descent", 0, &b));
  TRY(plim_graph_add(b, "u0", PLIM_ROLE_PARAM, &field, &u[0]));
  TRY(plim_graph_add(b, "loss", PLIM_ROLE_OUTPUT, &one, &loss));
  for (int k = 0; k < STEPS; k++) {
    (void)snprintf(name, sizeof name, "u%d", k + 1);
    TRY(plim_graph_add(b, name, PLIM_ROLE_ACTIVATION, &field, &u[k + 1]));
    plim_op_spec op = spec(name, FORWARD, u[k], PLIM_PHASE_FORWARD);
    op.out[op.n_out++] = u[k + 1];
    TRY(plim_graph_add_op(b, &op, &id));
  }
  plim_op_spec op = spec("loss", LOSS, u[STEPS], PLIM_PHASE_FORWARD);
  op.out[op.n_out++] = loss;
  TRY(plim_graph_add_op(b, &op, &id));
  for (int k = STEPS; k >= 0; k--) {
    (void)snprintf(name, sizeof name, "g%d", k);
    op = k == STEPS ? spec(name, START_BACK, u[STEPS], PLIM_PHASE_BACKWARD)
                    : spec(name, BACKWARD, gradient, PLIM_PHASE_BACKWARD);
    if (k < STEPS) op.in[op.n_in++] = u[k];
    TRY(plim_graph_add(b, name, PLIM_ROLE_GRADIENT, &field, &gradient));
    op.out[op.n_out++] = gradient;
    op.pair[op.n_pairs++] = (plim_pair){.out = 0, .in = 0};
    TRY(plim_graph_add_op(b, &op, &id));
  }
  op = spec("descend", DESCEND, gradient, PLIM_PHASE_UPDATE);
  op.cls = PLIM_OP_EFFECT;
  op.upd[op.n_upd++] = u[0];
  TRY(plim_graph_add_op(b, &op, &id));
  TRY(plim_graph_end(b, &graph));
  return graph;
}

/* ---- descend within a plan ---- */

static float descend(plim_context *ctx, const plim_graph *graph, const plim_plan *plan) {
  plim_exec_options options = plim_exec_options_default();
  options.own_kernels = 1;
  plim_exec *exec;
  float loss = 0;
  TRY(plim_exec_open(ctx, NULL, &options, 1, &graph, &plan, &exec));
  float *start = plim_exec_pointer(exec, 0, plim_graph_find_value(graph, "u0"));
  for (int i = 0; i < CELLS; i++) start[i] = 0.001f * (float)(i % 1000);
  for (int i = 0; i < DESCENTS; i++) TRY(plim_exec_step(exec, 0, run, NULL));
  TRY(plim_exec_read(exec, 0, plim_graph_find_value(graph, "loss"), &loss, sizeof loss));
  (void)printf("%7lld KiB, %5.1f %% more work planned: loss %.9g after %d descents\n",
               (long long)plim_exec_arena_bytes(exec) / 1024, plim_plan_overhead_percent(plan), (double)loss, DESCENTS);
  plim_exec_close(exec);
  return loss;
}

int main(void) {
  plim_context *ctx = NULL;
  if (plim_context_new(NULL, NULL, &ctx) != PLIM_OK) return 1;
  plim_plan_options options = plim_plan_options_default();
  plim_graph *graph = descent(ctx);
  plim_profile *profile;
  plim_plan *all, *some;
  TRY(plim_profile_from_graph(graph, &profile));
  TRY(plim_plan_keep_all(ctx, graph, profile, &options, &all));
  options.budget_bytes = all->arena_bytes / 4;
  TRY(plim_plan_make(ctx, graph, profile, &options, &some));
  float loss_all = descend(ctx, graph, all);
  float loss_some = descend(ctx, graph, some);
  (void)printf("results are %s\n", loss_all == loss_some ? "identical" : "different");
  plim_plan_free(some);
  plim_plan_free(all);
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_context_free(ctx);
  return loss_all == loss_some ? 0 : 1;
}

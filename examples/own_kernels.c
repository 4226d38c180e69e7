/* Own ops, own kernels: a field u of CELLS numbers makes STEPS explicit steps of du/dt = sin u, the loss is the mean of
 * squares at the end, and its gradient by the start flows back through the same steps. The backward pass reads every
 * intermediate field; within a quarter of the memory the plan recomputes some of them.
 *
 * A kind of op is a row; a kernel of it is a function. The device profiles, plans and runs them like its own.
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

/* ---- the kernels ---- */

static const float dt = 0.05f, rate = 0.2f;

static int step(void *state, const plim_kernel_args *args, void *queue) {
  const float *x = args->in[0];
  float *y = args->out[0];
  (void)state, (void)queue;
  for (int i = 0; i < CELLS; i++) y[i] = x[i] + dt * sinf(x[i]);
  return PLIM_KERNEL_OK;
}

/* dx may be the same memory as dy. */
static int step_back(void *state, const plim_kernel_args *args, void *queue) {
  const float *dy = args->in[0], *x = args->in[1];
  float *dx = args->out[0];
  (void)state, (void)queue;
  for (int i = 0; i < CELLS; i++) dx[i] = dy[i] * (1 + dt * cosf(x[i]));
  return PLIM_KERNEL_OK;
}

static int loss(void *state, const plim_kernel_args *args, void *queue) {
  const float *x = args->in[0];
  float *mean = args->out[0], *dx = args->out[1];
  double sum = 0;
  (void)state, (void)queue;
  for (int i = 0; i < CELLS; i++) {
    sum += (double)x[i] * x[i];
    dx[i] = 2 * x[i];
  }
  mean[0] = (float)(sum / CELLS);
  return PLIM_KERNEL_OK;
}

static int descend(void *state, const plim_kernel_args *args, void *queue) {
  const float *dx = args->in[0];
  float *x = args->upd[0];
  (void)state, (void)queue;
  for (int i = 0; i < CELLS; i++) x[i] -= rate * dt * dx[i];
  return PLIM_KERNEL_OK;
}

/* ---- the kinds, a row each ---- */

#define ROW(text) .struct_bytes = sizeof(plim_op_row), .name = (text), .version = PLIM_OWN_KIND_VERSION
#define FIELD(text, rule) \
  { .name = (text), .type = 'f', .shape = (rule) }

enum { STEP, STEP_BACK, LOSS, DESCEND, KINDS };
static const plim_op_row rows[KINDS] = {
    [STEP] = {ROW("descent.step"), .in = {FIELD("x", "N")}, .out = {FIELD("y", "N")}, .doc = "y = x + dt sin x"},
    [STEP_BACK] = {ROW("descent.step_back"), .in = {FIELD("dy", "N"), FIELD("x", "N")}, .out = {FIELD("dx", "N")},
                   .n_pairs = 1, .pair = {{0, 0}}, .doc = "dx = dy (1 + dt cos x)"},
    [LOSS] = {ROW("descent.loss"), .in = {FIELD("x", "N")}, .out = {FIELD("mean", "1"), FIELD("dx", "N")},
              .doc = "mean of squares, and its gradient times N"},
    [DESCEND] = {ROW("descent.descend"), .cls = PLIM_OP_EFFECT, .in = {FIELD("dx", "N")}, .upd = {FIELD("x", "N")},
                 .doc = "x -= rate dt dx"},
};
static int (*const runs[KINDS])(void *, const plim_kernel_args *, void *) = {step, step_back, loss, descend};
static plim_op_kind kind[KINDS];

static plim_device *open_device(plim_context *ctx) {
  plim_device *device;
  TRY(plim_device_open(ctx, "cpu", NULL, &device));
  for (int i = 0; i < KINDS; i++) {
    const plim_own_kernel kernel = {.struct_bytes = sizeof kernel, .name = "plain", .run = runs[i]};
    const char *fault = plim_op_kind_add(&rows[i], &kind[i]);
    if (fault) {
      (void)fprintf(stderr, "own_kernels: %s: %s\n", rows[i].name, fault);
      exit(1);
    }
    TRY(plim_device_add_kernel(device, kind[i], &kernel));
  }
  return device;
}

/* ---- the graph: one descent ---- */

static plim_op_spec spec(const char *name, int what, int32_t in, int32_t out, plim_phase phase) {
  return (plim_op_spec){
      .name = name, .kind = kind[what], .phase = phase, .n_in = 1, .in = {in}, .n_out = 1, .out = {out}, .time_ns = -1};
}

static plim_graph *descent(plim_context *ctx) {
  const plim_shape field = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, (int64_t[]){CELLS});
  const plim_shape one = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, (int64_t[]){1});
  plim_graph_builder *b;
  plim_graph *graph;
  int32_t u[STEPS + 1], gradient, mean, id;
  char name[32];
  TRY(plim_graph_begin(ctx, "descent", 0, &b));
  TRY(plim_graph_add(b, "u0", PLIM_ROLE_PARAM, &field, &u[0]));
  TRY(plim_graph_add(b, "loss", PLIM_ROLE_OUTPUT, &one, &mean));
  for (int k = 0; k < STEPS; k++) {
    (void)snprintf(name, sizeof name, "u%d", k + 1);
    TRY(plim_graph_add(b, name, PLIM_ROLE_ACTIVATION, &field, &u[k + 1]));
    plim_op_spec op = spec(name, STEP, u[k], u[k + 1], PLIM_PHASE_FORWARD);
    TRY(plim_graph_add_op(b, &op, &id));
  }
  TRY(plim_graph_add(b, "end", PLIM_ROLE_GRADIENT, &field, &gradient));
  plim_op_spec op = spec("loss", LOSS, u[STEPS], mean, PLIM_PHASE_FORWARD);
  op.out[op.n_out++] = gradient;
  TRY(plim_graph_add_op(b, &op, &id));
  for (int k = STEPS - 1; k >= 0; k--) {
    (void)snprintf(name, sizeof name, "g%d", k);
    op = spec(name, STEP_BACK, gradient, -1, PLIM_PHASE_BACKWARD);
    op.in[op.n_in++] = u[k];
    TRY(plim_graph_add(b, name, PLIM_ROLE_GRADIENT, &field, &gradient));
    op.out[0] = gradient;
    TRY(plim_graph_add_op(b, &op, &id));
  }
  op = spec("descend", DESCEND, gradient, -1, PLIM_PHASE_UPDATE);
  op.n_out = 0;
  op.upd[op.n_upd++] = u[0];
  TRY(plim_graph_add_op(b, &op, &id));
  TRY(plim_graph_end(b, &graph));
  return graph;
}

/* ---- descend within a plan ---- */

static float follow(plim_context *ctx, plim_device *device, const plim_graph *graph, const plim_plan *plan) {
  plim_exec *exec;
  float value = 0, start[CELLS];
  TRY(plim_exec_open(ctx, device, NULL, 1, &graph, &plan, &exec));
  for (int i = 0; i < CELLS; i++) start[i] = 0.001f * (float)(i % 1000);
  TRY(plim_exec_write(exec, 0, plim_graph_find_value(graph, "u0"), start, sizeof start));
  for (int i = 0; i < DESCENTS; i++) TRY(plim_exec_step(exec, 0, NULL, NULL));
  TRY(plim_exec_read(exec, 0, plim_graph_find_value(graph, "loss"), &value, sizeof value));
  (void)printf("%7lld KiB, %5.1f %% more work planned: loss %.9g after %d descents\n",
               (long long)plim_exec_arena_bytes(exec) / 1024, plim_plan_overhead_percent(plan), (double)value,
               DESCENTS);
  plim_exec_close(exec);
  return value;
}

int main(void) {
  plim_context *ctx = NULL;
  if (plim_context_new(NULL, NULL, &ctx) != PLIM_OK) return 1;
  plim_device *device = open_device(ctx);
  plim_graph *graph = descent(ctx);
  plim_plan_options options = plim_plan_options_default();
  plim_profiler_options profiling = plim_profiler_options_default();
  plim_profile *profile;
  plim_plan *all, *some;
  profiling.cache_dir = "";
  TRY(plim_profile_measure(device, graph, &profiling, &profile));
  TRY(plim_plan_keep_all(ctx, graph, profile, &options, &all));
  options.budget_bytes = all->arena_bytes / 4;
  TRY(plim_plan_make(ctx, graph, profile, &options, &some));
  float loss_all = follow(ctx, device, graph, all);
  float loss_some = follow(ctx, device, graph, some);
  (void)printf("results are %s\n", loss_all == loss_some ? "identical" : "different");
  plim_plan_free(some);
  plim_plan_free(all);
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_device_close(device);
  plim_context_free(ctx);
  return loss_all == loss_some ? 0 : 1;
}

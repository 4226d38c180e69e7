/* Own ops, own kernels: a field u of CELLS numbers makes STEPS explicit steps of du/dt = sin u, the loss is the sum of
 * squares at the end, and its gradient by the start flows back through the same steps. The backward pass reads every
 * intermediate field; within a quarter of the memory the plan recomputes some of them.
 *
 * A kind of op is a row; a kernel of it is a function. The device profiles, plans and runs them like its own.
 * Links libplimsoll: cc own_kernels.c $(pkg-config --cflags --libs plimsoll) -lm */
#include <math.h>
#include <plimsoll/plimsoll.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 16384, STEPS = 64 };
static plim_context *ctx;

static void must(plim_status status) {
  if (status == PLIM_OK) return;
  (void)fprintf(stderr, "own_kernels: %s\n", plim_context_error(ctx));
  exit(plim_status_exit(status));
}

/* ---- the kernels ---- */

static const float dt = 0.05f;
#define KERNEL(name) static int name(void *state, const plim_kernel_args *args, void *queue)

KERNEL(step) {
  const float *x = args->in[0];
  float *y = args->out[0];
  for (int i = 0; i < CELLS; i++) y[i] = x[i] + dt * sinf(x[i]);
  return (void)state, (void)queue, PLIM_KERNEL_OK;
}

/* dx may be the same memory as dy. */
KERNEL(step_back) {
  const float *dy = args->in[0], *x = args->in[1];
  float *dx = args->out[0];
  for (int i = 0; i < CELLS; i++) dx[i] = dy[i] * (1 + dt * cosf(x[i]));
  return (void)state, (void)queue, PLIM_KERNEL_OK;
}

/* Of the loss. */
KERNEL(end) {
  const float *x = args->in[0];
  float *dx = args->out[0];
  for (int i = 0; i < CELLS; i++) dx[i] = 2 * x[i];
  return (void)state, (void)queue, PLIM_KERNEL_OK;
}

/* ---- the kinds, a row each ---- */

#define ROW(text) .struct_bytes = sizeof(plim_op_row), .name = (text), .version = PLIM_OWN_KIND_VERSION
#define FIELD(text, rule) \
  { .name = (text), .type = 'f', .shape = (rule) }

enum { STEP, STEP_BACK, END, KINDS };
static const plim_op_row rows[KINDS] = {
    [STEP] = {ROW("flow.step"), .in = {FIELD("x", "N")}, .out = {FIELD("y", "N")}, .doc = "y = x + dt sin x"},
    [STEP_BACK] = {ROW("flow.step_back"), .in = {FIELD("dy", "N"), FIELD("x", "N")}, .out = {FIELD("dx", "N")},
                   .n_pairs = 1, .pair = {{0, 0}}, .doc = "dx = dy (1 + dt cos x)"},
    [END] = {ROW("flow.end"), .in = {FIELD("x", "N")}, .out = {FIELD("dx", "N")}, .doc = "gradient of sums of squares"},
};
static int (*const runs[KINDS])(void *, const plim_kernel_args *, void *) = {step, step_back, end};
static plim_op_kind kind[KINDS];

static plim_device *open_device(void) {
  plim_device *device;
  must(plim_device_open(ctx, "cpu", NULL, &device));
  for (int i = 0; i < KINDS; i++) {
    const plim_own_kernel kernel = {.struct_bytes = sizeof kernel, .name = "plain", .run = runs[i]};
    const char *fault = plim_op_kind_add(&rows[i], &kind[i]);
    if (fault) (void)fprintf(stderr, "own_kernels: %s: %s\n", rows[i].name, fault);
    if (fault) exit(1);
    must(plim_device_add_kernel(device, kind[i], &kernel));
  }
  return device;
}

/* ---- the graph ---- */

/* A field, and the op that writes it from one field or two; what KINDS: no op does. */
static int32_t add(plim_graph_builder *b, char letter, int number, plim_role role, int what, int32_t in, int32_t in2) {
  const plim_shape shape = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, (int64_t[]){CELLS});
  char name[32];
  (void)snprintf(name, sizeof name, "%c%d", letter, number);
  plim_op_spec op = {.name = name, .n_in = what == STEP_BACK ? 2 : 1, .in = {in, in2}, .n_out = 1, .time_ns = -1};
  int32_t id;
  must(plim_graph_add(b, name, role, &shape, &op.out[0]));
  if (what == KINDS) return op.out[0];
  op.kind = kind[what];
  must(plim_graph_add_op(b, &op, &id));
  return op.out[0];
}

static plim_graph *flow(void) {
  plim_graph_builder *b;
  plim_graph *graph;
  int32_t u[STEPS + 1], g;
  must(plim_graph_begin(ctx, "flow", 0, &b));
  u[0] = add(b, 'u', 0, PLIM_ROLE_INPUT, KINDS, -1, -1);
  for (int k = 1; k <= STEPS; k++) u[k] = add(b, 'u', k, PLIM_ROLE_ACTIVATION, STEP, u[k - 1], -1);
  g = add(b, 'g', STEPS, PLIM_ROLE_GRADIENT, END, u[STEPS], -1);
  for (int k = STEPS - 1; k >= 0; k--)
    g = add(b, 'g', k, k ? PLIM_ROLE_GRADIENT : PLIM_ROLE_OUTPUT, STEP_BACK, g, u[k]);
  must(plim_graph_end(b, &graph));
  return graph;
}

/* ---- a step within a plan ---- */

/* The gradient by a plan of at most `budget_bytes`; the bytes of its arena. */
static int64_t run(plim_device *device, const plim_graph *graph, int64_t budget_bytes, float *gradient) {
  static float start[CELLS];
  plim_plan_options options = plim_plan_options_default();
  plim_profile *profile;
  plim_plan *plan;
  plim_exec *exec;
  options.budget_bytes = budget_bytes;
  must(plim_profile_measure(device, graph, NULL, &profile));
  must(plim_plan_make(ctx, graph, profile, &options, &plan));
  must(plim_exec_open(ctx, device, NULL, 1, &graph, (const plim_plan *const *)&plan, &exec));
  for (int i = 0; i < CELLS; i++) start[i] = 0.001f * (float)(i % 1000);
  must(plim_exec_write(exec, 0, plim_graph_find_value(graph, "u0"), start, sizeof start));
  must(plim_exec_step(exec, 0, NULL, NULL));
  must(plim_exec_read(exec, 0, plim_graph_find_value(graph, "g0"), gradient, sizeof start));
  const int64_t bytes = plim_exec_arena_bytes(exec);
  (void)printf("%7lld KiB, %5.1f %% more work planned: gradient %.9g, ...\n", (long long)bytes / 1024,
               plim_plan_overhead_percent(plan), (double)gradient[1]);
  plim_exec_close(exec);
  plim_plan_free(plan);
  plim_profile_free(profile);
  return bytes;
}

int main(void) {
  static float all[CELLS], some[CELLS];
  if (plim_context_new(NULL, NULL, &ctx) != PLIM_OK) return 1;
  plim_device *device = open_device();
  plim_graph *graph = flow();
  const int64_t bytes = run(device, graph, INT64_MAX, all);
  (void)run(device, graph, bytes / 4, some);
  int equal = 1;
  for (int i = 0; i < CELLS; i++) equal &= all[i] == some[i];
  (void)printf("results are %s\n", equal ? "identical" : "different");
  plim_graph_free(graph);
  plim_device_close(device);
  plim_context_free(ctx);
  return equal ? 0 : 1;
}

/* One training step of two layers, from graph to addresses: example-one_step [BUDGET IN BYTES].
 *
 *   h1 = tanh(w1 x)      h2 = tanh(w2 h1)      d = h2 - t           forward; all are vectors of N numbers
 *   g2 = d (1 - h2 h2)   g1 = g2 w2 (1 - h1 h1)                     backward
 *   w2 -= rate g2 h1     w1 -= rate g1 x                            update
 *
 * With everything kept h1, h2, d and g2 are alive together. A smaller budget evicts h1 and recomputes it. The program
 * plans both, runs both, and prints for each command where its operands really were. The weights must be equal.
 * Links libplimsoll: cc one_step.c $(pkg-config --cflags --libs plimsoll) -lm */
#include <math.h>
#include <plimsoll/plimsoll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1024, BYTES = N * 4 };
static const float rate = 0.1f;
static plim_context *ctx;

static void must(plim_status status) {
  if (status == PLIM_OK) return;
  (void)fprintf(stderr, "one_step: %s\n", plim_context_error(ctx));
  exit(plim_status_exit(status));
}

/* ---- 1. the graph: tensors and ops. attrs.count says which kernel computes an op. ---- */

enum { TANH, DIFFERENCE, BACK_LAST, BACK, DESCEND };

static int32_t tensor(plim_graph_builder *b, const char *name, plim_role role) {
  const plim_shape shape = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, (int64_t[]){N});
  int32_t id;
  must(plim_graph_add(b, name, role, &shape, &id));
  return id;
}

/* `out` is written; of DESCEND it is a parameter, updated in place. */
static void op(plim_graph_builder *b, const char *name, int kernel, plim_phase phase, int n_in, const int32_t *in,
               int32_t out) {
  int32_t id;
  plim_op_spec spec = {.name = name, .phase = phase, .attrs.count = kernel, .n_in = n_in, .time_ns = 1000};
  for (int i = 0; i < n_in; i++) spec.in[i] = in[i];
  if (kernel == DESCEND) {
    spec.cls = PLIM_OP_EFFECT, spec.n_upd = 1, spec.upd[0] = out;
  } else {
    spec.n_out = 1, spec.out[0] = out;
  }
  must(plim_graph_add_op(b, &spec, &id));
}

static plim_graph *two_layers(void) {
  plim_graph_builder *b;
  plim_graph *graph;
  must(plim_graph_begin(ctx, "two-layers", 0, &b));
  int32_t w1 = tensor(b, "w1", PLIM_ROLE_PARAM), w2 = tensor(b, "w2", PLIM_ROLE_PARAM);
  int32_t x = tensor(b, "x", PLIM_ROLE_INPUT), t = tensor(b, "t", PLIM_ROLE_INPUT);
  int32_t h1 = tensor(b, "h1", PLIM_ROLE_ACTIVATION), h2 = tensor(b, "h2", PLIM_ROLE_ACTIVATION);
  int32_t d = tensor(b, "d", PLIM_ROLE_GRADIENT), g2 = tensor(b, "g2", PLIM_ROLE_GRADIENT);
  int32_t g1 = tensor(b, "g1", PLIM_ROLE_GRADIENT);
  op(b, "layer1", TANH, PLIM_PHASE_FORWARD, 2, (int32_t[]){w1, x}, h1);
  op(b, "layer2", TANH, PLIM_PHASE_FORWARD, 2, (int32_t[]){w2, h1}, h2);
  op(b, "difference", DIFFERENCE, PLIM_PHASE_FORWARD, 2, (int32_t[]){h2, t}, d);
  op(b, "layer2.backward", BACK_LAST, PLIM_PHASE_BACKWARD, 2, (int32_t[]){d, h2}, g2);
  op(b, "layer1.backward", BACK, PLIM_PHASE_BACKWARD, 3, (int32_t[]){g2, w2, h1}, g1);
  op(b, "layer2.update", DESCEND, PLIM_PHASE_UPDATE, 2, (int32_t[]){g2, h1}, w2);
  op(b, "layer1.update", DESCEND, PLIM_PHASE_UPDATE, 2, (int32_t[]){g1, x}, w1);
  must(plim_graph_end(b, &graph));
  return graph;
}

/* ---- 2. the kernels. The executor gives each call the addresses of its operands. ---- */

static void compute(int kernel, const plim_kernel_args *args) {
  const float *a = args->in[0], *b = args->in[1], *c = kernel == BACK ? args->in[2] : NULL;
  float *y = kernel == DESCEND ? args->upd[0] : args->out[0];
  for (int i = 0; i < N; i++) {
    if (kernel == TANH) y[i] = tanhf(a[i] * b[i]);
    if (kernel == DIFFERENCE) y[i] = a[i] - b[i];
    if (kernel == BACK_LAST) y[i] = a[i] * (1 - b[i] * b[i]);
    if (kernel == BACK) y[i] = a[i] * b[i] * (1 - c[i] * c[i]);
    if (kernel == DESCEND) y[i] -= rate * a[i] * b[i];
  }
}

/* `user` is the arena's lowest address. */
static plim_status run(void *user, const plim_run_call *call) {
  const char *arena = user;
  const plim_op *o = &call->graph->op[call->op];
  (void)printf("  command %d  %-16s reads", call->command, o->name);
  for (int i = 0; i < o->n_in; i++) {
    (void)printf(" %s at %td%s", call->graph->value[o->in[i]].name, (char *)call->args.in[i] - arena,
                 i + 1 < o->n_in ? "," : "");
  }
  int32_t out = o->n_out ? o->out[0] : o->upd[0];
  const char *at = o->n_out ? call->args.out[0] : call->args.upd[0];
  (void)printf("; writes %s at %td\n", call->graph->value[out].name, at - arena);
  compute((int)o->attrs.count, &call->args);
  return PLIM_OK;
}

/* ---- 3. one step by a plan; the weights come out. ---- */

static void step(const plim_graph *graph, const plim_plan *plan, unsigned char weights[2 * BYTES]) {
  plim_exec_options options = plim_exec_options_default();
  options.own_kernels = 1;
  plim_exec *exec;
  must(plim_exec_open(ctx, NULL, &options, 1, &graph, &plan, &exec)); /* checks the plan, allocates the arena */
  float start[N];
  for (int i = 0; i < N; i++) start[i] = (float)(i + 1) / N;
  const char *const given[] = {"w1", "w2", "x", "t"};
  for (int i = 0; i < 4; i++) {
    must(plim_exec_write(exec, 0, plim_graph_find_value(graph, given[i]), start, BYTES));
  }
  int32_t first = plim_graph_find_value(graph, "w1");
  char *arena = plim_exec_pointer(exec, 0, first);
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    if (plan->buffer[i].storage == graph->value[first].storage) arena -= plan->buffer[i].offset;
  }
  must(plim_exec_step(exec, 0, run, arena)); /* fails when the measured peak is not the plan's */
  (void)printf("  peak %lld bytes, as planned; arena %lld bytes; %.0f %% more time\n\n",
               (long long)plim_exec_measured(exec, 0).space[0].peak_bytes, (long long)plim_exec_arena_bytes(exec),
               plim_plan_overhead_percent(plan));
  must(plim_exec_read(exec, 0, first, weights, BYTES));
  must(plim_exec_read(exec, 0, plim_graph_find_value(graph, "w2"), weights + BYTES, BYTES));
  plim_exec_close(exec);
}

int main(int argc, char **argv) {
  plim_plan_options options = plim_plan_options_default();
  plim_profile *profile;
  plim_plan *all, *some;
  unsigned char weights_all[2 * BYTES], weights_some[2 * BYTES];
  if (plim_context_new(NULL, NULL, &ctx) != PLIM_OK) return 1;
  plim_graph *graph = two_layers();
  must(plim_profile_from_graph(graph, &profile)); /* every op takes the time that its spec says */
  must(plim_plan_keep_all(ctx, graph, profile, &options, &all));
  options.budget_bytes = argc > 1 ? atoll(argv[1]) : all->arena_bytes - BYTES;
  must(plim_plan_make(ctx, graph, profile, &options, &some));
  (void)printf("everything kept:\n");
  step(graph, all, weights_all);
  (void)printf("within %lld bytes:\n", (long long)options.budget_bytes);
  step(graph, some, weights_some);
  int equal = memcmp(weights_all, weights_some, sizeof weights_all) == 0;
  (void)printf("weights are %s\n", equal ? "identical" : "different");
  plim_plan_free(some), plim_plan_free(all), plim_profile_free(profile), plim_graph_free(graph);
  plim_context_free(ctx);
  return !equal;
}

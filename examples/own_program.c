/* A training program of one's own, in the manner of llm.c: plain functions over arrays in one block of memory. It runs
 * so, and then in our arena: a graph describes the calls, a plan says what is kept and where it lies, and the library
 * calls back for each command. Prints memory and loss of both; the losses are equal.
 * Links libplimsoll: cc own_program.c $(pkg-config --cflags --libs plimsoll) -lm */
#include <math.h>
#include <plimsoll/plimsoll.h>
#include <stdio.h>
#include <stdlib.h>

enum { B = 256, C = 64, LAYERS = 24, STEPS = 5, MOST_ARRAYS = 256, MOST_CALLS = 3 * LAYERS + 2 };
static plim_context *ctx;
static int32_t n_arrays, n_calls, loss_array;
static int call_of[MOST_CALLS]; /* by op: what it calls */

static void must(plim_status status) {
  if (status == PLIM_OK) return;
  (void)fprintf(stderr, "own_program: %s\n", plim_context_error(ctx));
  exit(plim_status_exit(status));
}

/* ---- the program's functions: a layer is y = x + tanh(w x), with a weight for each of C columns ---- */

enum { LAYER, LOSS, LOSS_BACK, LAYER_BACK, LEARN }; /* a call is one of these, and where its arguments are */
static void call(int what, void *const *in, float *y) {
  const float *a = in[0], *b = in[1], *w = what == LAYER ? in[1] : what == LAYER_BACK ? in[2] : y, rate = 2;
  float slope[C] = {0};
  double sum = 0;
  for (int i = 0; i < B * C; i++) {
    const float t = what != LOSS && what != LOSS_BACK ? tanhf((what == LAYER ? a[i] : b[i]) * w[i % C]) : 0;
    if (what == LAYER) y[i] = a[i] + t;
    if (what == LOSS) sum += pow((double)(a[i] - b[i]), 2);
    if (what == LOSS_BACK) y[i] = 2 * (a[i] - b[i]) / (B * C);
    if (what == LAYER_BACK) y[i] = a[i] * (1 + w[i % C] * (1 - t * t)); /* of dy, x and w */
    if (what == LEARN) slope[i % C] += a[i] * b[i] * (1 - t * t);       /* of dy and x */
  }
  if (what == LOSS) *y = (float)(sum / (B * C));
  for (int c = 0; c < C && what == LEARN; c++) y[c] -= rate * slope[c];
}

static void start(const plim_value *array, float *to) {
  for (int64_t i = 0; i < array->bytes / 4; i++) to[i] = 0.5f * sinf((float)(i % 1009 * 37));
}

/* ---- the same calls as a graph: each makes an array, or updates one ---- */

static int32_t array(plim_graph_builder *b, const char *what, plim_role role, int64_t floats) {
  int32_t id;
  const plim_shape shape = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, &floats);
  char name[32];
  (void)snprintf(name, sizeof name, "%s%d", what, n_arrays++);
  must(plim_graph_add(b, name, role, &shape, &id));
  return id;
}

/* in2 < 0: two arguments; out < 0: a new array, which is returned. LEARN updates `out`, the others make it. */
static int32_t add(plim_graph_builder *b, int what, int32_t in0, int32_t in1, int32_t in2, int32_t out) {
  int32_t id;
  char name[32];
  (void)snprintf(name, sizeof name, "call%d", n_calls++);
  if (out < 0) out = array(b, "a", what == LAYER ? PLIM_ROLE_ACTIVATION : PLIM_ROLE_GRADIENT, B * C);
  plim_op_spec op = {.name = name, .n_in = in2 < 0 ? 2 : 3, .n_out = what != LEARN, .n_upd = what == LEARN};
  op.in[0] = in0, op.in[1] = in1, op.in[2] = in2, op.out[0] = op.upd[0] = out;
  op.cls = what == LEARN ? PLIM_OP_EFFECT : PLIM_OP_PURE, op.time_ns = B * C; /* times about, all alike */
  must(plim_graph_add_op(b, &op, &id));
  call_of[id] = what;
  return out;
}

static plim_graph *describe(void) {
  int32_t x[LAYERS + 1], w[LAYERS];
  plim_graph_builder *b;
  plim_graph *graph;
  must(plim_graph_begin(ctx, "own", B, &b));
  x[0] = array(b, "x", PLIM_ROLE_INPUT, B * C);
  const int32_t target = array(b, "target", PLIM_ROLE_INPUT, B * C);
  for (int l = 0; l < LAYERS; l++) w[l] = array(b, "w", PLIM_ROLE_PARAM, C);
  for (int l = 0; l < LAYERS; l++) x[l + 1] = add(b, LAYER, x[l], w[l], -1, -1);
  loss_array = add(b, LOSS, x[LAYERS], target, -1, array(b, "loss", PLIM_ROLE_OUTPUT, 1));
  int32_t dy = add(b, LOSS_BACK, x[LAYERS], target, -1, -1);
  for (int l = LAYERS - 1; l >= 0; l--) {
    const int32_t dx = l > 0 ? add(b, LAYER_BACK, dy, x[l], w[l], -1) : -1;
    (void)add(b, LEARN, dy, x[l], -1, w[l]);
    dy = dx;
  }
  must(plim_graph_end(b, &graph));
  return graph;
}

/* ---- before: a block with a place for each array ---- */

static float before(const plim_graph *g) {
  static float *at[MOST_ARRAYS + 1];
  int64_t bytes = 0;
  for (int32_t v = 0; v < g->n_values; v++) bytes += g->value[v].bytes;
  if (bytes < 1 || g->n_values > MOST_ARRAYS || !(at[0] = malloc((size_t)bytes))) exit(1);
  for (int32_t v = 0; v < g->n_values; v++) at[v + 1] = at[v] + g->value[v].bytes / 4, start(&g->value[v], at[v]);
  for (int i = 0; i < STEPS * g->n_ops; i++) {
    const plim_op *o = &g->op[i % g->n_ops];
    void *in[3] = {at[o->in[0]], at[o->in[1]], at[o->in[o->n_in - 1]]};
    call(call_of[i % g->n_ops], in, at[o->n_out ? o->out[0] : o->upd[0]]);
  }
  const float loss = *at[loss_array];
  (void)printf("a place for each array: %5lld KiB, loss %.9g\n", (long long)bytes / 1024, (double)loss);
  return free(at[0]), loss;
}

/* ---- after: the arena of a plan ---- */

static plim_status run(void *user, const plim_run_call *c) {
  (void)user;
  call(call_of[c->op], c->args.in, c->graph->op[c->op].n_out ? c->args.out[0] : c->args.upd[0]);
  return PLIM_OK;
}

static float within(const plim_graph *g, const plim_plan *plan) {
  static float from[B * C], loss;
  plim_exec_options options = plim_exec_options_default();
  plim_exec *exec;
  options.own_kernels = 1;
  must(plim_exec_open(ctx, NULL, &options, 1, &g, &plan, &exec)); /* checks the plan, allocates the arena */
  for (int i = 0; i < STEPS; i++) {
    for (int32_t v = 0; v < g->n_values; v++) {
      const plim_role role = g->storage[g->value[v].storage].role;
      if (role != PLIM_ROLE_INPUT && (role != PLIM_ROLE_PARAM || i > 0)) continue;
      start(&g->value[v], from);
      must(plim_exec_write(exec, 0, v, from, g->value[v].bytes));
    }
    must(plim_exec_step(exec, 0, run, NULL));
  }
  must(plim_exec_read(exec, 0, loss_array, &loss, sizeof loss));
  (void)printf("the arena of a plan:    %5lld KiB, loss %.9g, %.1f %% more time\n",
               (long long)plim_exec_arena_bytes(exec) / 1024, (double)loss, plim_plan_overhead_percent(plan));
  return plim_exec_close(exec), loss;
}

int main(void) {
  plim_plan_options options = plim_plan_options_default();
  plim_profile *profile;
  plim_plan *plan;
  if (plim_context_new(NULL, NULL, &ctx) != PLIM_OK) return 1;
  plim_graph *graph = describe();
  must(plim_profile_from_graph(graph, &profile));    /* the times above */
  options.budget_bytes = 20 * B * C * sizeof(float); /* of 48 that an array each takes */
  must(plim_plan_make(ctx, graph, profile, &options, &plan));
  const int equal = before(graph) == within(graph, plan);
  (void)printf("losses are %s\n", equal ? "identical" : "different");
  plim_plan_free(plan), plim_profile_free(profile), plim_graph_free(graph), plim_context_free(ctx);
  return !equal;
}

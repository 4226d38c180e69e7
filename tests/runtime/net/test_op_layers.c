/* Layers of any kind by its row: the ops that they become, and a program's own kind trained in a net, its gradients
 * against finite differences. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/exec/exec.h"
#include "runtime/graph/check/check.h"
#include "runtime/net/net.h"
#include "runtime/profile/profiler.h"
#include "tests/support/test_context.h"

enum { BATCH = 8, SIDE = 4, PIXELS = SIDE * SIDE, WIDTH = 6, CLASSES = 3 };

static plim_context *ctx;

static void well(plim_status status) {
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(ctx));
}

static plim_net *begin_net(plim_precision precision) {
  plim_net_options options = plim_net_options_default();
  plim_net *net;
  options.batch = BATCH;
  options.channels = 1;
  options.height = options.width = SIDE;
  options.classes = CLASSES;
  options.precision = precision;
  well(plim_net_begin(ctx, "rows", &options, &net));
  return net;
}

static plim_shape sizes(int rank, int64_t a, int64_t b) {
  return plim_shape_make(PLIM_F32, PLIM_FLAT, rank, (int64_t[]){a, b});
}

static plim_tensor linear(plim_net *net, const char *name, plim_tensor x, int64_t inputs, int64_t outputs) {
  const plim_shape params[] = {sizes(2, outputs, inputs), sizes(1, outputs, 1)};
  return plim_net_op(net, name, PLIM_OP_LINEAR, NULL, 1, &x, 2, params);
}

/* ---- the ops ---- */

static void append(char *text, size_t size, const char *word) {
  const size_t used = strlen(text);
  (void)snprintf(text + used, size - used, " %s", word);
}

static void append_names(const plim_graph *g, const int32_t *value, int32_t n, char *text, size_t size) {
  for (int32_t i = 0; i < n; i++) append(text, size, g->value[value[i]].name);
}

static void expect_op(const plim_graph *g, int32_t o, const char *expected) {
  char line[256];
  const plim_op *op = &g->op[o];
  (void)snprintf(line, sizeof line, "%s:", plim_op_kind_name(op->kind));
  append_names(g, op->in, op->n_in, line, sizeof line);
  append(line, sizeof line, "->");
  append_names(g, op->out, op->n_out, line, sizeof line);
  append_names(g, op->upd, op->n_upd, line, sizeof line);
  cr_assert_str_eq(line, expected, "op %d '%s'", o, op->name);
}

static const char *const train_ops[] = {
    "image: image -> image.f32",
    "linear: a b.w b.bias -> b",
    "relu: b -> r r.mask",
    "add: r b -> s",
    "linear: s c.w c.bias -> c",
    "softmax_xent: c label -> loss hits loss.prob",
    "softmax_xent_bwd: loss.prob label -> loss.dx",
    "bias_bwd: loss.dx -> c.bias.grad",
    "sgd: c.bias.grad hyper -> c.bias c.bias.velocity",
    "linear_bwd_weights: loss.dx s -> c.w.grad",
    "linear_bwd_data: loss.dx c.w -> c.dx",
    "sgd: c.w.grad hyper -> c.w c.w.velocity",
    "relu_bwd: r.mask c.dx -> r.dx",
    "add: c.dx r.dx -> b.grad",
    "bias_bwd: b.grad -> b.bias.grad",
    "sgd: b.bias.grad hyper -> b.bias b.bias.velocity",
    "linear_bwd_weights: b.grad a -> b.w.grad",
    "sgd: b.w.grad hyper -> b.w b.w.velocity",
};

static plim_net *layered(plim_precision precision) {
  plim_net *net = begin_net(precision);
  plim_tensor x = plim_net_flatten(net, "a", plim_net_image(net));
  x = linear(net, "b", x, PIXELS, WIDTH);
  const plim_tensor both[] = {plim_net_op(net, "r", PLIM_OP_RELU, NULL, 1, &x, 0, NULL), x};
  x = plim_net_op(net, "s", PLIM_OP_ADD, NULL, 2, both, 0, NULL);
  plim_net_softmax_xent(net, linear(net, "c", x, WIDTH, CLASSES));
  return net;
}

Test(op_layers, rows_give_the_ops_of_a_training_step) {
  ctx = plim_test_context();
  plim_net *net = layered(PLIM_PRECISION_FP32);
  plim_graph *train = NULL, *eval = NULL;
  well(plim_net_train_graph(net, &train));
  well(plim_net_eval_graph(net, &eval));
  const int32_t n = (int32_t)(sizeof train_ops / sizeof *train_ops);
  for (int32_t o = 0; o < n && o < train->n_ops; o++) expect_op(train, o, train_ops[o]);
  cr_assert_eq(train->n_ops, n, "%d ops; the last is %s", train->n_ops, train->op[train->n_ops - 1].name);
  expect_op(eval, 2, "relu: b -> r");
  expect_op(eval, 3, "add: r b -> s");
  plim_graph_free(eval);
  plim_graph_free(train);
  plim_net_free(net);
  plim_test_context_end(ctx);
}

Test(op_layers, parameters_of_the_operands_own_type_are_cast_in_bf16) {
  ctx = plim_test_context();
  plim_net *net = layered(PLIM_PRECISION_BF16);
  plim_graph *train = NULL;
  well(plim_net_train_graph(net, &train));
  expect_op(train, 1, "cast: b.w -> b.w.bf16");
  expect_op(train, 2, "linear: a b.w.bf16 b.bias -> b");
  plim_graph_free(train);
  plim_net_free(net);
  plim_test_context_end(ctx);
}

/* Three tensors, of which one is no parameter's: each gets its part of the gradient. */
static const char *const concat_ops[] = {
    "concat: a b c -> y",
    "linear: y d.w d.bias -> d",
    "split: d.dx -> y.dx y.dx2 y.dx3",
    "linear_bwd_weights: y.dx3 b -> c.w.grad",
    "add: y.dx2 c.dx -> b.grad",
};

Test(op_layers, an_operand_of_many_tensors_hands_a_gradient_to_each) {
  ctx = plim_test_context();
  plim_net *net = begin_net(PLIM_PRECISION_FP32);
  const plim_tensor a = plim_net_flatten(net, "a", plim_net_image(net)), b = linear(net, "b", a, PIXELS, WIDTH);
  const plim_tensor all[] = {a, b, linear(net, "c", b, WIDTH, WIDTH)};
  plim_graph *train = NULL;
  const plim_tensor y = plim_net_op(net, "y", PLIM_OP_CONCAT, NULL, 3, all, 0, NULL);
  plim_net_softmax_xent(net, linear(net, "d", y, PIXELS + 2 * WIDTH, CLASSES));
  well(plim_net_train_graph(net, &train));
  int32_t next = 0;
  for (int32_t o = 0; o < train->n_ops && next < 5; o++) {
    if (strncmp(plim_op_kind_name(train->op[o].kind), concat_ops[next], strcspn(concat_ops[next], ":")) != 0) continue;
    char line[256] = "";
    (void)snprintf(line, sizeof line, "%s:", plim_op_kind_name(train->op[o].kind));
    append_names(train, train->op[o].in, train->op[o].n_in, line, sizeof line);
    append(line, sizeof line, "->");
    append_names(train, train->op[o].out, train->op[o].n_out, line, sizeof line);
    next += strcmp(line, concat_ops[next]) == 0;
  }
  cr_assert_eq(next, 5, "there is no op \"%s\"", concat_ops[next < 5 ? next : 0]);
  plim_graph_free(train);
  plim_net_free(net);
  plim_test_context_end(ctx);
}

static void expect_refused(plim_net *net, const char *sentence) {
  plim_graph *graph = NULL;
  cr_assert_eq(plim_net_train_graph(net, &graph), PLIM_EUSAGE);
  cr_assert(strstr(plim_context_error(ctx), sentence), "%s", plim_context_error(ctx));
  plim_net_free(net);
}

Test(op_layers, layers_that_do_not_follow_their_row_are_refused) {
  ctx = plim_test_context();
  plim_net *net = begin_net(PLIM_PRECISION_FP32);
  (void)linear(net, "b", plim_net_flatten(net, "a", plim_net_image(net)), PIXELS + 1, WIDTH);
  expect_refused(net, "layer 'b': w of a linear has the sizes [6 17]");
  net = begin_net(PLIM_PRECISION_FP32);
  plim_tensor x = plim_net_image(net);
  (void)plim_net_op(net, "p", PLIM_OP_MAX_POOL, NULL, 1, &x, 0, NULL);
  expect_refused(net, "the sizes of output 0 of a max_pool do not follow");
  net = begin_net(PLIM_PRECISION_FP32);
  x = plim_net_image(net);
  (void)plim_net_op(net, "d", PLIM_OP_DROPOUT, NULL, 1, &x, 0, NULL);
  expect_refused(net, "only ops of class pure");
  net = begin_net(PLIM_PRECISION_FP32);
  x = linear(net, "b", plim_net_flatten(net, "a", plim_net_image(net)), PIXELS, CLASSES);
  const plim_shape stats[] = {sizes(2, 2, CLASSES), sizes(2, 2, CLASSES)};
  plim_net_softmax_xent(net, plim_net_op(net, "n", PLIM_OP_BN_APPLY, NULL, 1, &x, 2, stats));
  expect_refused(net, "the row of bn_apply has no gradient of 'stats'");
  plim_test_context_end(ctx);
}

/* ---- a program's own kind, trained ---- */

/* y = x + s x x / 2, s by column; and one op that makes both gradients */
static plim_op_row bend_back_row = {
    .struct_bytes = sizeof bend_back_row,
    .name = "test.bend_back",
    .version = PLIM_OWN_KIND_VERSION,
    .in = {{.name = "dy", .type = 'f', .shape = "N C"},
           {.name = "x", .type = 'f', .shape = "N C"},
           {.name = "s", .type = 'f', .shape = "C"}},
    .out = {{.name = "dx", .type = 'f', .shape = "N C"}, {.name = "ds", .type = 'f', .shape = "C"}},
    .attrs = "scale",
    .doc = "dx = dy (1 + s x); ds = sums of dy x x / 2",
};
static plim_op_row bend_row = {
    .struct_bytes = sizeof bend_row,
    .name = "test.bend",
    .version = PLIM_OWN_KIND_VERSION,
    .in = {{.name = "x", .type = 'f', .shape = "N C"},
           {.name = "s", .type = 'f', .shape = "C", .contents = PLIM_CONTENTS_ONES}},
    .out = {{.name = "y", .type = 'f', .shape = "N C"}},
    .attrs = "scale",
    .gradient = {{"x s", PLIM_OP_CUSTOM, "dy x s"}}, /* its kind is set when it is known */
    .doc = "y = x + s x x / 2",
};

static int bend(void *state, const plim_kernel_args *args, void *queue) {
  const float *x = args->in[0], *s = args->in[1];
  float *y = args->out[0];
  (void)state, (void)queue;
  for (int i = 0; i < BATCH * WIDTH; i++) y[i] = x[i] + s[i % WIDTH] * x[i] * x[i] / 2;
  return PLIM_KERNEL_OK;
}

static int bend_back(void *state, const plim_kernel_args *args, void *queue) {
  const float *dy = args->in[0], *x = args->in[1], *s = args->in[2];
  float *dx = args->out[0], *ds = args->out[1];
  (void)state, (void)queue;
  memset(ds, 0, WIDTH * sizeof *ds);
  for (int i = 0; i < BATCH * WIDTH; i++) {
    dx[i] = dy[i] * (1 + s[i % WIDTH] * x[i]);
    ds[i % WIDTH] += dy[i] * x[i] * x[i] / 2;
  }
  return PLIM_KERNEL_OK;
}

static plim_op_kind add_kinds(plim_device *device) {
  const plim_own_kernel forward = {.struct_bytes = sizeof forward, .name = "plain", .run = bend};
  const plim_own_kernel backward = {.struct_bytes = sizeof backward, .name = "plain", .run = bend_back};
  plim_op_kind kind;
  cr_assert_null(plim_op_kind_add(&bend_back_row, &bend_row.gradient[0].kind));
  cr_assert_null(plim_op_kind_add(&bend_row, &kind));
  well(plim_device_add_kernel(device, kind, &forward));
  well(plim_device_add_kernel(device, bend_row.gradient[0].kind, &backward));
  return kind;
}

static plim_graph *bent_graph(plim_op_kind kind) {
  plim_net *net = begin_net(PLIM_PRECISION_FP32);
  const plim_shape s = sizes(1, WIDTH, 1);
  const plim_attrs attrs = {.scale = {1}};
  plim_graph *graph;
  plim_tensor x = linear(net, "b", plim_net_flatten(net, "a", plim_net_image(net)), PIXELS, WIDTH);
  x = plim_net_op(net, "bend", kind, &attrs, 1, &x, 1, &s);
  plim_net_softmax_xent(net, linear(net, "c", x, WIDTH, CLASSES));
  well(plim_net_train_graph(net, &graph));
  plim_net_free(net);
  cr_assert_eq(graph->op[plim_graph_find_op(graph, "bend.bwd_x")].attrs.scale[0], 1, "attributes go to the gradient");
  return graph;
}

typedef struct rig {
  plim_graph *graph;
  plim_exec *exec;
} rig;

static void set_values(const rig *r, const char *name, const void *from, int64_t bytes) {
  well(plim_exec_write(r->exec, 0, plim_graph_find_value(r->graph, name), from, bytes));
}

static double step(const rig *r, float rate) {
  uint8_t image[BATCH * PIXELS];
  int32_t label[BATCH];
  const float hyper[4] = {rate, 0, 0, 0};
  float loss;
  for (int i = 0; i < BATCH * PIXELS; i++) image[i] = (uint8_t)(37 * i % 256);
  for (int i = 0; i < BATCH; i++) label[i] = i % CLASSES;
  set_values(r, "image", image, sizeof image);
  set_values(r, "label", label, sizeof label);
  set_values(r, "hyper", hyper, sizeof hyper);
  well(plim_exec_step(r->exec, 0, NULL, NULL));
  well(plim_exec_read(r->exec, 0, plim_graph_find_value(r->graph, "loss"), &loss, sizeof loss));
  return loss;
}

/* Every parameter and state as it starts, and then one step at that rate; the loss. */
static double step_from_start(const rig *r, const char *changed, int element, float by, float rate) {
  static float values[4096];
  for (int32_t v = 0; v < r->graph->n_values; v++) {
    const plim_value *value = &r->graph->value[v];
    const plim_role role = r->graph->storage[value->storage].role;
    if (role != PLIM_ROLE_PARAM && role != PLIM_ROLE_STATE) continue;
    well(plim_net_init(r->graph, v, 7, values));
    if (strcmp(value->name, changed) == 0) values[element] += by;
    well(plim_exec_write(r->exec, 0, v, values, value->bytes));
  }
  return step(r, rate);
}

/* A step at rate 1 without momentum moves the parameter by its gradient. */
static void check_gradient(const rig *r, const char *name, int element) {
  const float h = 0.02F;
  static float before[4096], after[4096];
  const int32_t v = plim_graph_find_value(r->graph, name);
  const double up = step_from_start(r, name, element, h, 0), down = step_from_start(r, name, element, -h, 0);
  well(plim_net_init(r->graph, v, 7, before));
  (void)step_from_start(r, "", 0, 0, 1);
  well(plim_exec_read(r->exec, 0, v, after, r->graph->value[v].bytes));
  const double expected = (up - down) / (2 * (double)h), got = (double)(before[element] - after[element]);
  cr_assert(fabs(got - expected) < 2e-3 * (1 + fabs(expected)), "%s[%d]: %g, not %g", name, element, got, expected);
  cr_assert(fabs(got) > 1e-5, "%s[%d] has no gradient to compare", name, element);
}

Test(op_layers, an_own_kind_is_trained_in_a_net_with_right_gradients) {
  plim_device_options one = plim_device_options_default();
  plim_device *device;
  plim_profile *profile;
  plim_plan *plan;
  rig r;
  one.threads = 1;
  ctx = plim_test_context();
  well(plim_device_open(ctx, "cpu", &one, &device));
  r.graph = bent_graph(add_kinds(device));
  plim_plan_options planning = plim_plan_options_default();
  well(plim_profile_roofline(device, r.graph, &profile));
  well(plim_plan_keep_all(ctx, r.graph, profile, &planning, &plan));
  const plim_graph *g = r.graph;
  const plim_plan *p = plan;
  well(plim_exec_open(ctx, device, NULL, 1, &g, &p, &r.exec));
  for (int i = 0; i < WIDTH; i++) check_gradient(&r, "bend.s", i);
  for (int i = 0; i < WIDTH; i++) check_gradient(&r, "b.bias", i);
  check_gradient(&r, "c.w", 2);
  plim_exec_close(r.exec);
  plim_plan_free(plan);
  plim_profile_free(profile);
  plim_graph_free(r.graph);
  plim_device_close(device);
  plim_test_context_end(ctx);
}

/* ---- any number of tensors ---- */

enum { HUNDRED = 100, STEPS = 3 };

/* A chain of a hundred layers, all of which are joined. */
static plim_graph *joined_graph(void) {
  plim_net *net = begin_net(PLIM_PRECISION_FP32);
  plim_tensor all[HUNDRED + 1];
  plim_graph *graph = NULL;
  char name[16];
  all[0] = linear(net, "b", plim_net_flatten(net, "a", plim_net_image(net)), PIXELS, WIDTH);
  for (int i = 1; i <= HUNDRED; i++) {
    (void)snprintf(name, sizeof name, "g%d", i);
    const plim_shape square = sizes(2, WIDTH, WIDTH);
    const int weighs = i % 9 == 1;
    all[i] = plim_net_op(net, name, weighs ? PLIM_OP_LINEAR : PLIM_OP_SILU, NULL, 1, &all[i - 1], weighs, &square);
  }
  const plim_tensor y = plim_net_op(net, "y", PLIM_OP_CONCAT, NULL, HUNDRED, all + 1, 0, NULL);
  plim_net_softmax_xent(net, linear(net, "d", y, (int64_t)HUNDRED * WIDTH, CLASSES));
  well(plim_net_train_graph(net, &graph));
  plim_net_free(net);
  return graph;
}

/* Every byte of every parameter after some steps, whose bytes are returned. */
static int64_t train(const rig *r, unsigned char *to) {
  int64_t at = 0;
  (void)step_from_start(r, "", 0, 0, 0.1F);
  for (int i = 1; i < STEPS; i++) (void)step(r, 0.1F);
  for (int32_t v = 0; v < r->graph->n_values; v++) {
    const plim_value *value = &r->graph->value[v];
    if (r->graph->storage[value->storage].role != PLIM_ROLE_PARAM) continue;
    well(plim_exec_read(r->exec, 0, v, to + at, value->bytes));
    at += value->bytes;
  }
  return at;
}

Test(op_layers, a_hundred_tensors_are_joined_planned_within_a_budget_and_trained_to_the_same_bits) {
  static unsigned char of_all[65536], of_tight[65536];
  plim_device *device;
  plim_profile *profile;
  plim_plan *all, *tight;
  rig r = {.graph = NULL};
  ctx = plim_test_context();
  well(plim_device_open(ctx, "cpu", NULL, &device));
  r.graph = joined_graph();
  const plim_graph *g = r.graph;
  cr_assert_eq(g->op[plim_graph_find_op(g, "y")].n_in, HUNDRED);
  cr_assert_eq(g->op[plim_graph_find_op(g, "y.bwd_x")].n_out, HUNDRED);
  const plim_profiler_options profiling = {.struct_bytes = sizeof profiling, .cache_dir = "", .repeats = 1};
  well(plim_profile_measure(device, g, &profiling, &profile));
  plim_plan_options planning = plim_plan_options_default();
  planning.iterations = 200;
  planning.numerics = PLIM_NUMERICS_FASTEST;
  well(plim_plan_keep_all(ctx, g, profile, &planning, &all));
  plim_status status = PLIM_ENOFIT;
  for (int percent = 20; percent < 100 && status == PLIM_ENOFIT; percent += 5) {
    planning.budget_bytes = all->arena_bytes / 100 * percent;
    status = plim_plan_make(ctx, g, profile, &planning, &tight);
  }
  well(status);
  well(plim_plan_check(ctx, g, tight));
  cr_assert_gt(tight->n_commands, all->n_commands);
  const plim_plan *p = all;
  well(plim_exec_open(ctx, device, NULL, 1, &g, &p, &r.exec));
  for (int i = 0; i < WIDTH; i++) check_gradient(&r, "b.bias", i);
  check_gradient(&r, "g1.w", 7);
  check_gradient(&r, "d.w", 3 * WIDTH + 1); /* of the fourth tensor */
  const int64_t bytes = train(&r, of_all);
  plim_exec_close(r.exec);
  p = tight;
  well(plim_exec_open(ctx, device, NULL, 1, &g, &p, &r.exec));
  cr_assert_eq(train(&r, of_tight), bytes);
  cr_assert_arr_eq(of_tight, of_all, (size_t)bytes);
  plim_exec_close(r.exec);
  plim_plan_free(tight);
  plim_plan_free(all);
  plim_profile_free(profile);
  plim_graph_free(r.graph);
  plim_device_close(device);
  plim_test_context_end(ctx);
}

/* Operands whose names are those of other layers' parameters. */
static const plim_op_row named_row = {
    .struct_bytes = sizeof named_row,
    .name = "test.named",
    .version = PLIM_OWN_KIND_VERSION,
    .in = {{.name = "x", .type = 'f', .shape = "N C"},
           {.name = "scale", .type = 'f', .shape = "C"},
           {.name = "bias", .type = 'f', .shape = "C", .contents = PLIM_CONTENTS_WEIGHTS},
           {.name = "weight", .type = 'f', .shape = "C C", .contents = PLIM_CONTENTS_ONES}},
    .out = {{.name = "y", .type = 'f', .shape = "N C"}},
    .doc = "y = ((x + bias) * scale) weight",
};

/* How many elements of a parameter start as `number`. */
static int count_of(const plim_graph *graph, const char *name, float number) {
  float x[PIXELS * PIXELS];
  const int32_t v = plim_graph_find_value(graph, name);
  int n = 0;
  cr_assert_geq(v, 0, "no value '%s'", name);
  well(plim_net_init(graph, v, 7, x));
  for (int64_t i = 0; i < plim_shape_elements(&graph->value[v].shape); i++) n += x[i] == number;
  return n;
}

Test(op_layers, operands_of_an_own_kind_start_as_its_row_says_whatever_their_names) {
  ctx = plim_test_context();
  plim_op_kind kind;
  cr_assert_null(plim_op_kind_add(&named_row, &kind));
  plim_net *net = begin_net(PLIM_PRECISION_FP32);
  const plim_shape params[] = {sizes(1, PIXELS, 1), sizes(1, PIXELS, 1), sizes(2, PIXELS, PIXELS)};
  plim_tensor x = plim_net_flatten(net, "a", plim_net_image(net));
  plim_graph *graph = NULL;
  x = plim_net_op(net, "n", kind, NULL, 1, &x, 3, params);
  plim_net_softmax_xent(net, linear(net, "c", x, PIXELS, CLASSES));
  well(plim_net_eval_graph(net, &graph));
  cr_expect_eq(count_of(graph, "n.scale", 0), PIXELS);
  cr_expect_eq(count_of(graph, "n.bias", 0), 0);
  cr_expect_eq(count_of(graph, "n.weight", 1), PIXELS * PIXELS);
  cr_expect_eq(count_of(graph, "c.bias", 0), CLASSES);
  plim_graph_free(graph);
  plim_net_free(net);
  plim_test_context_end(ctx);
}

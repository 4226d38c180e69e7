/* The promise "the same training": at keep-all bytes K, at the smallest feasible budget s, and at 0.8, 0.6, 0.4 and 0.2
 * of the way from s to K, every parameter, running statistic and momentum is bit for bit that of the reference
 * trainer (on another device than the CPU: of keep-all there), for a network of every kind; at K and by "sqrt" too.
 * Costs are modelled, so planning does not depend on what the machine does. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/exec/exec.h"
#include "runtime/net/net.h"
#include "runtime/profile/profiler.h"
#include "tests/support/device_under_test.h"
#include "tests/support/reference_trainer.h"
#include "tests/support/small_graph.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { CLASSES = 10, HIDDEN = 8 };

typedef struct model_case {
  const char *model;
  plim_layout layout;
  int32_t batch, channels, size, steps; /* activations weigh enough against parameters: s < 0.8 K */
  plim_op_kind repeated;                /* some plan runs this kind again */
  plim_precision math;
} model_case;

/* The built-in mlp has two hidden layers, so only the image as floats is worth making again: it has to be as large as
 * a hidden layer; dropout runs again by the rule of sqrt alone. With more layers whole layers do, dropout and all. */
enum { RESNET20, RESNET20_BLOCKED, RESNET20_BF16, RESNET18, MLP, DEEP_MLP, DEEP_MLP_BF16 };
static const model_case cases[] = {
    [RESNET20] = {"resnet20", PLIM_NHWC, 64, 3, 8, 3, PLIM_OP_BN_APPLY, PLIM_PRECISION_FP32},
    [RESNET20_BLOCKED] = {"resnet20", PLIM_NCHW16C, 64, 3, 8, 3, PLIM_OP_BN_APPLY, PLIM_PRECISION_FP32},
    [RESNET20_BF16] = {"resnet20", PLIM_NHWC, 96, 3, 8, 2, PLIM_OP_CAST, PLIM_PRECISION_BF16},
    [RESNET18] = {"resnet18", PLIM_NHWC, 144, 3, 8, 2, PLIM_OP_BN_APPLY, PLIM_PRECISION_FP32},
    [MLP] = {"mlp", PLIM_NHWC, 8192, 3, 13, 2, PLIM_OP_DROPOUT, PLIM_PRECISION_FP32},
    [DEEP_MLP] = {"deep mlp", PLIM_NHWC, 512, 1, 8, 3, PLIM_OP_DROPOUT, PLIM_PRECISION_FP32},
    [DEEP_MLP_BF16] = {"deep mlp", PLIM_NHWC, 1024, 1, 8, 2, PLIM_OP_CAST, PLIM_PRECISION_BF16},
};

/* What all runs of a model share. */
typedef struct bench {
  const model_case *model;
  uint64_t seed; /* of the weights, the inputs and dropout */
  plim_context *ctx;
  plim_device *device;
  plim_graph *graph;
  plim_profile *profile;
  int kinds_repeated[PLIM_OP_KIND_COUNT]; /* by some plan */
} bench;

/* The layers of the built-in mlp, but more of them. */
static plim_status deep_mlp_make(plim_context *ctx, const plim_net_options *options, plim_net **out) {
  char name[3][32];
  plim_net *net = NULL;
  PLIM_TRY(plim_net_begin(ctx, "deep mlp", options, &net));
  plim_tensor x = plim_net_flatten(net, "flatten", plim_net_image(net));
  for (int i = 0; i < HIDDEN; i++) {
    (void)snprintf(name[0], sizeof name[0], "hidden%d", i);
    (void)snprintf(name[1], sizeof name[1], "relu%d", i);
    (void)snprintf(name[2], sizeof name[2], "dropout%d", i);
    x = plim_net_relu(net, name[1], plim_net_linear(net, name[0], x, 256));
    x = plim_net_dropout(net, name[2], x, 0.2f);
  }
  plim_net_softmax_xent(net, plim_net_linear(net, "fc", x, CLASSES));
  *out = net;
  return PLIM_OK;
}

static void bench_open(bench *b, const model_case *model) {
  plim_net_options options = plim_net_options_default();
  plim_net *net = NULL;
  *b = (bench){.model = model, .seed = test_seed(17), .ctx = plim_test_context()};
  options.layout = model->layout;
  options.precision = model->math;
  options.batch = model->batch;
  options.channels = model->channels;
  options.height = options.width = model->size;
  b->device = plim_test_device(b->ctx, 2);
  plim_status status = strcmp(model->model, "deep mlp") == 0 ? deep_mlp_make(b->ctx, &options, &net)
                                                             : plim_model_make(b->ctx, model->model, &options, &net);
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(b->ctx));
  cr_assert_eq(plim_net_train_graph(net, &b->graph), PLIM_OK);
  cr_assert_eq(plim_profile_roofline(b->device, b->graph, &b->profile), PLIM_OK, "%s", plim_context_error(b->ctx));
  plim_net_free(net);
}

static void bench_close(bench *b) {
  plim_profile_free(b->profile);
  plim_graph_free(b->graph);
  plim_device_close(b->device);
  plim_context_free(b->ctx);
}

/* Fill the inputs of a step: a function of seed and step. */
static void make_inputs(const bench *b, int64_t step, uint8_t *image, int32_t *label, float *hyper) {
  uint64_t state = test_mix(b->seed, (uint64_t)step);
  int64_t pixels = (int64_t)b->model->batch * b->model->channels * b->model->size * b->model->size;
  for (int64_t i = 0; i < pixels; i++) image[i] = (uint8_t)test_random(&state);
  for (int32_t i = 0; i < b->model->batch; i++) label[i] = (int32_t)test_random_between(&state, 0, CLASSES - 1);
  hyper[0] = 0.1f / (float)(step + 1);
  hyper[1] = 0.9f;
  hyper[2] = 5e-4f;
  hyper[3] = 0;
}

static int is_trained(const plim_graph *g, int32_t value) {
  plim_role role = g->storage[g->value[value].storage].role;
  return role == PLIM_ROLE_PARAM || role == PLIM_ROLE_STATE;
}

/* ---- what every run has to leave ---- */

/* Is a value compared: what training keeps, and what a step puts out? */
static int is_compared(const plim_graph *g, int32_t value) {
  return is_trained(g, value) || g->storage[g->value[value].storage].role == PLIM_ROLE_OUTPUT;
}

/* Bytes of the values that are compared, NULL elsewhere. */
typedef struct expectation {
  int32_t n;
  void **value; /* [n] by id */
} expectation;

static expectation expectation_make(const plim_graph *g) {
  expectation e = {g->n_values, calloc((size_t)g->n_values, sizeof(void *))};
  for (int32_t v = 0; v < e.n; v++) {
    if (is_compared(g, v)) e.value[v] = malloc((size_t)g->value[v].bytes);
  }
  return e;
}

static void expectation_free(expectation *e) {
  for (int32_t v = 0; v < e->n; v++) free(e->value[v]);
  free((void *)e->value);
}

static const char **keys_of(const bench *b, const plim_plan *plan) {
  const char **numerics_key = calloc((size_t)b->graph->n_ops, sizeof *numerics_key);
  for (int32_t i = 0; i < plan->n_variants; i++)
    numerics_key[plan->variant[i].op] = plan->variant[i].variant.numerics_key;
  return numerics_key;
}

/* The steps of the reference trainer. */
static void run_reference(const bench *b, const char *const *numerics_key, const expectation *e) {
  const plim_graph *g = b->graph;
  reference_trainer *t = NULL;
  plim_status status = reference_open(g, b->device->machine.threads, b->device->machine.isa, numerics_key, &t);
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(b->ctx));
  cr_assert_eq(reference_init(t, b->seed), PLIM_OK);
  for (int64_t step = 0; step < b->model->steps; step++) {
    make_inputs(b, step, reference_at(t, "image"), reference_at(t, "label"), reference_at(t, "hyper"));
    cr_assert_eq(reference_step(t, b->seed, step), PLIM_OK, "%s", plim_context_error(b->ctx));
  }
  for (int32_t v = 0; v < e->n; v++) {
    if (e->value[v]) memcpy(e->value[v], reference_value(t, v), (size_t)g->value[v].bytes);
  }
  reference_close(t);
}

/* ---- runs of plans ---- */

static void write_value(const bench *b, plim_exec *exec, const char *name, const void *from) {
  int32_t v = plim_graph_find_value(b->graph, name);
  plim_status status = plim_exec_write(exec, 0, v, from, b->graph->value[v].bytes);
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(b->ctx));
}

static void write_start(const bench *b, plim_exec *exec, void *scratch) {
  for (int32_t v = 0; v < b->graph->n_values; v++) {
    if (!is_trained(b->graph, v)) continue;
    cr_assert_eq(plim_net_init(b->graph, v, b->seed, scratch), PLIM_OK);
    cr_assert_eq(plim_exec_write(exec, 0, v, scratch, b->graph->value[v].bytes), PLIM_OK);
  }
}

/* The steps of the executor; `left` gets what they leave. */
static void run_exec(const bench *b, const plim_plan *plan, const expectation *left) {
  const plim_graph *graph = b->graph;
  plim_exec *exec = NULL;
  int64_t most = 1;
  for (int32_t v = 0; v < graph->n_values; v++) most = graph->value[v].bytes > most ? graph->value[v].bytes : most;
  void *scratch = malloc((size_t)most);
  uint8_t *image = malloc((size_t)most);
  int32_t *label = malloc((size_t)b->model->batch * sizeof *label);
  float hyper[4];
  plim_status status = plim_exec_open(b->ctx, b->device, NULL, 1, (const plim_graph *const *)&b->graph, &plan, &exec);
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(b->ctx));
  write_start(b, exec, scratch);
  for (int64_t step = 0; step < b->model->steps; step++) {
    make_inputs(b, step, image, label, hyper);
    write_value(b, exec, "image", image);
    write_value(b, exec, "label", label);
    write_value(b, exec, "hyper", hyper);
    plim_exec_set_step(exec, b->seed, step);
    cr_assert_eq(plim_exec_step(exec, 0, NULL, NULL), PLIM_OK, "%s", plim_context_error(b->ctx));
  }
  for (int32_t v = 0; v < left->n; v++) {
    if (!left->value[v]) continue;
    status = plim_exec_read(exec, 0, v, left->value[v], graph->value[v].bytes);
    cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(b->ctx));
  }
  plim_exec_close(exec);
  free(label);
  free(image);
  free(scratch);
}

/* The steps of a plan, compared with what is expected. */
static void run_plan(const bench *b, const plim_plan *plan, const expectation *expected) {
  expectation left = expectation_make(b->graph);
  int compared = 0;
  run_exec(b, plan, &left);
  for (int32_t v = 0; v < left.n; v++) {
    const plim_value *value = &b->graph->value[v];
    if (!left.value[v]) continue;
    cr_assert_eq(memcmp(left.value[v], expected->value[v], (size_t)value->bytes), 0,
                 "%s: '%s' differs after %d steps within %lld bytes", b->model->model, value->name, b->model->steps,
                 (long long)plan->budget_bytes);
    compared++;
  }
  cr_assert_gt(compared, 8);
  expectation_free(&left);
}

/* What every plan with the numerics keys of this one has to leave: what the reference trainer leaves on the CPU, and
 * what keep-all in program order leaves on another device. */
static expectation expect(const bench *b, const plim_plan *plan) {
  expectation e = expectation_make(b->graph);
  const char **numerics_key = keys_of(b, plan);
  plim_plan_options options = plim_plan_options_default();
  plim_plan *in_order = NULL;
  if (plim_test_on_cpu()) {
    run_reference(b, numerics_key, &e);
  } else {
    options.numerics = PLIM_NUMERICS_GIVEN;
    options.numerics_key = numerics_key;
    options.order = PLIM_ORDER_FIXED;
    cr_assert_eq(plim_plan_keep_all(b->ctx, b->graph, b->profile, &options, &in_order), PLIM_OK, "%s",
                 plim_context_error(b->ctx));
    run_exec(b, in_order, &e);
    plim_plan_free(in_order);
  }
  free((void *)numerics_key);
  return e;
}

/* ---- the budgets ---- */

static int count_repeats(bench *b, const plim_plan *plan) {
  int *runs = calloc((size_t)b->graph->n_ops, sizeof *runs);
  int repeats = 0;
  for (int32_t i = 0; i < plan->n_commands; i++) {
    int32_t op = plan->command[i].op;
    if (runs[op]++ == 0) continue;
    b->kinds_repeated[b->graph->op[op].kind] = 1;
    repeats++;
  }
  free(runs);
  return repeats;
}

static plim_plan_options plan_options(plim_numerics_choice numerics) {
  plim_plan_options options = plim_plan_options_default();
  options.numerics = numerics;
  options.iterations = 3000;
  return options;
}

/* Ways between the smallest budget and keep-all bytes; searching takes its time under a sanitizer. */
#ifdef PLIM_SANITIZED
static const double ways[] = {1.0, 0.4};
#else
static const double ways[] = {1.0, 0.8, 0.6, 0.4, 0.2};
#endif

static void check_plan(bench *b, plim_plan *plan, const expectation *expected, int repeats_expected) {
  int repeats = count_repeats(b, plan);
  /* where other libraries serve, their workspaces decide as well */
  cr_assert(!plim_test_on_cpu() || (repeats > 0) == repeats_expected, "%s within %lld bytes by %s: %d repeats",
            b->model->model, (long long)plan->budget_bytes, plan->planner, repeats);
  run_plan(b, plan, expected);
  plim_plan_free(plan);
}

/* This planner repeats by rule, whether it has to or not. */
static void check_sqrt(bench *b, plim_plan_options options, const expectation *expected) {
  plim_plan *plan = NULL;
  options.planner = "sqrt";
  options.budget_bytes = INT64_MAX;
  cr_assert_eq(plim_plan_make(b->ctx, b->graph, b->profile, &options, &plan), PLIM_OK, "%s",
               plim_context_error(b->ctx));
  check_plan(b, plan, expected, 1);
}

static void identical_at_every_budget(const model_case *model) {
  plim_plan_options options = plan_options(PLIM_NUMERICS_FASTEST);
  plim_plan_floor floor;
  plim_plan *plan = NULL;
  bench b;
  bench_open(&b, model);
  cr_assert_eq(plim_plan_keep_all(b.ctx, b.graph, b.profile, &options, &plan), PLIM_OK);
  int64_t keep_all = plan->arena_bytes;
  expectation expected = expect(&b, plan);
  plim_plan_free(plan);
  cr_assert_eq(plim_plan_smallest(b.ctx, b.graph, b.profile, &options, &floor, &plan), PLIM_OK);
  check_plan(&b, plan, &expected, 1);
  int64_t smallest = floor.smallest_bytes;
  cr_assert(!plim_test_on_cpu() || smallest < keep_all / 10 * 8,
            "%s: the smallest budget %lld leaves little below %lld", model->model, (long long)smallest,
            (long long)keep_all);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    options.budget_bytes = smallest + (int64_t)(ways[i] * (double)(keep_all - smallest));
    plim_status status = plim_plan_make(b.ctx, b.graph, b.profile, &options, &plan);
    cr_assert_eq(status, PLIM_OK, "%s at %g: %s", model->model, ways[i], plim_context_error(b.ctx));
    check_plan(&b, plan, &expected, ways[i] < 1.0);
  }
  check_sqrt(&b, options, &expected);
  cr_assert(!plim_test_on_cpu() || b.kinds_repeated[model->repeated], "%s: no plan repeats a %s", model->model,
            plim_op_kind_name(model->repeated));
  expectation_free(&expected);
  bench_close(&b);
}

Test(identity, of_resnet20_with_the_reference_at_every_budget) {
  identical_at_every_budget(&cases[RESNET20]);
}

/* Planning these, or running their products where the instrumented kernels are all there is, takes minutes in a
 * sanitizer build; what it would find there, ResNet-20 and the deep MLP in bf16 find. */
static void skip_when_sanitized(void) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
}

/* Copies of the weights in bf16 are recomputed where they are worth less than what else their bytes can hold. */
Test(identity, of_resnet20_in_bf16_with_the_reference_at_every_budget) {
  skip_when_sanitized();
  identical_at_every_budget(&cases[RESNET20_BF16]);
}

Test(identity, of_a_deep_mlp_in_bf16_with_the_reference_at_every_budget) {
  identical_at_every_budget(&cases[DEEP_MLP_BF16]);
}

Test(identity, of_resnet18_with_the_reference_at_every_budget) {
  skip_when_sanitized();
  identical_at_every_budget(&cases[RESNET18]);
}

Test(identity, of_an_mlp_with_dropout_with_the_reference_at_every_budget) {
  skip_when_sanitized();
  identical_at_every_budget(&cases[MLP]);
}

Test(identity, of_a_deep_mlp_with_dropout_with_the_reference_at_every_budget) {
  skip_when_sanitized();
  identical_at_every_budget(&cases[DEEP_MLP]);
}

static int count_other_keys(const plim_plan *a, const plim_plan *b) {
  int count = 0;
  for (int32_t i = 0, j = 0; i < a->n_variants && j < b->n_variants;) {
    const plim_plan_variant *x = &a->variant[i], *y = &b->variant[j];
    count += x->op == y->op && strcmp(x->variant.numerics_key, y->variant.numerics_key) != 0;
    i += x->op <= y->op;
    j += y->op <= x->op;
  }
  return count;
}

/* The workspaces that make other numerics keys worth their time are Winograd's: of oneDNN 2, on blocks of 16 channels,
 * which are for AVX-512. With oneDNN 3 keep-all's keys are the best at every cap. */
static int has_winograd(const plim_machine *machine) {
  return strcmp(machine->isa, "x86-64-v4") == 0 && strncmp(machine->library, "onednn 2.", 9) == 0;
}

/* Where the planner may choose numerics keys it takes others under a cap than keep-all; the reference follows its
 * choice. */
Test(identity, holds_under_the_keys_that_the_planner_chose_for_a_cap) {
  plim_plan_options options = plan_options(PLIM_NUMERICS_AUTO);
  plim_plan *keep_all = NULL, *plan = NULL;
  bench b;
  skip_when_sanitized();
  bench_open(&b, &cases[RESNET20_BLOCKED]);
  cr_assert_eq(plim_plan_keep_all(b.ctx, b.graph, b.profile, &options, &keep_all), PLIM_OK);
  options.budget_bytes = keep_all->arena_bytes / 10 * 6;
  cr_assert_eq(plim_plan_make(b.ctx, b.graph, b.profile, &options, &plan), PLIM_OK, "%s", plim_context_error(b.ctx));
  if (has_winograd(&b.device->machine)) cr_assert_gt(count_other_keys(keep_all, plan), 0);
  expectation expected = expect(&b, plan);
  run_plan(&b, plan, &expected);
  expectation_free(&expected);
  plim_plan_free(plan);
  plim_plan_free(keep_all);
  bench_close(&b);
}

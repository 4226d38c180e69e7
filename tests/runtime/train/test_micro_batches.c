/* A step of several micro-batches: its sums are one tree by index, its update is that of the whole batch but for
 * rounding, and a budget changes no bit of it. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/train/preparation.h"
#include "runtime/train/verification.h"
#include "tests/support/device_under_test.h"
#include "tests/support/test_context.h"

enum { BATCH = 12, CONTEXT = 8, SIDE = 8, STEPS = 3, EXPRESSION_BYTES = 512 };

static const char license[] = "text:" PLIM_SOURCE_DIR "/LICENSE";

/* What is trained: a net of few ops each. */
typedef struct setting {
  const char *model;
  plim_optimizer optimizer;
  int32_t clip, last; /* last: images of an epoch's last batch; 0: none */
  plim_precision math;
} setting;

typedef struct rig {
  plim_context *ctx;
  plim_device *device;
  plim_dataset *dataset;
  const char *model;
  plim_program_source source;
  plim_program *program, *unlimited;
  plim_preparation p;
  plim_trainer_options training;
  plim_trainer *trainer;
} rig;

static void ok(const rig *r, plim_status status) {
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(r->ctx));
}

static plim_status make_net(void *user, const plim_net_options *net, plim_net **out) {
  const rig *r = user;
  return plim_model_make(r->ctx, r->model, net, out);
}

static plim_net_options net_of(const setting *s, int32_t accumulate) {
  plim_net_options net = plim_net_options_default();
  net.height = net.width = SIDE;
  if (strcmp(s->model, "gpt") == 0) net.context = CONTEXT, net.classes = 256;
  net.batch = BATCH;
  net.layers = 1;
  net.units = 12;
  net.heads = 2;
  net.optimizer = s->optimizer;
  net.clip = s->clip;
  net.precision = s->math;
  net.accumulate = accumulate;
  return net;
}

static void rig_open(rig *r, const setting *s, int32_t accumulate) {
  plim_dataset_options data = plim_dataset_options_default();
  *r = (rig){.ctx = plim_test_context(), .source = plim_program_source_default(), .model = s->model};
  r->device = plim_test_device(r->ctx, 1);
  r->source.net = net_of(s, accumulate);
  r->source.make = make_net;
  r->source.user = r;
  data.context = CONTEXT;
  data.height = data.width = SIDE;
  data.train_count = 2 * BATCH + s->last;
  data.test_count = BATCH + 1; /* the last evaluation batch is mostly empty */
  ok(r, plim_dataset_load(r->ctx, r->source.net.context > 0 ? license : "synthetic", &data, &r->dataset));
  ok(r, plim_program_make(r->device, &r->source, &r->program));
  if (s->last > 0) ok(r, plim_program_make_last(r->program, r->device, &r->source, s->last));
  r->training = plim_trainer_options_default();
  r->training.schedule = (plim_rate_schedule){.rate = 1e-2f,
                                              .momentum = 0.9f,
                                              .weight_decay = 0.1f,
                                              .total_steps = 100,
                                              .beta2 = 0.95f,
                                              .epsilon = 1e-8f,
                                              .norm_max = s->clip ? 0.5f : 0};
}

static void plan_within(rig *r, int percent) {
  plim_preparation_options options = plim_preparation_options_default();
  ok(r, plim_preparation_begin(r->device, r->program, &r->p));
  options.planning.iterations = 500;
  options.planning.budget_bytes = r->p.keep_all->arena_bytes / 100 * percent;
  ok(r, plim_preparation_run(&r->p, &options));
  ok(r, plim_trainer_open(r->device, r->dataset, r->program, &r->training, &r->trainer));
}

static void rig_close(rig *r) {
  plim_trainer_close(r->trainer);
  plim_preparation_end(&r->p);
  plim_program_free(r->unlimited);
  plim_program_free(r->program);
  plim_dataset_free(r->dataset);
  plim_device_close(r->device);
  plim_test_context_end(r->ctx);
}

/* ---- the tree ---- */

static void append(char *to, const char *text) {
  const size_t at = strlen(to);
  (void)snprintf(to + at, EXPRESSION_BYTES - at, "%s", text);
}

/* Of micro-batches first to first + n - 1: a power of two of them on the left, the rest on the right. */
static void expected_tree(char *to, int first, int n) {
  char number[16];
  int left = 1;
  if (n == 1) {
    (void)snprintf(number, sizeof number, "%d", first);
    append(to, number);
    return;
  }
  while (2 * left < n) left *= 2;
  append(to, "(");
  expected_tree(to, first, left);
  append(to, " ");
  expected_tree(to, first + left, n - left);
  append(to, ")");
}

static const plim_op *producer_of(const plim_graph *g, int32_t value) {
  return &g->op[g->storage[g->value[value].storage].producer];
}

/* In the graph, from the root on; only the root may divide. */
static void actual_tree(const plim_graph *g, int32_t value, int64_t count, char *to) {
  const plim_op *op = producer_of(g, value);
  const char *number = strrchr(g->value[value].name, '@');
  const int is_sum = op->kind == PLIM_OP_ACCUMULATE || op->kind == PLIM_OP_MEAN_LOSS;
  if (!is_sum) {
    cr_assert_not_null(number, "%s", g->value[value].name);
    append(to, number + 1);
    return;
  }
  if (op->kind == PLIM_OP_ACCUMULATE) cr_assert_eq(op->attrs.count, count, "%s", op->name);
  append(to, "(");
  actual_tree(g, op->in[0], 0, to);
  append(to, " ");
  actual_tree(g, op->in[op->kind == PLIM_OP_MEAN_LOSS ? 2 : 1], 0, to);
  append(to, ")");
}

static void expect_tree(const plim_graph *g, const char *root, int n) {
  char want[EXPRESSION_BYTES] = "", got[EXPRESSION_BYTES] = "";
  const int32_t value = plim_graph_find_value(g, root);
  cr_assert_geq(value, 0, "%s", root);
  expected_tree(want, 0, n);
  actual_tree(g, value, n, got);
  cr_assert_str_eq(got, want);
}

Test(accumulate, gradients_and_losses_are_summed_by_one_tree_whatever_the_number_of_micro_batches) {
  const setting s = {.model = "tinyres"};
  plim_context *ctx = plim_test_context();
  for (int n = 2; n <= 9; n++) {
    plim_net_options options = net_of(&s, n);
    plim_graph *train = NULL, *evaluation = NULL;
    plim_net *net = NULL;
    options.batch = 4 * n;
    cr_assert_eq(plim_model_make(ctx, s.model, &options, &net), PLIM_OK);
    cr_assert_eq(plim_net_train_graph(net, &train), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_eq(plim_net_eval_graph(net, &evaluation), PLIM_OK, "%s", plim_context_error(ctx));
    expect_tree(train, "stem.conv.weight.grad", n);
    expect_tree(train, "stem.bn.affine.grad", n);
    expect_tree(train, "loss", n);
    expect_tree(evaluation, "loss", n);
    cr_assert_eq(train->batch, 4 * n);
    plim_graph_free(train);
    plim_graph_free(evaluation);
    plim_net_free(net);
  }
  plim_test_context_end(ctx);
}

/* ---- the same training ---- */

typedef struct losses {
  int n;
  float loss[STEPS];
} losses;

static void on_step(void *user, const plim_step_report *report) {
  losses *l = user;
  l->loss[l->n++] = report->loss;
}

static void train(const setting *s, int32_t accumulate, losses *l, plim_evaluation *test) {
  rig r;
  rig_open(&r, s, accumulate);
  plan_within(&r, 100);
  l->n = 0;
  ok(&r, plim_trainer_run(r.trainer, STEPS, on_step, l));
  ok(&r, plim_trainer_evaluate(r.trainer, test));
  rig_close(&r);
}

/* The first loss of all is by the same weights; the later ones have seen updates by the same mean. */
Test(accumulate, the_losses_are_those_of_the_whole_batch_but_for_rounding) {
  static const setting settings[] = {{.model = "gpt"}, {.model = "gpt", .optimizer = PLIM_OPTIMIZER_ADAMW, .clip = 1}};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    losses whole, parts;
    plim_evaluation test, test_of_parts;
    train(&settings[i], 1, &whole, &test);
    for (int j = 0; j < 2; j++) {
      static const int32_t numbers[] = {3, BATCH};
      const int32_t n = numbers[j];
      train(&settings[i], n, &parts, &test_of_parts);
      for (int k = 0; k < STEPS; k++) {
        const double a = (double)whole.loss[k], b = (double)parts.loss[k];
        cr_assert(fabs(a - b) < 2e-5 * a, "setting %zu, %d micro-batches, step %d: %.8g, not %.8g", i, n, k, b, a);
      }
      cr_assert_eq(test.counted, test_of_parts.counted);
      cr_assert_lt(fabs(test.loss - test_of_parts.loss), 2e-5 * test.loss);
    }
  }
}

Test(accumulate, a_step_of_micro_batches_takes_fewer_bytes) {
  const setting s = {.model = "tinyres"};
  int64_t bytes[2];
  for (int i = 0; i < 2; i++) {
    plim_context *ctx = plim_test_context();
    plim_net_options options = net_of(&s, i ? 4 : 1);
    plim_net *net = NULL;
    plim_program *program = NULL;
    plim_plan *plan = NULL;
    plim_device *device = plim_test_device(ctx, 1);
    options.batch = 64;
    options.height = options.width = 16;
    cr_assert_eq(plim_model_make(ctx, s.model, &options, &net), PLIM_OK);
    cr_assert_eq(plim_program_begin(device, net, NULL, &program), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_eq(plim_program_keep_all(program, &plan), PLIM_OK);
    bytes[i] = plan->arena_bytes;
    plim_plan_free(plan);
    plim_program_free(program);
    plim_net_free(net);
    plim_device_close(device);
    plim_test_context_end(ctx);
  }
  cr_assert_lt(bytes[1], bytes[0] / 2, "%lld bytes, %lld for the whole batch", (long long)bytes[1],
               (long long)bytes[0]);
}

/* ---- a budget ---- */

Test(accumulate, a_budget_changes_no_bit) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  static const setting settings[] = {
      {.model = "tinyres", .last = 9},
      {.model = "mlp", .optimizer = PLIM_OPTIMIZER_ADAM, .clip = 1}, /* has dropout */
      {.model = "gpt", .optimizer = PLIM_OPTIMIZER_MOMENTUM, .clip = 1},
      {.model = "gpt", .optimizer = PLIM_OPTIMIZER_ADAMW, .clip = 1, .math = PLIM_PRECISION_BF16}};
  static const int percent[] = {96, 97, 90, 90};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    rig r;
    plim_state_difference difference;
    rig_open(&r, &settings[i], 3);
    plan_within(&r, percent[i]);
    ok(&r, plim_verify_make_unlimited(r.program, r.device, &r.source, &r.unlimited));
    ok(&r, plim_verify(r.trainer, r.unlimited, STEPS, NULL, NULL, &difference));
    cr_assert_eq(difference.different, 0, "%s: %s differs", settings[i].model, difference.name);
    if (i == 0) cr_assert_gt(r.program->plan[0]->n_commands, r.program->graph[0]->n_ops);
    cr_assert_gt(difference.values, 0);
    rig_close(&r);
  }
}

/* ---- numbers that do not suit ---- */

static void expect_refused(int32_t batch, int32_t accumulate, const char *words) {
  plim_context *ctx = plim_test_context();
  plim_net_options options = plim_net_options_default();
  plim_net *net = NULL;
  options.batch = batch;
  options.accumulate = accumulate;
  cr_assert_eq(plim_model_make(ctx, "resnet20", &options, &net), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(ctx), words), "%s", plim_context_error(ctx));
  plim_test_context_end(ctx);
}

Test(accumulate, refuses_numbers_of_micro_batches_that_do_not_suit) {
  expect_refused(8, 0, "a step of 0 micro-batches; 1 to 1024 are allowed");
  expect_refused(8, -1, "a step of -1 micro-batches");
  expect_refused(4096, 2048, "a step of 2048 micro-batches");
  expect_refused(8, 9, "a batch of 8 cannot be split into 9 micro-batches; at most 8 are allowed");
  expect_refused(12, 5, "a batch of 12 cannot be split into 5 equal micro-batches; 4 or 6 can be");
}

/* A last batch of 9 has micro-batches of 3, where those of the whole batch have 4 images. */
Test(accumulate, a_last_batch_has_the_fewest_equal_micro_batches_that_are_no_larger) {
  const setting s = {.model = "tinyres", .last = 9};
  rig r;
  rig_open(&r, &s, 3);
  const plim_graph *last = r.program->graph[PLIM_PROGRAM_LAST];
  cr_assert_eq(last->batch, 9);
  cr_assert_eq(last->value[plim_graph_find_value(last, "image@2")].shape.dim[0], 3);
  cr_assert_lt(plim_graph_find_value(last, "image@3"), 0);
  rig_close(&r);
}

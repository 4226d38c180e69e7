/* The model gpt over a text: its graph, its first loss, that it learns, and that a budget changes no bit of it. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/train/checkpoint.h"
#include "runtime/train/preparation.h"
#include "runtime/train/verification.h"
#include "tests/support/device_under_test.h"
#include "tests/support/folder.h"
#include "tests/support/test_context.h"

enum { BATCH = 4, CONTEXT = 16, STEPS = 30, SENTENCES = 40 };

typedef struct rig {
  plim_context *ctx;
  plim_device *device;
  plim_dataset *dataset;
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
  return plim_model_make(user, "gpt", net, out);
}

static void write_text(char *name, size_t bytes) {
  char path[4096];
  (void)snprintf(path, sizeof path, "%s/text", plim_test_folder());
  (void)snprintf(name, bytes, "text:%s", path);
  FILE *file = fopen(path, "wb");
  cr_assert_not_null(file);
  for (int i = 0; i < SENTENCES; i++) cr_assert_gt(fprintf(file, "The quick brown fox %d jumps over it.\n", i % 7), 0);
  cr_assert_eq(fclose(file), 0);
}

static rig rig_of_heads(plim_precision precision, int clip, int heads) {
  rig r = {.ctx = plim_test_context(), .source = plim_program_source_default()};
  char name[4112];
  plim_dataset_options data = plim_dataset_options_default();
  plim_net_options *net = &r.source.net;
  r.device = plim_test_device(r.ctx, 1);
  write_text(name, sizeof name);
  data.context = CONTEXT;
  ok(&r, plim_dataset_load(r.ctx, name, &data, &r.dataset));
  ok(&r, plim_preparation_net_options(r.ctx, "gpt", name, NULL, net));
  net->batch = BATCH;
  net->context = CONTEXT;
  net->layers = 2;
  net->units = 24;
  net->heads = heads;
  net->precision = precision;
  net->optimizer = PLIM_OPTIMIZER_ADAMW;
  net->clip = clip;
  r.source.make = make_net;
  r.source.user = r.ctx;
  ok(&r, plim_program_make(r.device, &r.source, &r.program));
  r.training = plim_trainer_options_default();
  r.training.schedule = (plim_rate_schedule){.rate = 1e-2f,
                                             .momentum = 0.9f,
                                             .weight_decay = 0.1f,
                                             .warmup_steps = 5,
                                             .total_steps = STEPS,
                                             .beta2 = 0.95f,
                                             .epsilon = 1e-8f,
                                             .norm_max = clip ? 1.0f : 0};
  r.training.augment = 1;
  return r;
}

static rig rig_open(plim_precision precision, int clip) {
  return rig_of_heads(precision, clip, 3);
}

static void plan_within(rig *r, int percent) {
  plim_preparation_options options = plim_preparation_options_default();
  ok(r, plim_preparation_begin(r->device, r->program, &r->p));
  options.planning.iterations = 2000;
  options.planning.budget_bytes = r->p.keep_all->arena_bytes / 100 * percent;
  ok(r, plim_preparation_run(&r->p, &options));
}

static void rig_close(rig *r) {
  plim_trainer_close(r->trainer);
  plim_preparation_end(&r->p);
  plim_program_free(r->unlimited);
  plim_program_free(r->program);
  plim_dataset_free(r->dataset);
  plim_device_close(r->device);
  plim_test_folder_remove();
  plim_test_context_end(r->ctx);
}

typedef struct losses {
  int64_t n;
  float first, last;
} losses;

static void on_step(void *user, const plim_step_report *report) {
  losses *l = user;
  if (l->n++ == 0) l->first = report->loss;
  l->last = report->loss;
  cr_assert_eq(report->counted, BATCH * CONTEXT);
}

static void expect_learns(plim_precision precision, int clip) {
  rig r = rig_open(precision, clip);
  losses l = {0};
  plim_evaluation test;
  plan_within(&r, 75);
  ok(&r, plim_trainer_open(r.device, r.dataset, r.program, &r.training, &r.trainer));
  ok(&r, plim_trainer_run(r.trainer, STEPS, on_step, &l));
  ok(&r, plim_trainer_evaluate(r.trainer, &test));
  cr_assert_lt(fabs((double)l.first - log(256)), 0.1, "the first loss is %g", (double)l.first);
  cr_assert_lt(l.last, 3.0f, "the last loss is %g", (double)l.last);
  cr_assert_lt(test.loss, 3.2, "the loss of the test is %g", test.loss);
  cr_assert_eq(test.counted, r.dataset->test.n_tokens - 1);
  rig_close(&r);
}

Test(gpt, learns_a_text_from_even_odds_on) {
  expect_learns(PLIM_PRECISION_FP32, 0);
}

Test(gpt, learns_in_bf16_with_clipped_gradients) {
  expect_learns(PLIM_PRECISION_BF16, 1);
}

Test(gpt, a_budget_changes_no_bit) {
  for (int clip = 0; clip < 2; clip++) {
    rig r = rig_open(clip ? PLIM_PRECISION_BF16 : PLIM_PRECISION_FP32, clip);
    plim_state_difference difference;
    plan_within(&r, 75);
    ok(&r, plim_verify_make_unlimited(r.program, r.device, &r.source, &r.unlimited));
    cr_assert_gt(r.program->plan[PLIM_PROGRAM_TRAIN]->n_commands, r.program->graph[PLIM_PROGRAM_TRAIN]->n_ops);
    ok(&r, plim_trainer_open(r.device, r.dataset, r.program, &r.training, &r.trainer));
    ok(&r, plim_verify(r.trainer, r.unlimited, 4, NULL, NULL, &difference));
    cr_assert_eq(difference.different, 0, "%s differs", difference.name);
    cr_assert_gt(difference.values, 0);
    rig_close(&r);
  }
}

/* No parameter has another shape then. */
Test(gpt, a_checkpoint_of_other_heads_is_refused) {
  char path[4096];
  rig r = rig_of_heads(PLIM_PRECISION_FP32, 0, 3);
  plan_within(&r, 100);
  ok(&r, plim_trainer_open(r.device, r.dataset, r.program, &r.training, &r.trainer));
  (void)snprintf(path, sizeof path, "/tmp/plim-heads-%ld.ckpt", (long)getpid());
  ok(&r, plim_checkpoint_save(r.trainer, path));
  ok(&r, plim_checkpoint_load(r.trainer, path));
  rig_close(&r);
  r = rig_of_heads(PLIM_PRECISION_FP32, 0, 4);
  plan_within(&r, 100);
  ok(&r, plim_trainer_open(r.device, r.dataset, r.program, &r.training, &r.trainer));
  cr_assert_eq(plim_checkpoint_load(r.trainer, path), PLIM_EDATA);
  cr_assert_not_null(strstr(plim_context_error(r.ctx), "has 3 heads, this model has 4"), "%s",
                     plim_context_error(r.ctx));
  cr_assert_eq(remove(path), 0);
  rig_close(&r);
}

/* ---- its graph ---- */

static int count_kind(const plim_graph *g, plim_op_kind kind) {
  int n = 0;
  for (int32_t i = 0; i < g->n_ops; i++) n += g->op[i].kind == kind;
  return n;
}

/* Of V words, T places, L blocks of width C: tables, and a block's norms and products with their biases. */
static int64_t parameters_by_hand(int64_t v, int64_t t, int64_t blocks, int64_t c) {
  const int64_t block = 2 * 2 * c + (3 * c * c + 3 * c) + (c * c + c) + (4 * c * c + 4 * c) + (4 * c * c + c);
  return (v + t) * c + blocks * block + 2 * c;
}

Test(gpt, has_the_parameters_counted_by_hand_and_no_tensor_of_logits) {
  rig r = rig_open(PLIM_PRECISION_FP32, 0);
  const plim_graph *g = r.program->graph[PLIM_PROGRAM_TRAIN];
  cr_assert_eq(plim_graph_parameters(g), parameters_by_hand(256, CONTEXT, 2, 24));
  cr_assert_eq(count_kind(g, PLIM_OP_ATTENTION), 2);
  cr_assert_eq(count_kind(g, PLIM_OP_LINEAR), 8);
  cr_assert_eq(count_kind(g, PLIM_OP_ADAMW),
               2 + 2 * 10 + 1); /* tables; norms, and products with biases; the last norm */
  for (int32_t v = 0; v < g->n_values; v++) {
    const plim_shape *s = &g->value[v].shape;
    cr_assert(s->rank != 2 || s->dim[0] != BATCH * CONTEXT || s->dim[1] != 256, "%s", g->value[v].name);
  }
  rig_close(&r);
}

Test(gpt, updates_wait_for_the_norm_of_all_gradients_where_they_are_clipped) {
  rig r = rig_open(PLIM_PRECISION_FP32, 1);
  const plim_graph *g = r.program->graph[PLIM_PROGRAM_TRAIN];
  int32_t first_update = g->n_ops, last_sum = -1;
  for (int32_t i = 0; i < g->n_ops; i++) {
    if (g->op[i].kind == PLIM_OP_SUM_SQUARES) last_sum = i;
    if (g->op[i].kind == PLIM_OP_ADAMW && i < first_update) first_update = i;
  }
  cr_assert_eq(count_kind(g, PLIM_OP_SUM_SQUARES), count_kind(g, PLIM_OP_ADAMW));
  cr_assert_lt(last_sum, first_update);
  for (int32_t i = first_update; i < g->n_ops; i++) cr_assert_eq(g->op[i].in[2], g->op[last_sum].out[0]);
  rig_close(&r);
}

static void expect_refused(const plim_net_options *options, const char *words) {
  plim_context *ctx = plim_test_context();
  plim_net *net = NULL;
  cr_assert_eq(plim_model_make(ctx, "gpt", options, &net), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(ctx), words), "%s", plim_context_error(ctx));
  plim_test_context_end(ctx);
}

Test(gpt, refuses_sizes_that_do_not_suit) {
  plim_net_options options = plim_net_options_default();
  expect_refused(&options, "reads tokens; the net reads images");
  options.context = 16;
  options.heads = 5;
  expect_refused(&options, "heads that divide it");
  options.heads = 2;
  expect_refused(&options, "a head has at most 128");
  options.heads = 6;
  options.context = -1;
  expect_refused(&options, "at least 1 is needed");
}

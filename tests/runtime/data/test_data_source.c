/* runtime/data/data_source.c: a program's own batches reach the steps, and what is wrong with one ends the run. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/data/reader.h"
#include "runtime/program/program.h"
#include "runtime/train/trainer.h"
#include "tests/support/test_context.h"

enum { SIDE = 4, BATCH = 6, EPOCH = 20, TEST_COUNT = 8, CONTEXT = 5, WORDS = 7 };

/* A source whose batches depend on their numbers alone, until one fails. */
typedef struct state {
  int64_t fails_at; /* number of a training batch; -1: none */
  int error, label; /* what it returns then, or the label that it writes; -1: as usual */
  int64_t calls;
} state;

static int fill(void *user, const plim_data_batch *batch) {
  state *s = user;
  const int is_bad = !batch->test && batch->number == s->fails_at;
  s->calls++;
  for (int32_t i = 0; i < batch->count; i++) {
    for (int p = 0; p < SIDE * SIDE && batch->image; p++) {
      batch->image[i * SIDE * SIDE + p] = (uint8_t)(batch->number * 31 + i * 7 + p + batch->test);
    }
    for (int t = 0; t < CONTEXT && batch->token; t++) {
      batch->token[i * CONTEXT + t] = (int32_t)((batch->number + i + t) % WORDS);
      batch->label[i * CONTEXT + t] = (int32_t)((batch->number + i + t + 1) % WORDS);
    }
    if (batch->image) batch->label[i] = (int32_t)(batch->number + i) % 2;
  }
  if (is_bad && s->label != -1) *(batch->token ? &batch->token[3] : &batch->label[2]) = s->label;
  return is_bad ? s->error : 0;
}

static plim_data_source source_of(state *s, int text) {
  return (plim_data_source){.struct_bytes = sizeof(plim_data_source),
                            .name = "own",
                            .height = SIDE,
                            .width = SIDE,
                            .channels = 1,
                            .context = text ? CONTEXT : 0,
                            .classes = text ? WORDS : 2,
                            .train_count = EPOCH,
                            .test_count = TEST_COUNT,
                            .fill = fill,
                            .user = s};
}

/* ---- a training ---- */

typedef struct rig {
  plim_context *ctx;
  plim_dataset *dataset;
  plim_device *device;
  plim_net *net;
  plim_program *program;
  plim_trainer *trainer;
} rig;

static void ok(const rig *r, plim_status status) {
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(r->ctx));
}

static rig rig_open(state *s, const char *device) {
  rig r = {.ctx = plim_test_context()};
  const plim_data_source source = source_of(s, 0);
  plim_net_options options = plim_net_options_default();
  plim_plan_options plan = plim_plan_options_default();
  plim_trainer_options training = plim_trainer_options_default();
  ok(&r, plim_dataset_from_source(r.ctx, &source, &r.dataset));
  ok(&r, plim_device_open(r.ctx, device, NULL, &r.device));
  options.batch = BATCH;
  options.height = options.width = SIDE;
  options.channels = 1;
  options.classes = 2;
  ok(&r, plim_net_begin(r.ctx, "own", &options, &r.net));
  const plim_tensor x = plim_net_flatten(r.net, "flatten", plim_net_image(r.net));
  plim_net_softmax_xent(r.net, plim_net_linear(r.net, "classes", x, 2));
  ok(&r, plim_program_begin(r.device, r.net, NULL, &r.program));
  ok(&r, plim_program_plan(r.program, &plan));
  training.schedule.rate = 0.1f;
  training.schedule.total_steps = 100;
  ok(&r, plim_trainer_open(r.device, r.dataset, r.program, &training, &r.trainer));
  return r;
}

static void rig_close(rig *r) {
  plim_trainer_close(r->trainer);
  plim_program_free(r->program);
  plim_net_free(r->net);
  plim_device_close(r->device);
  plim_dataset_free(r->dataset);
  plim_test_context_end(r->ctx);
}

typedef struct losses {
  int n;
  float loss[16];
} losses;

static void on_step(void *user, const plim_step_report *report) {
  losses *l = user;
  cr_assert_eq(report->counted, BATCH);
  l->loss[l->n++] = report->loss;
}

Test(data_source, steps_and_evaluations_get_the_batches_of_their_numbers) {
  state s = {.fails_at = -1};
  losses together = {0}, apart = {0};
  plim_evaluation test = {0};
  rig r = rig_open(&s, "cpu");
  cr_assert_eq(plim_trainer_epoch_steps(r.trainer), EPOCH / BATCH);
  cr_assert_eq(plim_dataset_bytes(r.dataset), 0);
  ok(&r, plim_trainer_run(r.trainer, 8, on_step, &together));
  rig_close(&r);
  r = rig_open(&s, "cpu");
  for (int i = 0; i < 8; i++) {
    ok(&r, plim_trainer_run(r.trainer, 1, on_step, &apart));
    ok(&r, plim_trainer_evaluate(r.trainer, &test)); /* after which the batch ahead is asked for again */
    cr_assert_eq(test.counted, TEST_COUNT);
  }
  rig_close(&r);
  cr_assert_eq(together.n, 8);
  cr_assert_arr_eq(together.loss, apart.loss, sizeof together.loss);
  cr_assert_neq(together.loss[0], together.loss[1]);
}

static void expect_ends(const char *device, int error, int label, plim_status status, const char *words) {
  state s = {.fails_at = 3, .error = error, .label = label};
  losses l = {0};
  rig r = rig_open(&s, device);
  cr_assert_eq(plim_trainer_run(r.trainer, 8, on_step, &l), status);
  cr_assert_not_null(strstr(plim_context_error(r.ctx), words), "%s", plim_context_error(r.ctx));
  cr_assert_eq(l.n, 3);
  cr_assert_eq(plim_trainer_steps(r.trainer), 3);
  cr_assert_eq(plim_trainer_run(r.trainer, 1, on_step, &l), status);
  s.fails_at = -1; /* the reader is idle */
  ok(&r, plim_trainer_run(r.trainer, 2, on_step, &l));
  cr_assert_eq(plim_trainer_steps(r.trainer), 5);
  rig_close(&r);
}

Test(data_source, a_batch_that_fails_ends_the_run_before_its_step_and_is_asked_for_again) {
  expect_ends("cpu", 42, -1, PLIM_EIO, "data source own failed with 42 at training batch 3");
}

Test(data_source, labels_out_of_range_end_the_run) {
  expect_ends("cpu", 0, 2, PLIM_EDATA, "data source own, training batch 3: label 2 is 2; -1 to 1 are allowed");
  expect_ends("cpu", 0, -2, PLIM_EDATA, "label 2 is -2; -1 to 1 are allowed");
}

/* ---- the sampler ---- */

Test(data_source, of_text_tokens_are_asked_for_and_checked) {
  plim_context *ctx = plim_test_context();
  state s = {.fails_at = 2, .label = WORDS};
  const plim_data_source source = source_of(&s, 1);
  plim_sampler_options options = plim_sampler_options_default();
  plim_dataset *dataset = NULL;
  plim_sampler *sampler = NULL;
  int32_t token[BATCH * CONTEXT], label[BATCH * CONTEXT];
  options.batch = BATCH;
  options.last = 1;
  cr_assert_eq(plim_dataset_from_source(ctx, &source, &dataset), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_sampler_new(dataset, &options, &sampler), PLIM_OK);
  cr_assert_eq(plim_sampler_train(sampler, 1, (uint8_t *)token, label), 1);
  cr_assert_eq(token[CONTEXT], 2);
  cr_assert_eq(label[CONTEXT], 3);
  cr_assert_eq(plim_sampler_train(sampler, 2, (uint8_t *)token, label), 0);
  cr_assert_eq(plim_sampler_fault(sampler)->status, PLIM_EDATA);
  cr_assert_not_null(strstr(plim_sampler_fault(sampler)->sentence, "token 3 is 7; 0 to 6 are allowed"));
  cr_assert_eq(plim_sampler_test(sampler, 1, (uint8_t *)token, label), 1);
  cr_assert_eq(label[(TEST_COUNT - BATCH) * CONTEXT - 1] >= 0, 1);
  cr_assert_eq(label[(TEST_COUNT - BATCH) * CONTEXT], -1, "places after the last example are not counted");
  cr_assert_eq(token[BATCH * CONTEXT - 1], 0);
  plim_sampler_free(sampler);
  plim_dataset_free(dataset);
  plim_test_context_end(ctx);
}

/* ---- sources that are not allowed ---- */

static void expect_refused(plim_data_source source, const char *words) {
  plim_context *ctx = plim_test_context();
  plim_dataset *dataset = NULL;
  cr_assert_eq(plim_dataset_from_source(ctx, &source, &dataset), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(ctx), words), "%s", plim_context_error(ctx));
  plim_test_context_end(ctx);
}

Test(data_source, refuses_sources_without_a_function_or_with_sizes_that_do_not_suit) {
  state s = {.fails_at = -1};
  plim_data_source source = source_of(&s, 0);
  source.fill = NULL;
  expect_refused(source, "a data source needs a name and a function");
  source = source_of(&s, 0);
  source.channels = 5;
  expect_refused(source, "images of 4 x 4 x 5");
  source = source_of(&s, 0);
  source.classes = 1;
  expect_refused(source, "1 classes; at least 2");
  source = source_of(&s, 0);
  source.test_count = 0;
  expect_refused(source, "20 + 0 examples");
  source = source_of(&s, 0);
  source.context = -1;
  expect_refused(source, "sequences of -1");
  source = source_of(&s, 0);
  source.struct_bytes--;
  expect_refused(source, "plim_data_source");
}

/* runtime/train: programs, the loop, evaluation, states, checkpoints; with a small MLP. */
#include "runtime/train/trainer.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/base/sha256.h"
#include "runtime/train/checkpoint.h"
#include "runtime/train/retimed.h"
#include "runtime/train/verification.h"
#include "tests/support/comma.h"
#include "tests/support/device_under_test.h"
#include "tests/support/failing_memory.h"
#include "tests/support/folder.h"
#include "tests/support/test_seed.h"

enum { BATCH = 16, SIDE = 8, STEPS = 6 };

static plim_context *ctx;
static plim_device *device;
static plim_dataset *dataset;

static void setup(void) {
  plim_dataset_options options = plim_dataset_options_default();
  options.height = options.width = SIDE;
  options.channels = 1;
  options.train_count = 100;
  options.test_count = 40;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  device = plim_test_device(ctx, 0);
  cr_assert_eq(plim_dataset_load(ctx, "synthetic", &options, &dataset), PLIM_OK);
  (void)plim_test_folder();
}

static void teardown(void) {
  plim_test_folder_remove();
  plim_dataset_free(dataset);
  plim_device_close(device);
  plim_context_free(ctx);
}
TestSuite(trainer, .init = setup, .fini = teardown);

static plim_program *begin_program(int batch, int side) {
  plim_net_options options = plim_net_options_default();
  plim_net *net;
  plim_program *program;
  options.batch = batch;
  options.height = options.width = side;
  options.channels = 1;
  plim_dataset_pixels("synthetic", options.pixel_scale, options.pixel_shift);
  cr_assert_eq(plim_model_make(ctx, "mlp", &options, &net), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_program_begin(device, net, NULL, &program), PLIM_OK, "%s", plim_context_error(ctx));
  plim_net_free(net);
  return program;
}

static plim_program *make_program(int batch) {
  plim_program *program = begin_program(batch, SIDE);
  plim_plan_options options = plim_plan_options_default();
  cr_assert_eq(plim_program_plan(program, &options), PLIM_OK, "%s", plim_context_error(ctx));
  return program;
}

static plim_trainer_options training(float rate) {
  return (plim_trainer_options){
      .struct_bytes = sizeof(plim_trainer_options),
      .seed = test_seed(7),
      .schedule = {.rate = rate, .momentum = 0.9f, .weight_decay = 1e-4f, .total_steps = 1000},
      .augment = 1,
      .exec = {.struct_bytes = sizeof(plim_exec_options)},
  };
}

static plim_trainer *open_trainer(plim_program *program, float rate) {
  plim_trainer_options options = training(rate);
  plim_trainer *trainer;
  cr_assert_eq(plim_trainer_open(device, dataset, program, &options, &trainer), PLIM_OK, "%s", plim_context_error(ctx));
  return trainer;
}

static void run(plim_trainer *trainer, int64_t steps) {
  cr_assert_eq(plim_trainer_run(trainer, steps, NULL, NULL), PLIM_OK, "%s", plim_context_error(ctx));
}

static int64_t differences(const plim_trainer *a, const plim_trainer *b) {
  plim_state_difference d;
  cr_assert_eq(plim_state_compare(a, b, &d), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_gt(d.values, 6);
  cr_assert_eq(d.different > 0, d.name != NULL);
  return d.different;
}

Test(trainer, learns_a_small_data_set_by_heart) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  plim_program *program = make_program(BATCH);
  plim_trainer_options options = training(0.01f);
  plim_trainer *t;
  plim_evaluation before, after;
  plim_split test = dataset->test;
  options.augment = 0;
  dataset->test = dataset->train;
  cr_assert_eq(plim_trainer_open(device, dataset, program, &options, &t), PLIM_OK);
  cr_assert_eq(plim_trainer_evaluate(t, &before), PLIM_OK);
  run(t, 200);
  cr_assert_eq(plim_trainer_evaluate(t, &after), PLIM_OK);
  cr_assert_eq(after.counted, dataset->train.count);
  cr_assert(after.loss < 0.5 * before.loss, "loss %g, then %g", before.loss, after.loss);
  dataset->test = test;
  plim_trainer_close(t);
  plim_program_free(program);
}

Test(trainer, a_seed_that_no_checkpoint_could_hold_is_refused) {
  plim_program *program = make_program(BATCH);
  plim_trainer_options options = training(0.05f);
  plim_trainer *t;
  options.seed = UINT64_C(1) << 63;
  cr_assert_eq(plim_trainer_open(device, dataset, program, &options, &t), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(ctx), "seed 9223372036854775808"), "%s", plim_context_error(ctx));
  plim_program_free(program);
}

Test(trainer, a_schedule_with_a_number_that_is_not_finite_is_refused) {
  plim_program *program = make_program(BATCH);
  for (int which = 0; which < 6; which++) {
    plim_trainer_options options = training(0.05f);
    plim_rate_schedule *s = &options.schedule;
    float *const number[] = {&s->rate, &s->momentum, &s->weight_decay, &s->beta2, &s->epsilon, &s->norm_max};
    plim_trainer *t;
    *number[which] = which % 2 ? INFINITY : NAN;
    cr_assert_eq(plim_trainer_open(device, dataset, program, &options, &t), PLIM_EUSAGE, "number %d", which);
    cr_assert_not_null(strstr(plim_context_error(ctx), "to be finite"), "%s", plim_context_error(ctx));
  }
  plim_program_free(program);
}

Test(trainer, gives_the_same_bits_twice_and_others_for_another_seed) {
  plim_program *program = make_program(BATCH);
  plim_trainer *a = open_trainer(program, 0.05f), *b = open_trainer(program, 0.05f), *c;
  plim_trainer_options other = training(0.05f);
  other.seed++;
  cr_assert_eq(plim_trainer_open(device, dataset, program, &other, &c), PLIM_OK);
  run(a, STEPS);
  run(b, STEPS);
  run(c, STEPS);
  cr_assert_eq(differences(a, b), 0);
  cr_assert_gt(differences(a, c), 4);
  plim_trainer_close(a);
  plim_trainer_close(b);
  plim_trainer_close(c);
  plim_program_free(program);
}

Test(trainer, is_not_disturbed_by_an_evaluation_between_steps) {
  plim_program *program = make_program(BATCH);
  plim_trainer *a = open_trainer(program, 0.05f), *b = open_trainer(program, 0.05f);
  plim_evaluation evaluation;
  run(a, STEPS);
  for (int i = 0; i < STEPS; i++) {
    cr_assert_eq(plim_trainer_evaluate(b, &evaluation), PLIM_OK);
    run(b, 1);
  }
  cr_assert_eq(evaluation.counted, dataset->test.count, "padding counts: %d", (int)evaluation.counted);
  cr_assert_eq(differences(a, b), 0);
  plim_trainer_close(a);
  plim_trainer_close(b);
  plim_program_free(program);
}

Test(trainer, names_the_step_whose_loss_is_not_finite) {
  plim_program *program = make_program(BATCH);
  plim_trainer *t = open_trainer(program, 1e30f);
  cr_assert_eq(plim_trainer_run(t, 50, NULL, NULL), PLIM_ENOTFINITE);
  char words[64];
  (void)snprintf(words, sizeof words, "the loss of step %d is", (int)plim_trainer_steps(t) - 1);
  cr_assert_not_null(strstr(plim_context_error(ctx), words), "%s", plim_context_error(ctx));
  cr_assert_lt(plim_trainer_steps(t), 10);
  plim_trainer_close(t);
  plim_program_free(program);
}

static void keep_report(void *user, const plim_step_report *report) {
  *(plim_step_report *)user = *report;
}

Test(trainer, reports_the_step_whose_loss_is_not_finite_before_the_run_ends) {
  plim_program *program = make_program(BATCH);
  plim_trainer *t = open_trainer(program, 1e30f);
  plim_step_report last = {.step = PLIM_NONE};
  cr_assert_eq(plim_trainer_run(t, 50, keep_report, &last), PLIM_ENOTFINITE);
  cr_assert_eq(last.step, plim_trainer_steps(t) - 1, "step %d of %d", (int)last.step, (int)plim_trainer_steps(t));
  cr_assert(!isfinite(last.loss), "loss %g", (double)last.loss);
  cr_assert_eq(last.counted, BATCH);
  plim_trainer_close(t);
  plim_program_free(program);
}

static void cancel_at_third(void *user, const plim_step_report *report) {
  (void)user;
  if (report->step == 2) plim_context_cancel(ctx);
}

static const plim_device_api *whole_api;
static int copies_left; /* until the next one fails */

static plim_status losing_copy(plim_device *d, int32_t queue, void *to, const void *from, int64_t bytes) {
  if (copies_left-- == 0) return plim_fail(d->ctx, PLIM_EDEVICE, "the link is lost");
  return whole_api->queues.copy(d, queue, to, from, bytes);
}

static int says(const char *words) {
  return strncmp(plim_context_error(ctx), words, strlen(words)) == 0;
}

Test(trainer, names_the_batch_that_a_device_failed_to_take) {
  plim_program *program = make_program(BATCH);
  plim_trainer *t = open_trainer(program, 0.01f);
  plim_device_api losing = *device->api;
  plim_evaluation out;
  run(t, 1);
  whole_api = device->api;
  losing.queues.copy = losing_copy;
  device->api = &losing;
  copies_left = 0;
  cr_assert_eq(plim_trainer_run(t, 1, NULL, NULL), PLIM_EDEVICE);
  cr_expect(says("step 1 of the run, before op \""), "%s", plim_context_error(ctx));
  copies_left = 0;
  cr_assert_eq(plim_trainer_evaluate(t, &out), PLIM_EDEVICE);
  cr_expect(says("evaluation batch 0, before op \""), "%s", plim_context_error(ctx));
  int second = 0;
  for (int n = 1; n < 8 && !second; n++) {
    copies_left = n;
    if (plim_trainer_evaluate(t, &out) == PLIM_EDEVICE) second = says("evaluation batch 1, before op \"");
  }
  cr_expect(second, "%s", plim_context_error(ctx));
  device->api = whole_api;
  plim_trainer_close(t);
  plim_program_free(program);
}

Test(trainer, finishes_the_step_in_which_it_is_cancelled_and_can_go_on) {
  plim_program *program = make_program(BATCH);
  plim_trainer *a = open_trainer(program, 0.05f), *b = open_trainer(program, 0.05f);
  cr_assert_eq(plim_trainer_run(a, STEPS, cancel_at_third, NULL), PLIM_ECANCEL);
  cr_assert_eq(plim_trainer_steps(a), 3);
  cr_assert_str_eq(plim_context_error(ctx), "stopped after 3 steps");
  plim_context_resume(ctx);
  run(a, STEPS - 3);
  run(b, STEPS);
  cr_assert_eq(differences(a, b), 0);
  plim_trainer_close(a);
  plim_trainer_close(b);
  plim_program_free(program);
}

Test(trainer, refuses_images_of_another_size) {
  plim_program *program = begin_program(BATCH, SIDE + 1);
  plim_plan_options planning = plim_plan_options_default();
  plim_trainer_options options = training(0.05f);
  plim_trainer *t = NULL;
  cr_assert_eq(plim_program_plan(program, &planning), PLIM_OK);
  cr_assert_eq(plim_trainer_open(device, dataset, program, &options, &t), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(ctx), "reads images of 9 x 9 x 1, those of synthetic are 8 x 8 x 1"),
                     "%s", plim_context_error(ctx));
  cr_assert_null(t);
  plim_program_free(program);
}

Test(trainer, refuses_a_last_batch_that_is_not_what_an_epoch_leaves) {
  plim_program *program = make_program(BATCH);
  plim_net_options options = plim_net_options_default();
  plim_plan_options planning = plim_plan_options_default();
  plim_trainer_options wanted = training(0.05f);
  plim_net *net;
  plim_trainer *t = NULL;
  options.batch = 100 % BATCH + 1;
  options.staging_batch = BATCH;
  options.height = options.width = SIDE;
  options.channels = 1;
  plim_dataset_pixels("synthetic", options.pixel_scale, options.pixel_shift);
  cr_assert_eq(plim_model_make(ctx, "mlp", &options, &net), PLIM_OK);
  cr_assert_eq(plim_program_add_last(program, device, net, NULL), PLIM_OK, "%s", plim_context_error(ctx));
  plim_net_free(net);
  cr_assert_eq(plim_program_plan_last(program, &planning), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_trainer_open(device, dataset, program, &wanted, &t), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(ctx), "last batch has 5 images, an epoch of synthetic leaves 4"), "%s",
                     plim_context_error(ctx));
  plim_program_free(program);
}

Test(trainer, allocates_nothing_from_the_second_step_on) {
  plim_program *program = make_program(BATCH);
  plim_trainer *t = open_trainer(program, 0.05f);
  plim_evaluation evaluation;
  run(t, 1);
  int64_t before = plim_context_memory(ctx).allocations;
  run(t, STEPS);
  cr_assert_eq(plim_trainer_evaluate(t, &evaluation), PLIM_OK);
  cr_assert_eq(plim_context_memory(ctx).allocations, before);
  plim_trainer_close(t);
  plim_program_free(program);
}

/* ---- plans from elsewhere ---- */

static void expect_refusal(int batch, plim_plan *plan, const char *words) {
  plim_program *program = begin_program(batch, SIDE);
  cr_assert_eq(plim_program_adopt(program, plan), PLIM_EDATA);
  cr_assert_not_null(strstr(plim_context_error(ctx), words), "%s", plim_context_error(ctx));
  plim_program_free(program);
}

/* The training plan of a program, saved and loaded: a plan of no one. */
static plim_plan *loose_plan(const plim_program *program) {
  plim_plan *plan;
  const char *path = plim_test_path("plan.json");
  cr_assert_eq(plim_plan_save(program->plan[PLIM_PROGRAM_TRAIN], path), PLIM_OK);
  cr_assert_eq(plim_plan_load(ctx, path, &plan), PLIM_OK, "%s", plim_context_error(ctx));
  return plan;
}

Test(trainer, trains_by_a_plan_that_was_saved) {
  plim_program *program = make_program(BATCH), *adopting = begin_program(BATCH, SIDE);
  cr_assert_eq(plim_program_adopt(adopting, loose_plan(program)), PLIM_OK, "%s", plim_context_error(ctx));
  plim_trainer *a = open_trainer(program, 0.05f), *b = open_trainer(adopting, 0.05f);
  run(a, STEPS);
  run(b, STEPS);
  cr_assert_eq(differences(a, b), 0);
  plim_trainer_close(a);
  plim_trainer_close(b);
  plim_program_free(program);
  plim_program_free(adopting);
}

Test(trainer, refuses_a_plan_of_another_batch_or_thread_count) {
  plim_program *program = make_program(BATCH);
  expect_refusal(BATCH + 1, loose_plan(program), "batch 17");
  plim_plan *plan = loose_plan(program);
  plan->numerics.machine.threads = 99;
  expect_refusal(BATCH, plan, "the plan was made for 99 threads");
  plim_program_free(program);
}

/* ---- checkpoints ---- */

static const char *save(plim_trainer *t) {
  const char *path = plim_test_path("weights.ck");
  cr_assert_eq(plim_checkpoint_save(t, path), PLIM_OK, "%s", plim_context_error(ctx));
  return path;
}

Test(trainer, continues_from_a_checkpoint_as_if_it_had_never_stopped) {
  plim_program *program = make_program(BATCH);
  plim_trainer *a = open_trainer(program, 0.05f), *b = open_trainer(program, 0.05f);
  run(a, STEPS);
  const char *path = save(a);
  run(a, STEPS);
  run(b, 1);
  cr_assert_eq(plim_checkpoint_load(b, path), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_trainer_steps(b), STEPS);
  run(b, STEPS);
  cr_assert_eq(differences(a, b), 0);
  plim_trainer_close(a);
  plim_trainer_close(b);
  plim_program_free(program);
}

Test(trainer, refuses_a_damaged_checkpoint_and_stays_as_it_was) {
  plim_program *program = make_program(BATCH);
  plim_trainer *a = open_trainer(program, 0.05f), *b = open_trainer(program, 0.05f);
  char *data;
  int64_t bytes;
  run(a, STEPS);
  cr_assert_eq(plim_file_read(ctx, save(a), 1 << 30, &data, &bytes), PLIM_OK);
  plim_trainer_close(a);
  a = open_trainer(program, 0.05f);
  const char *path = plim_test_path("damaged.ck");
  for (int64_t i = 0; i < 40; i++) {
    int64_t cut = i * bytes / 40, at = i < 20 ? i : i * bytes / 40;
    cr_assert_eq(plim_file_save(ctx, path, data, cut), PLIM_OK);
    cr_assert_eq(plim_checkpoint_load(b, path), PLIM_EDATA, "cut at %lld", (long long)cut);
    data[at] ^= 4;
    cr_assert_eq(plim_file_save(ctx, path, data, bytes), PLIM_OK);
    cr_assert_eq(plim_checkpoint_load(b, path), PLIM_EDATA, "byte %lld changed", (long long)at);
    data[at] ^= 4;
  }
  cr_assert_eq(plim_trainer_steps(b), 0);
  cr_assert_eq(differences(a, b), 0);
  plim_file_release(ctx, data, bytes);
  plim_trainer_close(a);
  plim_trainer_close(b);
  plim_program_free(program);
}

Test(trainer, says_what_checkpoint_is_missing) {
  plim_program *program = make_program(BATCH);
  plim_trainer *t = open_trainer(program, 0.05f);
  cr_assert_eq(plim_checkpoint_load(t, plim_test_path("none.ck")), PLIM_ENOFILE);
  plim_trainer_close(t);
  plim_program_free(program);
}

/* The hash is made of the numerics keys, so that a plan with other ones looks as if it gave other bits than it does. */
Test(trainer, a_plan_whose_keys_are_not_those_of_its_kernels_is_refused) {
  plim_program *program = make_program(BATCH);
  const plim_graph *graph = program->graph[PLIM_PROGRAM_TRAIN];
  plim_plan draft = *program->plan[PLIM_PROGRAM_TRAIN], *forged = NULL;
  plim_trainer_options options = training(0.01f);
  plim_plan_variant *variant = NULL;
  plim_trainer *t = NULL;
  cr_assert_eq(plim_allocate(ctx, draft.n_variants, sizeof *variant, &variant), PLIM_OK);
  memcpy(variant, draft.variant, (size_t)draft.n_variants * sizeof *variant);
  for (int32_t i = 0; i < draft.n_variants; i++) {
    (void)snprintf(variant[i].variant.numerics_key, sizeof variant[i].variant.numerics_key, "forged");
  }
  draft.variant = variant;
  cr_assert_eq(plim_plan_from_parts(graph, &draft, &forged), PLIM_OK);
  plim_release(ctx, variant, draft.n_variants, sizeof *variant);
  cr_assert_eq(plim_program_adopt(program, forged), PLIM_OK, "the checker cannot know: %s", plim_context_error(ctx));
  cr_assert_eq(plim_trainer_open(device, dataset, program, &options, &t), PLIM_EPLAN);
  cr_assert_not_null(strstr(plim_context_error(ctx), "the plan says numerics key \"forged\""), "%s",
                     plim_context_error(ctx));
  plim_program_free(program);
}

/* Put `to` in place of `from` in the header of a checkpoint, with length and checksum made right again. */
static void edit_header(const char *path, const char *from, const char *to) {
  char *data = NULL, *edited = NULL;
  int64_t bytes, grown = (int64_t)strlen(to) - (int64_t)strlen(from);
  cr_assert_eq(plim_file_read(ctx, path, 1 << 24, &data, &bytes), PLIM_OK);
  uint32_t length = 0;
  for (int i = 0; i < 4; i++) length |= (uint32_t)(uint8_t)data[8 + i] << 8 * i;
  int64_t at = 12;
  while (at < 12 + (int64_t)length && strncmp(data + at, from, strlen(from)) != 0) at++;
  cr_assert_lt(at, 12 + (int64_t)length, "no %s", from);
  cr_assert_eq(plim_allocate(ctx, bytes + grown, 1, &edited), PLIM_OK);
  memcpy(edited, data, (size_t)at);
  memcpy(edited + at, to, strlen(to));
  memcpy(edited + at + strlen(to), data + at + strlen(from), (size_t)(bytes - at) - strlen(from));
  length += (uint32_t)grown;
  for (int i = 0; i < 4; i++) edited[8 + i] = (char)(length >> 8 * i);
  plim_sha256 sha;
  plim_sha256_begin(&sha);
  plim_sha256_add(&sha, edited, (size_t)(bytes + grown) - PLIM_SHA256_BYTES);
  plim_sha256_end(&sha, (uint8_t *)edited + bytes + grown - PLIM_SHA256_BYTES);
  cr_assert_eq(plim_file_save(ctx, path, edited, bytes + grown), PLIM_OK);
  plim_release(ctx, edited, bytes + grown, 1);
  plim_file_release(ctx, data, bytes);
}

Test(trainer, a_checkpoint_that_says_more_steps_than_any_run_has_is_refused) {
  static const char *const steps[] = {"9007199254740993", "9223372036854775807"};
  plim_program *program = make_program(BATCH);
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    char to[64];
    plim_trainer *t = open_trainer(program, 0.05f);
    run(t, 2);
    cr_assert_eq(plim_checkpoint_save(t, plim_test_path("w.ckpt")), PLIM_OK);
    (void)snprintf(to, sizeof to, "\"step\": %s,", steps[i]);
    edit_header(plim_test_path("w.ckpt"), "\"step\": 2,", to);
    cr_assert_eq(plim_checkpoint_load(t, plim_test_path("w.ckpt")), PLIM_EDATA);
    cr_assert_not_null(strstr(plim_context_error(ctx), steps[i]), "%s", plim_context_error(ctx));
    cr_assert_eq(plim_trainer_steps(t), 2);
    plim_trainer_close(t);
  }
  plim_program_free(program);
}

Test(trainer, a_checkpoint_of_another_value_names_both) {
  static const char named[] = "(state, f32, ";
  plim_program *program = make_program(BATCH);
  plim_trainer *t = open_trainer(program, 0.05f);
  const char *path = save(t);
  edit_header(path, "\"role\": \"param\"", "\"role\": \"state\"");
  cr_assert_eq(plim_checkpoint_load(t, path), PLIM_EDATA);
  const char *error = plim_context_error(ctx), *found = strstr(error, named), *own = strstr(error, "(param, f32, ");
  cr_assert(found && own && found < own, "%s", error);
  const size_t rest = strcspn(found, ")") - strlen("(state");
  cr_assert_eq(strncmp(found + strlen("(state"), own + strlen("(param"), rest), 0, "%s", error);
  cr_assert_not_null(strstr(error, " where this run has '"), "%s", error);
  plim_trainer_close(t);
  plim_program_free(program);
}

/* ---- measured times ---- */

Test(trainer, every_variant_that_ran_keeps_its_own_measured_time) {
  const plim_variant profiled[] = {
      {.name = "a", .time_ns = 10}, {.name = "b", .time_ns = 40}, {.name = "c", .time_ns = 100}};
  const int32_t first[] = {0, 3};
  const plim_plan_variant used[] = {{.op = 0, .variant = profiled[0]}, {.op = 0, .variant = profiled[1]}};
  const plim_profile profile = {.n_ops = 1, .first = (int32_t *)first, .variant = (plim_variant *)profiled};
  const plim_plan plan = {.n_variants = 2, .variant = (plim_plan_variant *)used};
  const int64_t both[] = {13, 60}, one[] = {20, -1};
  plim_variant row[3];
  memcpy(row, profiled, sizeof row);
  plim_retimed_rows(&plan, &profile, both, row);
  cr_assert_eq(row[0].time_ns, 13);
  cr_assert_eq(row[1].time_ns, 60);
  cr_assert_eq(row[2].time_ns, 150); /* as the last one that ran */
  memcpy(row, profiled, sizeof row);
  plim_retimed_rows(&plan, &profile, one, row);
  cr_assert_eq(row[0].time_ns, 20);
  cr_assert_eq(row[1].time_ns, 80);
  cr_assert_eq(row[2].time_ns, 200);
}

Test(trainer, a_measured_time_that_is_a_huge_multiple_of_the_profiled_one_gives_no_negative_times) {
  const int64_t huge = (int64_t)1 << 60, time_ns[] = {huge};
  const plim_variant profiled[] = {{.name = "a", .time_ns = 1}, {.name = "b", .time_ns = huge}};
  const int32_t first[] = {0, 2};
  const plim_plan_variant used[] = {{.op = 0, .variant = profiled[0]}};
  const plim_profile profile = {.n_ops = 1, .first = (int32_t *)first, .variant = (plim_variant *)profiled};
  const plim_plan plan = {.n_variants = 1, .variant = (plim_plan_variant *)used};
  plim_variant row[2];
  memcpy(row, profiled, sizeof row);
  plim_retimed_rows(&plan, &profile, time_ns, row);
  cr_assert_eq(row[0].time_ns, huge);
  cr_assert_gt(row[1].time_ns, 0, "%lld ns", (long long)row[1].time_ns);
}

/* ---- what a checkpoint says of its run ---- */

Test(trainer, a_checkpoint_says_which_kernels_and_which_training_made_it) {
  plim_program *program = make_program(BATCH);
  plim_trainer *t = open_trainer(program, 0.05f);
  const plim_plan *plan = program->plan[PLIM_PROGRAM_TRAIN];
  const plim_graph *graph = program->graph[PLIM_PROGRAM_TRAIN];
  plim_checkpoint_info *info = NULL;
  run(t, STEPS);
  cr_assert_eq(plim_checkpoint_read(ctx, save(t), &info), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(info->step, STEPS);
  cr_assert_eq(info->batch, BATCH);
  cr_assert_str_eq(info->numerics, plan->numerics.hash);
  cr_assert_str_eq(info->graph, graph->fingerprint);
  cr_assert_eq(memcmp(&info->machine, &plan->numerics.machine, sizeof info->machine), 0);
  cr_assert_eq(info->n_ops, graph->n_ops);
  for (int32_t i = 0; i < plan->n_variants; i++) {
    cr_assert_str_eq(info->numerics_key[info->key_of_op[plan->variant[i].op]], plan->variant[i].variant.numerics_key);
  }
  const char *key[4096];
  cr_assert_leq(graph->n_ops, 4096);
  cr_assert_null(plim_checkpoint_numerics_keys(info, graph, &plan->numerics.machine, key));
  for (int32_t i = 0; i < plan->n_variants; i++) {
    cr_assert_str_eq(key[plan->variant[i].op], plan->variant[i].variant.numerics_key);
  }
  cr_assert_eq(plim_checkpoint_numerics_differ(info, plan), 0);
  info->numerics_key[info->key_of_op[plan->variant[0].op]][0] ^= 1;
  cr_assert_gt(plim_checkpoint_numerics_differ(info, plan), 0);
  plim_machine other = plan->numerics.machine;
  other.threads++;
  cr_assert_str_eq(plim_checkpoint_numerics_keys(info, graph, &other, NULL),
                   "other threads, instructions or libraries made it");
  cr_assert_str_eq(plim_checkpoint_numerics_keys(info, program->graph[PLIM_PROGRAM_EVAL], &other, NULL),
                   "it is of a network with other ops");
  cr_assert_eq(info->has_training, 1);
  cr_assert_eq(info->rate, 0.05f);
  cr_assert_eq(info->total_steps, plim_trainer_options_of(t)->schedule.total_steps);
  cr_assert_eq(info->seed, plim_trainer_options_of(t)->seed);
  plim_checkpoint_info_free(info);
  plim_trainer_close(t);
  plim_program_free(program);
}

Test(trainer, a_checkpoint_written_where_numbers_have_a_comma_is_read) {
  if (!plim_test_set_comma()) cr_skip_test("no locale with a decimal comma here");
  plim_program *program = make_program(BATCH);
  plim_trainer *t = open_trainer(program, 0.05f);
  plim_checkpoint_info *info = NULL;
  cr_assert_eq(plim_checkpoint_read(ctx, save(t), &info), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(info->rate, 0.05f);
  plim_checkpoint_info_free(info);
  plim_trainer_close(t);
  plim_program_free(program);
}

Test(trainer, numerics_of_a_checkpoint_that_are_none_are_refused_and_without_any_it_is_read) {
  static const char *const edit[][2] = {{"\"ops\": [0", "\"ops\": [99"},
                                        {"\"ops\": [0", "\"ops\": [-1"},
                                        {"\"ops\": [0", "\"ops\": [null"},
                                        {"\"labels\": [\"", "\"labels\": [7, \""},
                                        {"\"isa\": \"", "\"isb\": \""}};
  plim_program *program = make_program(BATCH);
  plim_trainer *t = open_trainer(program, 0.05f);
  plim_checkpoint_info *info = NULL;
  run(t, 2);
  for (size_t i = 0; i < sizeof edit / sizeof *edit; i++) {
    cr_assert_eq(plim_checkpoint_save(t, plim_test_path("w.ckpt")), PLIM_OK);
    edit_header(plim_test_path("w.ckpt"), edit[i][0], edit[i][1]);
    cr_assert_eq(plim_checkpoint_read(ctx, plim_test_path("w.ckpt"), &info), PLIM_EDATA, "%s", edit[i][1]);
  }
  cr_assert_eq(plim_checkpoint_save(t, plim_test_path("w.ckpt")), PLIM_OK);
  edit_header(plim_test_path("w.ckpt"), "\"numerics\"", "\"something\"");
  edit_header(plim_test_path("w.ckpt"), "\"training\"", "\"else\"");
  cr_assert_eq(plim_checkpoint_read(ctx, plim_test_path("w.ckpt"), &info), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(info->n_ops, 0);
  cr_assert_eq(info->has_training, 0);
  cr_assert_eq(plim_checkpoint_load(t, plim_test_path("w.ckpt")), PLIM_OK, "%s", plim_context_error(ctx));
  plim_checkpoint_info_free(info);
  plim_trainer_close(t);
  plim_program_free(program);
}

static plim_status read_info(plim_context *failing, void *user) {
  plim_checkpoint_info *info = NULL;
  plim_status status = plim_checkpoint_read(failing, user, &info);
  plim_checkpoint_info_free(info);
  return status;
}

Test(trainer, every_allocation_of_reading_what_a_checkpoint_says_may_be_refused) {
  plim_program *program = make_program(BATCH);
  plim_trainer *t = open_trainer(program, 0.05f);
  char path[4096];
  run(t, 1);
  (void)snprintf(path, sizeof path, "%s", save(t));
  cr_assert_gt(plim_test_each_allocation(read_info, path), 2);
  plim_trainer_close(t);
  plim_program_free(program);
}

/* runtime/train/trainer.c: the loop, evaluation, plans from elsewhere, times in place; with a small MLP. Checkpoints:
 * test_checkpoint.c. */
#include "runtime/train/trainer.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/train/retimed.h"
#include "tests/support/folder.h"
#include "tests/support/trainer_rig.h"

enum { STEPS = 6 };

static trainer_rig rig;

static void setup(void) {
  trainer_rig_begin(&rig);
}
static void teardown(void) {
  trainer_rig_end(&rig);
}
TestSuite(trainer, .init = setup, .fini = teardown);

Test(trainer, learns_a_small_data_set_by_heart) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  plim_trainer_options options = trainer_rig_options(0.01f);
  plim_trainer *t;
  plim_evaluation before, after;
  plim_split test = rig.dataset->test;
  options.augment = 0;
  rig.dataset->test = rig.dataset->train;
  cr_assert_eq(plim_trainer_open(rig.device, rig.dataset, program, &options, &t), PLIM_OK);
  cr_assert_eq(plim_trainer_evaluate(t, &before), PLIM_OK);
  trainer_rig_run(&rig, t, 200);
  cr_assert_eq(plim_trainer_evaluate(t, &after), PLIM_OK);
  cr_assert_eq(after.counted, rig.dataset->train.count);
  cr_assert(after.loss < 0.5 * before.loss, "loss %g, then %g", before.loss, after.loss);
  rig.dataset->test = test;
  plim_trainer_close(t);
  plim_program_free(program);
}

Test(trainer, a_seed_that_no_checkpoint_could_hold_is_refused) {
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  plim_trainer_options options = trainer_rig_options(0.05f);
  plim_trainer *t;
  options.seed = UINT64_C(1) << 63;
  cr_assert_eq(plim_trainer_open(rig.device, rig.dataset, program, &options, &t), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(rig.ctx), "seed 9223372036854775808"), "%s",
                     plim_context_error(rig.ctx));
  plim_program_free(program);
}

Test(trainer, a_schedule_with_a_number_that_is_not_finite_is_refused) {
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  for (int which = 0; which < 6; which++) {
    plim_trainer_options options = trainer_rig_options(0.05f);
    plim_rate_schedule *s = &options.schedule;
    float *const number[] = {&s->rate, &s->momentum, &s->weight_decay, &s->beta2, &s->epsilon, &s->norm_max};
    plim_trainer *t;
    *number[which] = which % 2 ? INFINITY : NAN;
    cr_assert_eq(plim_trainer_open(rig.device, rig.dataset, program, &options, &t), PLIM_EUSAGE, "number %d", which);
    cr_assert_not_null(strstr(plim_context_error(rig.ctx), "to be finite"), "%s", plim_context_error(rig.ctx));
  }
  plim_program_free(program);
}

Test(trainer, gives_the_same_bits_twice_and_others_for_another_seed) {
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  plim_trainer *a = trainer_rig_open(&rig, program, 0.05f), *b = trainer_rig_open(&rig, program, 0.05f), *c;
  plim_trainer_options other = trainer_rig_options(0.05f);
  other.seed++;
  cr_assert_eq(plim_trainer_open(rig.device, rig.dataset, program, &other, &c), PLIM_OK);
  trainer_rig_run(&rig, a, STEPS);
  trainer_rig_run(&rig, b, STEPS);
  trainer_rig_run(&rig, c, STEPS);
  cr_assert_eq(trainer_rig_differences(&rig, a, b), 0);
  cr_assert_gt(trainer_rig_differences(&rig, a, c), 4);
  plim_trainer_close(a);
  plim_trainer_close(b);
  plim_trainer_close(c);
  plim_program_free(program);
}

Test(trainer, is_not_disturbed_by_an_evaluation_between_steps) {
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  plim_trainer *a = trainer_rig_open(&rig, program, 0.05f), *b = trainer_rig_open(&rig, program, 0.05f);
  plim_evaluation evaluation;
  trainer_rig_run(&rig, a, STEPS);
  for (int i = 0; i < STEPS; i++) {
    cr_assert_eq(plim_trainer_evaluate(b, &evaluation), PLIM_OK);
    trainer_rig_run(&rig, b, 1);
  }
  cr_assert_eq(evaluation.counted, rig.dataset->test.count, "padding counts: %d", (int)evaluation.counted);
  cr_assert_eq(trainer_rig_differences(&rig, a, b), 0);
  plim_trainer_close(a);
  plim_trainer_close(b);
  plim_program_free(program);
}

Test(trainer, names_the_step_whose_loss_is_not_finite) {
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  plim_trainer *t = trainer_rig_open(&rig, program, 1e30f);
  cr_assert_eq(plim_trainer_run(t, 50, NULL, NULL), PLIM_ENOTFINITE);
  char words[64];
  (void)snprintf(words, sizeof words, "the loss of step %d is", (int)plim_trainer_steps(t) - 1);
  cr_assert_not_null(strstr(plim_context_error(rig.ctx), words), "%s", plim_context_error(rig.ctx));
  cr_assert_lt(plim_trainer_steps(t), 10);
  plim_trainer_close(t);
  plim_program_free(program);
}

static void keep_report(void *user, const plim_step_report *report) {
  *(plim_step_report *)user = *report;
}

Test(trainer, reports_the_step_whose_loss_is_not_finite_before_the_run_ends) {
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  plim_trainer *t = trainer_rig_open(&rig, program, 1e30f);
  plim_step_report last = {.step = PLIM_NONE};
  cr_assert_eq(plim_trainer_run(t, 50, keep_report, &last), PLIM_ENOTFINITE);
  cr_assert_eq(last.step, plim_trainer_steps(t) - 1, "step %d of %d", (int)last.step, (int)plim_trainer_steps(t));
  cr_assert(!isfinite(last.loss), "loss %g", (double)last.loss);
  cr_assert_eq(last.counted, TRAINER_RIG_BATCH);
  plim_trainer_close(t);
  plim_program_free(program);
}

static void cancel_at_third(void *user, const plim_step_report *report) {
  (void)user;
  if (report->step == 2) plim_context_cancel(rig.ctx);
}

static const plim_device_api *whole_api;
static int copies_left; /* until the next one fails */

static plim_status losing_copy(plim_device *d, int32_t queue, void *to, const void *from, int64_t bytes) {
  if (copies_left-- == 0) return plim_fail(d->ctx, PLIM_EDEVICE, "the link is lost");
  return whole_api->queues.copy(d, queue, to, from, bytes);
}

static int says(const char *words) {
  return strncmp(plim_context_error(rig.ctx), words, strlen(words)) == 0;
}

Test(trainer, names_the_batch_that_a_device_failed_to_take) {
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  plim_trainer *t = trainer_rig_open(&rig, program, 0.01f);
  plim_device_api losing = *rig.device->api;
  plim_evaluation out;
  trainer_rig_run(&rig, t, 1);
  whole_api = rig.device->api;
  losing.queues.copy = losing_copy;
  rig.device->api = &losing;
  copies_left = 0;
  cr_assert_eq(plim_trainer_run(t, 1, NULL, NULL), PLIM_EDEVICE);
  cr_expect(says("step 1 of the run, before op \""), "%s", plim_context_error(rig.ctx));
  copies_left = 0;
  cr_assert_eq(plim_trainer_evaluate(t, &out), PLIM_EDEVICE);
  cr_expect(says("evaluation batch 0, before op \""), "%s", plim_context_error(rig.ctx));
  int second = 0;
  for (int n = 1; n < 8 && !second; n++) {
    copies_left = n;
    if (plim_trainer_evaluate(t, &out) == PLIM_EDEVICE) second = says("evaluation batch 1, before op \"");
  }
  cr_expect(second, "%s", plim_context_error(rig.ctx));
  rig.device->api = whole_api;
  plim_trainer_close(t);
  plim_program_free(program);
}

Test(trainer, finishes_the_step_in_which_it_is_cancelled_and_can_go_on) {
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  plim_trainer *a = trainer_rig_open(&rig, program, 0.05f), *b = trainer_rig_open(&rig, program, 0.05f);
  cr_assert_eq(plim_trainer_run(a, STEPS, cancel_at_third, NULL), PLIM_ECANCEL);
  cr_assert_eq(plim_trainer_steps(a), 3);
  cr_assert_str_eq(plim_context_error(rig.ctx), "stopped after 3 steps");
  plim_context_resume(rig.ctx);
  trainer_rig_run(&rig, a, STEPS - 3);
  trainer_rig_run(&rig, b, STEPS);
  cr_assert_eq(trainer_rig_differences(&rig, a, b), 0);
  plim_trainer_close(a);
  plim_trainer_close(b);
  plim_program_free(program);
}

Test(trainer, refuses_images_of_another_size) {
  plim_program *program = trainer_rig_program_begin(&rig, TRAINER_RIG_BATCH, TRAINER_RIG_SIDE + 1);
  plim_plan_options planning = plim_plan_options_default();
  plim_trainer_options options = trainer_rig_options(0.05f);
  plim_trainer *t = NULL;
  cr_assert_eq(plim_program_plan(program, &planning), PLIM_OK);
  cr_assert_eq(plim_trainer_open(rig.device, rig.dataset, program, &options, &t), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(rig.ctx), "reads images of 9 x 9 x 1, those of synthetic are 8 x 8 x 1"),
                     "%s", plim_context_error(rig.ctx));
  cr_assert_null(t);
  plim_program_free(program);
}

Test(trainer, refuses_a_last_batch_that_is_not_what_an_epoch_leaves) {
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  plim_net_options options = plim_net_options_default();
  plim_plan_options planning = plim_plan_options_default();
  plim_trainer_options wanted = trainer_rig_options(0.05f);
  plim_net *net;
  plim_trainer *t = NULL;
  options.batch = 100 % TRAINER_RIG_BATCH + 1;
  options.staging_batch = TRAINER_RIG_BATCH;
  options.height = options.width = TRAINER_RIG_SIDE;
  options.channels = 1;
  plim_dataset_pixels("synthetic", options.pixel_scale, options.pixel_shift);
  cr_assert_eq(plim_model_make(rig.ctx, "mlp", &options, &net), PLIM_OK);
  cr_assert_eq(plim_program_add_last(program, rig.device, net, NULL), PLIM_OK, "%s", plim_context_error(rig.ctx));
  plim_net_free(net);
  cr_assert_eq(plim_program_plan_last(program, &planning), PLIM_OK, "%s", plim_context_error(rig.ctx));
  cr_assert_eq(plim_trainer_open(rig.device, rig.dataset, program, &wanted, &t), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(rig.ctx), "last batch has 5 images, an epoch of synthetic leaves 4"),
                     "%s", plim_context_error(rig.ctx));
  plim_program_free(program);
}

Test(trainer, allocates_nothing_from_the_second_step_on) {
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  plim_trainer *t = trainer_rig_open(&rig, program, 0.05f);
  plim_evaluation evaluation;
  trainer_rig_run(&rig, t, 1);
  int64_t before = plim_context_memory(rig.ctx).allocations;
  trainer_rig_run(&rig, t, STEPS);
  cr_assert_eq(plim_trainer_evaluate(t, &evaluation), PLIM_OK);
  cr_assert_eq(plim_context_memory(rig.ctx).allocations, before);
  plim_trainer_close(t);
  plim_program_free(program);
}

/* ---- plans from elsewhere ---- */

static void expect_refusal(int batch, plim_plan *plan, const char *words) {
  plim_program *program = trainer_rig_program_begin(&rig, batch, TRAINER_RIG_SIDE);
  cr_assert_eq(plim_program_adopt(program, plan), PLIM_EDATA);
  cr_assert_not_null(strstr(plim_context_error(rig.ctx), words), "%s", plim_context_error(rig.ctx));
  plim_program_free(program);
}

/* The training plan of a program, saved and loaded: a plan of no one. */
static plim_plan *loose_plan(const plim_program *program) {
  plim_plan *plan;
  const char *path = plim_test_path("plan.json");
  cr_assert_eq(plim_plan_save(program->plan[PLIM_PROGRAM_TRAIN], path), PLIM_OK);
  cr_assert_eq(plim_plan_load(rig.ctx, path, &plan), PLIM_OK, "%s", plim_context_error(rig.ctx));
  return plan;
}

Test(trainer, trains_by_a_plan_that_was_saved) {
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH),
               *adopting = trainer_rig_program_begin(&rig, TRAINER_RIG_BATCH, TRAINER_RIG_SIDE);
  cr_assert_eq(plim_program_adopt(adopting, loose_plan(program)), PLIM_OK, "%s", plim_context_error(rig.ctx));
  plim_trainer *a = trainer_rig_open(&rig, program, 0.05f), *b = trainer_rig_open(&rig, adopting, 0.05f);
  trainer_rig_run(&rig, a, STEPS);
  trainer_rig_run(&rig, b, STEPS);
  cr_assert_eq(trainer_rig_differences(&rig, a, b), 0);
  plim_trainer_close(a);
  plim_trainer_close(b);
  plim_program_free(program);
  plim_program_free(adopting);
}

Test(trainer, refuses_a_plan_of_another_batch_or_thread_count) {
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  expect_refusal(TRAINER_RIG_BATCH + 1, loose_plan(program), "batch 17");
  plim_plan *plan = loose_plan(program);
  plan->numerics.machine.threads = 99;
  expect_refusal(TRAINER_RIG_BATCH, plan, "the plan was made for 99 threads");
  plim_program_free(program);
}

/* The hash is made of the numerics keys, so that a plan with other ones looks as if it gave other bits than it does. */
Test(trainer, a_plan_whose_keys_are_not_those_of_its_kernels_is_refused) {
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  const plim_graph *graph = program->graph[PLIM_PROGRAM_TRAIN];
  plim_plan draft = *program->plan[PLIM_PROGRAM_TRAIN], *forged = NULL;
  plim_trainer_options options = trainer_rig_options(0.01f);
  plim_plan_variant *variant = NULL;
  plim_trainer *t = NULL;
  cr_assert_eq(plim_allocate(rig.ctx, draft.n_variants, sizeof *variant, &variant), PLIM_OK);
  memcpy(variant, draft.variant, (size_t)draft.n_variants * sizeof *variant);
  for (int32_t i = 0; i < draft.n_variants; i++) {
    (void)snprintf(variant[i].variant.numerics_key, sizeof variant[i].variant.numerics_key, "forged");
  }
  draft.variant = variant;
  cr_assert_eq(plim_plan_from_parts(graph, &draft, &forged), PLIM_OK);
  plim_release(rig.ctx, variant, draft.n_variants, sizeof *variant);
  cr_assert_eq(plim_program_adopt(program, forged), PLIM_OK, "the checker cannot know: %s",
               plim_context_error(rig.ctx));
  cr_assert_eq(plim_trainer_open(rig.device, rig.dataset, program, &options, &t), PLIM_EPLAN);
  cr_assert_not_null(strstr(plim_context_error(rig.ctx), "the plan says numerics key \"forged\""), "%s",
                     plim_context_error(rig.ctx));
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

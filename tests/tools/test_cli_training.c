/* tools/plimsoll train: where a run stops, the schedule of its rate, what it says, and what ends it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "kernels/isa.h"
#include "tests/support/child_program.h"
#include "tests/support/folder.h"

static void setup(void) {
  (void)plim_test_folder();
}
static void teardown(void) {
  (void)plim_test_shell("rm -rf plimsoll");
  plim_test_folder_remove();
}
TestSuite(cli_training, .init = setup, .fini = teardown);

#define MLP \
  "--model mlp --data synthetic --image 8x8x1 --batch 32 --model-costs --iterations 300 --no-progress --threads 1 "
#define NETWORK                                                                                                \
  "--model resnet20 --layout nhwc --data synthetic --image 16x16x3 --batch 16 --model-costs --iterations 300 " \
  "--threads 1 "

static void same_files(const char *a, const char *b) {
  char line[256];
  (void)snprintf(line, sizeof line, "cmp %s %s", a, b);
  const program_run *run = plim_test_shell(line);
  cr_assert_eq(run->status, 0, "%s and %s differ: %s", a, b, run->out);
}

static double number(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  cr_assert(json_is_number(value), "%s is missing or no number", key);
  return json_number_value(value);
}

/* ---- steps and the schedule ---- */

Test(cli_training, a_run_in_two_parts_of_one_schedule_gives_the_bytes_of_the_whole) {
  (void)plim_test_program("train " MLP "--steps 20 --save whole.ckpt");
  plim_test_expect(0, "");
  (void)plim_test_program("train " MLP "--steps 10 --total-steps 20 --save half.ckpt");
  plim_test_expect(0, "");
  (void)plim_test_program("train " MLP "--load half.ckpt --steps 20 --total-steps 20 --save both.ckpt");
  plim_test_expect(0, "");
  same_files("whole.ckpt", "both.ckpt");
  (void)plim_test_program("train " MLP "--steps 10 --save short.ckpt");
  plim_test_expect(0, "");
  const program_run *run = plim_test_shell("cmp half.ckpt short.ckpt");
  cr_assert_neq(run->status, 0, "a schedule of ten steps has other rates");
}

Test(cli_training, so_does_one_whose_second_part_has_another_budget_and_the_same_kernels) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  (void)plim_test_program("train " NETWORK "--numerics fastest --steps 6 --save whole.ckpt");
  plim_test_expect(0, "");
  (void)plim_test_program("train " NETWORK "--numerics fastest --steps 3 --total-steps 6 --save half.ckpt");
  plim_test_expect(0, "");
  (void)plim_test_program(
      "train " NETWORK "--numerics fastest --memory 85%% --load half.ckpt --steps 6 --total-steps 6 --save both.ckpt");
  plim_test_expect(0, "");
  same_files("whole.ckpt", "both.ckpt");
}

Test(cli_training, total_steps_alone_is_also_where_the_run_stops) {
  (void)plim_test_program("train " MLP "--total-steps 7 --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_assert_eq(number(o, "steps"), 7);
  json_decref(o);
  (void)plim_test_program("train " MLP "--steps 7 --total-steps 6");
  plim_test_expect(2, "7 steps go beyond --total-steps 6, where the rate is 0");
}

Test(cli_training, a_run_that_is_done_already_says_so_and_takes_no_time) {
  (void)plim_test_program("train " MLP "--steps 2 --save w.ckpt");
  const program_run *run = plim_test_program("train " MLP "--steps 2 --load w.ckpt");
  plim_test_expect(0, "");
  cr_assert_not_null(strstr(run->out, "0: nothing to do, w.ckpt is at step 2 of 2"), "%s", run->out);
  (void)plim_test_program("train " MLP "--steps 2 --load w.ckpt --json");
  json_t *o = plim_test_json();
  cr_assert_eq(number(o, "seconds"), 0);
  cr_assert_eq(number(o, "steps"), 0);
  json_decref(o);
}

Test(cli_training, a_checkpoint_beyond_the_run_is_said_to_be) {
  (void)plim_test_program("train " MLP "--steps 5 --save w.ckpt");
  const program_run *run = plim_test_program("train " MLP "--steps 3 --load w.ckpt");
  plim_test_expect(0, "");
  cr_assert_not_null(strstr(run->out, "0: nothing to do, w.ckpt is at step 5, beyond this run's 3"), "%s", run->out);
}

Test(cli_training, a_part_of_an_epoch_is_called_one) {
  const program_run *run = plim_test_program(
      "train --model mlp --data synthetic --image 8x8x1 --batch 1024 --model-costs "
      "--iterations 300 --no-progress --steps 6");
  plim_test_expect(0, "");
  const char *first = strstr(run->out, "epoch 1:"), *part = strstr(run->out, "epoch 2 (");
  cr_assert(first && part, "%s", run->out);
  cr_assert_null(strstr(first + 1, "epoch 1"), "%s", run->out);
}

/* The bits of a run stay, and so do kernels that a larger cap would not need. */
Test(cli_training, a_cap_that_grows_says_which_kernels_it_does_not_change) {
  if (!plim_isa_supported(PLIM_ISA_V4)) cr_skip_test("needs AVX-512"); /* elsewhere its ops have one kernel each */
  const program_run *run = plim_test_program(
      "train --model mlp --batch 128 --device sim --model-costs --data synthetic --no-progress --steps 4 --memory 98%% "
      "--memory-at 1=100%%");
  plim_test_expect(0, "");
  cr_assert_not_null(strstr(run->out, "; 1 op keeps the numerics that the run began with"), "%s", run->out);
}

/* ---- text ---- */

/* A share of tokens and nats, not the accuracy of images. */
Test(cli_training, a_run_over_text_says_what_its_test_counts) {
#define GPT \
  "--model gpt --layers 1 --width 8 --heads 1 --context 8 --data text:words.txt --batch 2 --threads 1 --model-costs "
  (void)plim_test_shell("for i in 1 2 3 4 5 6 7 8 9; do echo a short text of words, again and again; done > words.txt");
  const program_run *run = plim_test_program("train " GPT "--steps 2 --no-progress");
  plim_test_expect(0, "");
  cr_assert_not_null(strstr(run->out, "% of the test predicted"), "%s", run->out);
  cr_assert_not_null(strstr(run->out, "nats a token"), "%s", run->out);
  cr_assert_null(strstr(run->out, "accuracy"), "%s", run->out);
  run = plim_test_program("train " GPT "--epochs 2 --no-progress");
  plim_test_expect(0, "");
  cr_assert_not_null(strstr(run->out, "% of next tokens predicted"), "%s", run->out);
  (void)plim_test_program("train " GPT "--steps 2 --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  (void)number(o, "test_accuracy_percent");
  (void)number(o, "test_loss");
  json_decref(o);
}

/* ---- a device that computes nothing ---- */

Test(cli_training, a_simulated_run_shows_no_figures_of_what_was_not_computed) {
  (void)plim_test_program("train " MLP "--device sim --steps 3 --json");
  plim_test_expect(0, "");
  static const char *const absent[] = {"loss", "test_accuracy_percent", "test_loss", "outside_bytes"};
  json_t *o = plim_test_json();
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
    cr_assert_null(json_object_get(o, absent[i]), "%s", absent[i]);
  cr_assert_eq(number(o, "steps"), 3);
  json_decref(o);
  const program_run *run = plim_test_program("train " MLP "--device sim --steps 3");
  cr_assert_null(strstr(run->out, "accuracy"), "%s", run->out);
  (void)plim_test_program("compare " MLP "--device sim --steps 3 --memory 100%% --json");
  plim_test_expect(0, "");
  o = plim_test_json();
  cr_assert_null(json_object_get(o, "identical"));
  json_decref(o);
}

Test(cli_training, weights_that_nothing_computes_cannot_be_verified) {
  (void)plim_test_program("verify " MLP "--device sim");
  plim_test_expect(2, "verify compares weights, and --device sim computes none");
}

/* ---- signals ---- */

Test(cli_training, what_was_trained_is_kept_after_each_signal_and_the_exit_status_names_it) {
  static const struct {
    const char *signal;
    int status;
  } rows[] = {{"INT", 130}, {"TERM", 143}, {"HUP", 129}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char line[512];
    (void)snprintf(line, sizeof line,
                   "rm -f w.ckpt* t.*; timeout --preserve-status -s %s 1.5 $PLIMSOLL train " MLP
                   "--steps 100000000 --save w.ckpt --trace t.jsonl",
                   rows[i].signal);
    (void)plim_test_shell(line);
    plim_test_expect(rows[i].status, "stopped after");
    (void)plim_test_shell("test -s w.ckpt && test -s t.jsonl && ! ls -a | grep tmp-");
    plim_test_expect(0, "");
  }
}

Test(cli_training, a_run_under_nohup_outlives_its_terminal) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  (void)plim_test_shell("nohup $PLIMSOLL train " MLP
                        "--steps 3000 --save w.ckpt >/dev/null & p=$!; sleep 0.7; kill -HUP $p; wait $p");
  plim_test_expect(0, "");
}

/* Two steps warm up, then as many are timed as were asked for. */
Test(cli_training, too_few_steps_to_time_any_in_place_are_said_to_be) {
  const program_run *run = plim_test_program("train " MLP "--steps 4 --retime 3");
  plim_test_expect(0, "");
  cr_expect_not_null(strstr(run->out, "\ntimed in place       nothing: the run has too few steps for --retime 3"), "%s",
                     run->out);
  run = plim_test_program("train " MLP "--steps 5 --retime 3");
  plim_test_expect(0, "");
  cr_expect_null(strstr(run->out, "nothing"), "%s", run->out);
}

/* ---- texts ---- */

/* A text that every Debian has; elsewhere that of the project. */
static const char *text_file(void) {
  static const char debian[] = "/usr/share/common-licenses/GPL-3";
  FILE *file = fopen(debian, "rb");
  if (!file) return PLIM_SOURCE_DIR "/LICENSE";
  (void)fclose(file);
  return debian;
}

static double loss_of_text(const char *more) {
  (void)plim_test_program(
      "train --model gpt --layers 1 --width 16 --heads 2 --context 16 --batch 4 --accumulate 2 --data text:%s "
      "--model-costs --iterations 300 --threads 1 --total-steps 4 --json --no-progress %s",
      text_file(), more);
  plim_test_expect(0, "");
  json_t *object = plim_test_json();
  const double loss = number(object, "loss");
  cr_assert_lt(number(object, "test_loss"), 5.7, "even odds among 256 words are 5.55 nats");
  cr_assert_eq(number(object, "accumulate"), 2);
  json_decref(object);
  return loss;
}

Test(cli_training, the_loss_of_a_text_is_that_of_the_last_step) {
  const double whole = loss_of_text("--steps 4");
  (void)loss_of_text("--steps 3 --save three.ckpt");
  const double last = loss_of_text("--load three.ckpt --steps 4");
  cr_assert_eq(whole, last, "%.9g, not %.9g", whole, last);
}

/* ---- data ---- */

/* Models whose images must have more than 28x28 pixels. */
Test(cli_training, a_model_that_fashion_mnist_is_too_small_for_has_noise_where_no_data_are_named) {
  static const char *const model[] = {"vgg16", "unet"};
  for (int i = 0; i < 2; i++) {
    char line[128];
    (void)snprintf(line, sizeof line, "plan --model %s --batch 2 --model-costs --planner keep-all --json", model[i]);
    const char *out = plim_test_program(line)->out;
    plim_test_expect(0, "");
    cr_assert_not_null(strstr(out, "\"data\": \"synthetic\""), "%s", out);
    (void)snprintf(line, sizeof line, "plan --model %s --batch 2 --model-costs --data fashion-mnist", model[i]);
    (void)plim_test_program(line);
    plim_test_expect(2, "");
  }
}

/* ---- optimizers ---- */

/* The weights of the run that `words` describe, whose names the header has. */
static void weights_of(const char *words, const char *file) {
  char line[512];
  (void)snprintf(line, sizeof line, "train " MLP "%s --steps 6 --save %s", words, file);
  (void)plim_test_program(line);
  plim_test_expect(0, "");
}

Test(cli_training, momentum_is_the_name_of_sgd_with_velocities) {
  weights_of("", "default.ckpt");
  weights_of("--optimizer sgd", "sgd.ckpt");
  weights_of("--optimizer momentum", "momentum.ckpt");
  same_files("default.ckpt", "sgd.ckpt");
  same_files("default.ckpt", "momentum.ckpt");
}

Test(cli_training, sgd_without_momentum_saves_no_velocity) {
  weights_of("--optimizer momentum --momentum 0", "with.ckpt");
  weights_of("--optimizer sgd --momentum 0", "without.ckpt");
  cr_assert_eq(plim_test_shell("grep -aq velocity with.ckpt")->status, 0);
  cr_assert_neq(plim_test_shell("grep -aq velocity without.ckpt")->status, 0);
  (void)plim_test_program("verify " MLP "--optimizer sgd --momentum 0 --clip 0.5 --steps 3 --memory 99%%");
  plim_test_expect(0, "");
}

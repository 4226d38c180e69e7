/* The commands of the online mode: logs imported, graphs simulated, models trained without a plan. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/file.h"
#include "tests/support/child_program.h"
#include "tests/support/dtr_logs.h"
#include "tests/support/folder.h"

static plim_context *ctx;

static void setup(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  (void)plim_test_folder();
}

static void teardown(void) {
  (void)plim_test_shell("rm -rf plimsoll");
  plim_test_folder_remove();
  plim_context_free(ctx);
}
TestSuite(cli_online, .init = setup, .fini = teardown);

#define NETWORK \
  "--model resnet20 --layout nhwc --data synthetic --image 16x16x3 --batch 16 --model-costs --iterations 3000 "

static double number(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  cr_assert(json_is_number(value), "%s is missing or no number", key);
  return json_number_value(value);
}

static const char *text(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  cr_assert(json_is_string(value), "%s is missing or no text", key);
  return json_string_value(value);
}

/* x1 .. x8, each of its own kilobyte, all read again from the end: small.log. */
static void write_log(void) {
  plim_text log = {ctx, NULL, 0, 0, PLIM_OK};
  plim_text_add(&log, "{\"ANNOTATION\":\"START\",\"INSTRUCTION\":\"ANNOTATE\"}\n");
  dtr_constant(&log, "x0", 1024);
  for (int i = 1; i <= 8; i++) {
    char from[16], to[16];
    (void)snprintf(from, sizeof from, "x%d", i - 1);
    (void)snprintf(to, sizeof to, "x%d", i);
    dtr_call(&log, "f", from, to, 1024, -1, 100);
  }
  for (int i = 7; i >= 1; i--) {
    char args[32], to[16];
    (void)snprintf(args, sizeof args, "%c%d x%d", i == 7 ? 'x' : 'g', i + 1, i);
    (void)snprintf(to, sizeof to, "g%d", i);
    dtr_call(&log, "b", args, to, 1024, -1, 50);
    *strchr(args, ' ') = 0;
    dtr_release(&log, args);
    dtr_release(&log, args + strlen(args) + 1);
  }
  cr_assert_eq(plim_file_save(ctx, plim_test_path("small.log"), log.chars, log.length), PLIM_OK);
  plim_text_free(&log);
}

static void import_log(void) {
  write_log();
  (void)plim_test_program("import dtr small.log -o g.json");
  plim_test_expect(0, "");
}

Test(cli_online, imports_logs_compressed_or_not) {
  import_log();
  (void)plim_test_shell("gzip -k small.log && $PLIMSOLL import dtr small.log.gz -o z.json --json && cmp g.json z.json");
  plim_test_expect(0, "");
  (void)plim_test_shell("head -c 100 small.log.gz > cut.log.gz; $PLIMSOLL import dtr cut.log.gz -o c.json");
  plim_test_expect(3, "cut.log.gz: line ");
  (void)plim_test_shell(
      "head -c -4 small.log.gz > cut.log.gz; $PLIMSOLL import dtr cut.log.gz -o c.json 2>&1 | "
      "grep \"cut.log.gz: line $(wc -l < small.log): truncated gzip data\"");
  plim_test_expect(0, "");
  (void)plim_test_shell("echo x >> small.log; $PLIMSOLL import dtr small.log -o c.json");
  plim_test_expect(3, "small.log: line ");
  (void)plim_test_shell("test ! -e c.json");
  plim_test_expect(0, "");
}

Test(cli_online, simulates_policies_and_plans_within_the_same_bytes) {
  static const char *const ways[] = {"--online best",
                                     "--online coop",
                                     "--online dtr",
                                     "--online dte --addresses arena",
                                     "--planner search",
                                     "--online dtr --addresses none",
                                     "--planner search --addresses arena"};
  import_log();
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    (void)plim_test_program("simulate --graph g.json %s --memory 70%% --json", ways[i]);
    plim_test_expect(0, "");
    json_t *o = plim_test_json();
    cr_expect_str_eq(text(o, "status"), "ok");
    cr_expect_geq(number(o, "overhead_percent"), 0);
    cr_expect_geq(number(o, "evictions"), 0);
    cr_expect_geq(number(o, "recomputes"), 0);
    cr_expect_geq(number(o, "fragmentation_percent"), 0);
    cr_expect_geq(number(o, "search_seconds"), 0);
    json_decref(o);
  }
}

Test(cli_online, what_does_not_end_has_figures_and_status_4) {
  import_log();
  (void)plim_test_program("simulate --graph g.json --online dtr --addresses none --memory 2KiB --json");
  plim_test_expect(4, "small does not fit into 2.0 KiB (2048 bytes): the smallest budget that has a plan is 4.0 KiB");
  json_t *o = plim_test_json();
  cr_expect_str_eq(text(o, "status"), "oom");
  cr_expect(json_is_null(json_object_get(o, "overhead_percent")));
  json_decref(o);
  (void)plim_test_program("simulate --graph g.json --online dtr --memory 60%% --thrash 0 --json");
  plim_test_expect(4, "computes again for more than 0 times");
  o = plim_test_json();
  cr_expect_str_eq(text(o, "status"), "thrash");
  json_decref(o);
}

Test(cli_online, what_no_plan_fits_into_gets_the_sentence_of_a_plan) {
  static const char *const ways[] = {"simulate --online dtr", "simulate --planner search",
                                     "simulate --planner search --addresses arena", "plan --planner search"};
  import_log();
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    (void)plim_test_program("%s --graph g.json --memory 2KiB", ways[i]);
    plim_test_expect(
        4,
        "small does not fit into 2.0 KiB (2048 bytes): the smallest budget that has a plan is 4.0 KiB (4096 bytes), "
        "where op 'b.8' needs x8 (1024 bytes), x7");
  }
}

static int64_t needed_bytes(void) {
  json_t *o = plim_test_json();
  int64_t bytes = (int64_t)number(o, "online_bytes");
  json_decref(o);
  return bytes;
}

Test(cli_online, refusal_names_a_cap_in_which_the_policy_ends) {
  static const char *const ways[] = {"--online dtr",
                                     "--online coop",
                                     "--online best",
                                     "--online lru --thrash 0.2",
                                     "--online dtr --addresses none",
                                     "--online best --addresses none"};
  import_log();
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    (void)plim_test_program("simulate --graph g.json %s --memory 2KiB --json", ways[i]);
    plim_test_expect(4, "the smallest budget found by halving");
    int64_t bytes = needed_bytes();
    (void)plim_test_program("simulate --graph g.json %s --memory %lld", ways[i], (long long)bytes);
    plim_test_expect(0, "");
  }
  (void)plim_test_program("simulate --graph g.json --online dtr --memory 60%% --thrash 0");
  plim_test_expect(4, "dtr computes again for more than 0 times the step's time; --online dtr fits into");
}

Test(cli_online, refuses_what_makes_no_sense) {
  import_log();
  (void)plim_test_program("simulate --graph g.json --online dtrr");
  plim_test_expect(2, "did you mean \"dtr\"?");
  (void)plim_test_program("simulate --graph g.json --online dtr --addresses planed");
  plim_test_expect(2, "did you mean \"planned\"?");
  (void)plim_test_program("simulate --graph g.json --online dtr --addresses packed");
  plim_test_expect(2, "--online and --addresses planned cannot be combined");
  (void)plim_test_program("simulate --graph g.json --online dtr --planner search");
  plim_test_expect(2, "cannot be combined: a run is online, without a plan, or has one");
  (void)plim_test_program("simulate --online dtr");
  plim_test_expect(2, "requires --graph FILE");
  (void)plim_test_program("gen chain --ops 30 -o made.json");
  plim_test_expect(0, "");
  (void)plim_test_program("simulate --graph made.json --online dtr --addresses none");
  plim_test_expect(2, "needs the handles that a program held");
}

Test(cli_online, trains_without_a_plan_and_leaves_one_that_can_be_replayed) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  (void)plim_test_program("train " NETWORK "--online best --memory 45%% --steps 2 -o ran.json --save a.ckpt --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_expect_gt(number(o, "evictions"), 0);
  cr_expect_leq(number(o, "arena_bytes"), number(o, "budget_bytes"));
  json_decref(o);
  (void)plim_test_program("check ran.json");
  plim_test_expect(0, "");
  (void)plim_test_program("train " NETWORK "--plan ran.json --steps 2 --save b.ckpt");
  plim_test_expect(0, "");
  (void)plim_test_shell("cmp a.ckpt b.ckpt");
  plim_test_expect(0, "");
}

Test(cli_online, weights_are_those_of_ordinary_training_under_every_policy) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  static const char *const policies[] = {"coop", "dtr", "msps"};
  for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
    (void)plim_test_program("verify " NETWORK "--online %s --memory 80%% --steps 2", policies[i]);
    plim_test_expect(0, "");
  }
}

#define SMALL "--model mlp --data synthetic --image 8x8x1 --batch 16 --model-costs --iterations 3000 "

Test(cli_online, cap_below_the_working_set_of_an_op_is_refused_as_in_planned_mode) {
  (void)plim_test_program("train " SMALL "--memory 600KiB --steps 1");
  plim_test_expect(4, "does not fit into 600.0 KiB (614400 bytes): the smallest budget for which a plan was found is");
  (void)plim_test_program("train " SMALL "--online dtr --memory 600KiB --steps 1 --json");
  plim_test_expect(4, "does not fit into 600.0 KiB (614400 bytes): the smallest budget for which a plan was found is");
  plim_test_expect(4, "where op '");
  plim_test_expect(4, "; give more bytes: no batch was found to fit; --online dtr fits into");
  (void)plim_test_program("train " SMALL "--online dtr --memory %lld --steps 1", (long long)needed_bytes());
  plim_test_expect(0, "");
}

Test(cli_online, cap_that_a_policy_misses_where_a_plan_fits_names_what_the_policy_needs) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  (void)plim_test_program("train " NETWORK "--online lru --memory 6MB --thrash 0.01 --steps 1 --json");
  plim_test_expect(4, "--online lru does not fit into 5.7 MiB, where a plan does (without --online)");
  int64_t bytes = needed_bytes();
  cr_expect_gt(bytes, 6000000);
  (void)plim_test_program("train " NETWORK "--online lru --thrash 0.01 --memory %lld --steps 1", (long long)bytes);
  plim_test_expect(0, "");
  (void)plim_test_program("train " NETWORK "--online lru --thrash 0.01 --memory-at 1=6MB --steps 2");
  plim_test_expect(4, "--memory-at, step 1: --online lru does not fit into 5.7 MiB, where a plan does");
}

/* 4096 images: 4 batches of 1000, and 96 are left. */
#define UNEVEN "--data synthetic --image 4x4x3 --batch 1000 --model-costs --iterations 2000 "

Test(cli_online, last_batch_is_trained_in_the_same_arena_and_weights_are_those_of_ordinary_training) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  static const char *const ways[] = {"--memory 80%", "--memory 45% --online best", "--memory 70% --online coop"};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    (void)plim_test_program("verify --model resnet20 " UNEVEN "%s --last-batch online --steps 5 --json", ways[i]);
    plim_test_expect(0, "");
    json_t *o = plim_test_json();
    json_t *capped = json_object_get(o, "capped");
    cr_expect_eq(number(capped, "last_batch"), 96);
    cr_expect_leq(number(capped, "last_arena_bytes"), number(capped, "arena_bytes"));
    cr_expect_leq(number(capped, "arena_bytes"), number(capped, "budget_bytes"));
    json_decref(o);
  }
}

Test(cli_online, last_batch_adds_a_step_to_each_epoch) {
  cr_expect_not_null(strstr(plim_test_program("train --model mlp " UNEVEN "--epochs 2 --json")->out, "\"steps\": 8,"));
  (void)plim_test_program("train --model mlp " UNEVEN "--epochs 2 --last-batch online --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_expect_eq(number(o, "steps"), 10);
  json_decref(o);
  (void)plim_test_program("train --model mlp " UNEVEN "--last-batch onlin");
  plim_test_expect(2, "did you mean \"online\"?");
}

Test(cli_online, cap_shrinks_in_the_middle_of_a_step_and_the_weights_are_those_of_ordinary_training) {
  (void)plim_test_program("verify " NETWORK
                          "--memory 80%% --online dtr --memory-at 3=55%% --memory-at 1=67%% --steps 5 --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json(), *limits = json_object_get(o, "limits");
  int64_t keep_all = (int64_t)number(json_object_get(o, "capped"), "keep_all_bytes"), before = INT64_MAX;
  cr_assert_eq(json_array_size(limits), 2);
  for (size_t i = 0; i < 2; i++) {
    const json_t *row = json_array_get(limits, i);
    cr_expect_eq(number(row, "step"), 2 + 2 * (double)i);
    cr_expect(json_is_true(json_object_get(row, "taken")));
    cr_expect_leq(number(row, "arena_bytes"), number(row, "budget_bytes"));
    cr_expect_lt(number(row, "arena_bytes"), (double)before);
    cr_expect_geq(number(row, "returned_bytes"), (double)keep_all * 0.05);
    before = (int64_t)number(row, "arena_bytes");
  }
  json_decref(o);
}

Test(cli_online, figures_of_a_run_whose_cap_changes_are_of_the_whole_run) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  (void)plim_test_program("train " NETWORK "--memory 80%% --memory-at 2=60%% --memory-at 9=50%% --steps 5 --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_expect_eq(json_array_size(json_object_get(o, "limits")), 1, "step 9 was not reached");
  cr_expect_eq(number(o, "peak_measured_bytes"), number(o, "peak_bytes"), "the first steps took most");
  if (json_object_get(o, "hidden_bytes")) {
    cr_expect_leq(number(o, "hidden_bytes"), 1024 * number(o, "commands"), "a library's bytes, no planner's");
  }
  json_decref(o);
  const char *out = plim_test_program("train " NETWORK "--memory 80%% --memory-at 9=50%% --steps 3")->out;
  cr_expect_not_null(strstr(out, "changes of budget    0 of 1: the run ended before that of step 9 took over\n"), "%s",
                     out);
}

Test(cli_online, cap_to_come_that_nothing_fits_into_is_refused_before_the_run) {
  (void)plim_test_program("train " SMALL "--memory-at 2=600KiB --steps 3");
  plim_test_expect(4,
                   "--memory-at, step 2: mlp with batch 16 and the kernels of the run's first plan does not fit into "
                   "600.0 KiB (614400 bytes): ");
  (void)plim_test_program("train " SMALL "--memory-at 2 --steps 3");
  plim_test_expect(2, "is not STEP=SIZE");
  (void)plim_test_program("train " SMALL "--memory-at 99999999999999999999=50%% --steps 3");
  plim_test_expect(2, "is not STEP=SIZE");
  (void)plim_test_program("train " SMALL "--memory-at 2=90%% --memory-at 2=95%% --steps 3");
  plim_test_expect(2, "step 2 has two budgets");
  (void)plim_test_program("train " SMALL "--memory-at 2=99%% --addresses jemalloc --steps 3");
  plim_test_expect(2, "cannot be combined");
}

Test(cli_online, window_search_is_measured_without_any_data) {
  (void)plim_test_program("bench window --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json(), *rows = json_object_get(o, "rows");
  cr_assert_eq(json_array_size(rows), 3);
  cr_expect_eq(number(json_array_get(rows, 1), "blocks"), 10000);
  cr_expect_gt(number(json_array_get(rows, 1), "search_ns"), 0);
  json_decref(o);
}

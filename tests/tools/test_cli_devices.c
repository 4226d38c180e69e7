/* plimsoll train, plan and verify on several CPU devices: plans, refusals, traces, times in place and equal weights. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/child_program.h"
#include "tests/support/folder.h"

#define RESNET "--model resnet20 --data synthetic --batch 8 --model-costs --no-cache -q --threads 2 "
#define SMALL "--model tinyres --data synthetic --batch 8 --model-costs --no-cache -q "
#define TINY SMALL "--threads 1 --iterations 1 "

static void begin(void) {
  (void)plim_test_folder();
}
static void end(void) {
  plim_test_folder_remove();
}
TestSuite(cli_devices, .init = begin, .fini = end, .timeout = 600);

/* ---- two devices ---- */

Test(cli_devices, a_plan_of_two_devices_runs_from_its_file) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  (void)plim_test_program("plan " SMALL "--threads 2 --iterations 1 --memory cpu:0=50%%,cpu:1=50%% -o two.json");
  plim_test_expect(0, "");
  (void)plim_test_program("train " SMALL "--threads 2 --steps 1 --plan two.json");
  plim_test_expect(0, "");
}

Test(cli_devices, a_model_is_planned_on_two_devices) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  plim_test_expect_output(plim_test_program("plan " RESNET "--memory cpu:0=60%%,cpu:1=60%% -o two.json"),
                          " on devices");
  plim_test_expect_output(plim_test_program("check two.json"), "valid                yes");
  plim_test_expect_output(plim_test_program("verify " SMALL "--steps 2 --threads 2 --memory cpu:0=60%%,cpu:1=60%%"),
                          "weights identical    yes");
  (void)plim_test_program("plan " RESNET "--time-limit 2 --memory cpu:0=1MiB,cpu:1=1MiB");
  plim_test_expect(4, "the smallest budget of cpu:0 for which one was found is ");
}

Test(cli_devices, two_devices_close_half_of_the_gap_of_a_model) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  plim_test_expect_output(plim_test_program("bench xengine --shapes resnet20 --budgets 100%%"),
                          "1 of 1 cases close 50 % of the gap or more");
}

/* The other run is on one device, with as many threads as each of the two has. */
Test(cli_devices, compares_a_run_on_two_devices_with_one_that_keeps_everything_on_one) {
  const program_run *run = plim_test_program("compare " TINY "--threads 2 --memory cpu:0=60%%,cpu:1=60%% --steps 2");
  plim_test_expect_output(run, "cpu, 1 thread,");
  plim_test_expect_output(run, " devices together");
  plim_test_expect_output(run, "overhead, measured");
  plim_test_expect_output(run, "weights identical    yes");
}

Test(cli_devices, ops_of_several_devices_are_timed_while_the_others_are_busy_and_those_of_one_alone) {
  static const char *const memory[] = {"cpu:0=8MiB,cpu:1=8MiB", "cpu:0=8MiB,cpu:1=8MiB,cpu:2=8MiB",
                                       "cpu=8MiB,host=64MiB"},
                           *const busy[] = {"\"beside\": 1\n", "\"beside\": 2\n", ""};
  for (int i = 0; i < 3; i++) {
    char line[512];
    (void)snprintf(line, sizeof line,
                   "XDG_CACHE_HOME=$PWD/cache $PLIMSOLL train --model mlp --data synthetic --image 8x8x1 --batch 32 "
                   "--threads 3 --steps 1 --trial 0 --iterations 1 -q --memory %s -o p.json >/dev/null && "
                   "cat cache/plimsoll/profile-*.json | grep -o '\"beside\": [0-9]*'; rm -rf cache p.json",
                   memory[i]);
    const program_run *run = plim_test_shell(line);
    cr_expect_str_eq(run->out, busy[i], "%s%s", run->out, run->error);
  }
}

/* ---- more than two devices ---- */

#define THREE "--iterations 200 --threads 3 --memory cpu:0=%d%%,cpu:1=%d%%,cpu:2=%d%%%s "

Test(cli_devices, three_devices_are_planned_checked_run_and_verified) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  static const struct {
    int percent;
    const char *host, *row;
  } budgets[] = {{60, "", "\ncpu:2 "}, {45, ",host=64MiB", "\nhost "}};
  for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
    const int p = budgets[i].percent;
    (void)plim_test_program("plan " TINY THREE "-o three.json", p, p, p, budgets[i].host);
    plim_test_expect(0, "");
    plim_test_expect_output(plim_test_program("check three.json"), "valid                yes");
    const program_run *run = plim_test_program("verify " TINY "--threads 3 --steps 3 --plan three.json");
    plim_test_expect_output(run, "weights identical    yes");
    run = plim_test_program("verify " TINY "--steps 3 " THREE, p, p, p, budgets[i].host);
    plim_test_expect_output(run, "weights identical    yes");
    plim_test_expect_output(run, "cpu>cpu:2 ");
    plim_test_expect_output(run, budgets[i].row);
  }
}

Test(cli_devices, three_devices_are_timed_in_place_and_change_their_budget_with_equal_weights) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  const program_run *run = plim_test_program("verify " TINY "--steps 9 --retime 3 " THREE, 70, 70, 70, "");
  plim_test_expect_output(run, "timed in place");
  plim_test_expect_output(run, "weights identical    yes");
  run = plim_test_program("verify " TINY "--steps 5 --numerics small --memory-at 2=70%% " THREE, 90, 90, 90, "");
  plim_test_expect_output(run, "changes of budget    1");
  plim_test_expect_output(run, "weights identical    yes");
}

/* Of eight devices links share queues. */
Test(cli_devices, a_trace_of_many_devices_has_a_row_for_each_queue_and_space) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  (void)plim_test_program("train " TINY "--steps 12 --trace t.jsonl " THREE, 60, 60, 60, "");
  plim_test_expect(0, "");
  plim_test_expect_output(plim_test_program("trace summary t.jsonl"), " cpu>cpu:2 ");
  const program_run *run = plim_test_program("trace step t.jsonl --at 40");
  plim_test_expect_output(run, "\ncpu:2  ");
  plim_test_expect_output(run, "\ncpu>cpu:2  ");
  (void)plim_test_program("trace export t.jsonl -o t.svg");
  plim_test_expect(0, "");
  run = plim_test_shell("grep -c '>cpu:2</text>' t.svg; grep -c 'class=.bytes. d' t.svg");
  cr_expect_str_eq(run->out, "2\n3\n"); /* a queue and a space */
  (void)plim_test_program("train " TINY
                          "--steps 12 --trace t.jsonl --threads 8 --memory cpu:0=60%%,cpu:1=60%%,cpu:2=60%%,cpu:3=60%%,"
                          "cpu:4=60%%,cpu:5=60%%,cpu:6=60%%,cpu:7=60%%");
  plim_test_expect(0, "");
  plim_test_expect_output(plim_test_program("trace summary t.jsonl"), " cpu>cpu:1 ");
}

Test(cli_devices, devices_that_cannot_be_are_refused_with_one_sentence) {
  static const struct {
    const char *options, *words;
  } rows[] = {
      {"--threads 3 --memory cpu:0=1MiB,cpu:2=1MiB", ": cpu:1 is missing: devices have the numbers 0 to 2"},
      {"--threads 3 --memory cpu:1=1MiB,cpu:2=1MiB", "the arena needs a size too"},
      {"--threads 9 --memory cpu:0=1MiB,cpu:8=1MiB", ": 8 devices are the most, and cpu:7 is the last of them"},
      {"--threads 3 --memory cpu:0=1MiB,cpu:1=1MiB,cpu:1=1MiB", "cpu:1 is given twice"},
      {"--threads 3 --memory cpu:0=1MiB,cpu:01=1MiB", "there is no space 'cpu:01'; there are cpu, or cpu:0, cpu:1 and"},
      {"--threads 3 --memory cpu:0=1MiB,cpu:1=1MiB,cpu:2=", "no size follows cpu:2="},
      {"--threads 2 --memory cpu:0=1MiB,cpu:1=1MiB,cpu:2=1MiB",
       "3 devices need a thread each, and there are 2: give --threads 3 or more"},
      {"--threads 1 --memory cpu:0=1MiB,cpu:1=1MiB",
       "2 devices need a thread each, and there is 1: give --threads 2 or more"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    (void)plim_test_program("plan --model tinyres --data synthetic --batch 8 --model-costs --no-cache -q %s",
                            rows[i].options);
    plim_test_expect(2, rows[i].words);
  }
  (void)plim_test_program("plan " TINY "--threads 3 --memory cpu:0=60%%,cpu:1=60%%,cpu:2=60%% -o three.json");
  plim_test_expect(0, "");
  (void)plim_test_program("train " TINY "--threads 2 --steps 1 --plan three.json");
  plim_test_expect(2, "3 devices need a thread each, and there are 2");
}

Test(cli_devices, budgets_of_three_devices_without_a_plan_are_refused_with_one_that_has_one) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  const char words[] = "the smallest budget of cpu:0 for which one was found is ";
  const program_run *run =
      plim_test_program("plan " TINY "--threads 3 --memory cpu:0=100KiB,cpu:1=100KiB,cpu:2=100KiB,host=1MiB");
  cr_expect_eq(run->status, 4, "%s", run->error);
  cr_expect_not_null(strstr(run->error, " beside 1.0 MiB of host, 100.0 KiB of cpu:1 and 100.0 KiB of cpu:2 was"), "%s",
                     run->error);
  const char *at = strstr(run->error, words), *bytes = at ? strchr(at, '(') : NULL;
  cr_assert_not_null(bytes, "%s", run->error);
  (void)plim_test_program("plan " TINY "--threads 3 --memory cpu:0=%lld,cpu:1=100KiB,cpu:2=100KiB,host=1MiB",
                          strtoll(bytes + 1, NULL, 10));
  plim_test_expect(0, "");
}

/* tools/gpu_check, rehearsed: on the CPU and over the GPU that is none (tests/support/stand_in.c) the script runs its
 * parts, bounds its time, and writes reports that can be read. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/folder.h"
#include "tests/support/program.h"

static void setup(void) {
  (void)plim_test_folder();
}
static void teardown(void) {
  (void)plim_test_shell("rm -rf plimsoll bin out");
  plim_test_folder_remove();
}
TestSuite(gpu_check, .init = setup, .fini = teardown);

/* Beside a folder with the programs that it looks for, the stand-in as the command line. */
static const program_run *check(const char *environment, const char *arguments) {
  char line[1024];
  int length = snprintf(line, sizeof line,
                        "mkdir -p bin && ln -sf $PLIMSOLL-stand-in bin/plimsoll && "
                        "ln -sf $(dirname $PLIMSOLL)/test_on_device bin && %s " PLIM_SOURCE_DIR "/tools/gpu_check %s",
                        environment, arguments);
  cr_assert(length > 0 && length < (int)sizeof line);
  return plim_test_shell(line);
}

static json_t *report(void) {
  json_error_t error;
  json_t *o = json_load_file(plim_test_path("out/gpu.json"), JSON_REJECT_DUPLICATES, &error);
  cr_assert_not_null(o, "line %d: %s", error.line, error.text);
  return o;
}

static const json_t *goal(const json_t *report, const char *name) {
  size_t i;
  const json_t *row = NULL;
  json_array_foreach(json_object_get(report, "goals"), i, row) {
    if (strcmp(json_string_value(json_object_get(row, "name")), name) == 0) return row;
  }
  cr_assert_fail("no goal %s", name);
  return row;
}

static const char *status_of(const json_t *o, const char *part) {
  const json_t *row = json_object_get(json_object_get(o, "parts"), part);
  cr_assert_not_null(row, "no part %s", part);
  return json_string_value(json_object_get(row, "status"));
}

Test(gpu_check, a_rehearsal_on_the_cpu_runs_parts_and_skips_those_of_a_gpu) {
  /* twelve trainings in one part: long under sanitizers, where the script is the same */
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  (void)check("", "--device cpu --bin bin --out out --only train,libraries,vram,verify,ctest");
  plim_test_expect(0, "failed: none; no time for: none");
  json_t *o = report();
  const json_t *runs = json_object_get(json_object_get(json_object_get(o, "parts"), "verify"), "runs");
  cr_assert_eq(json_object_size(json_object_get(o, "parts")), 5);
  cr_assert_str_eq(status_of(o, "libraries"), "passed");
  cr_assert_str_eq(status_of(o, "verify"), "passed");
  cr_assert_str_eq(status_of(o, "vram"), "SKIP");
  cr_assert_str_eq(status_of(o, "ctest"), "SKIP");
  cr_assert_eq(json_array_size(runs), 6);
  for (size_t i = 0; i < json_array_size(runs); i++) {
    const json_t *run = json_array_get(runs, i);
    cr_assert_eq(json_integer_value(json_object_get(run, "exit_status")), 0);
    cr_assert(json_is_true(json_object_get(json_object_get(run, "figures"), "identical")));
    cr_assert_not_null(strstr(json_string_value(json_object_get(run, "command")), "verify --model resnet20"));
  }
  cr_assert_str_eq(json_string_value(json_object_get(goal(o, "resnet50_bf16"), "relation")), ">=");
  cr_assert_eq(json_real_value(json_object_get(goal(o, "resnet50_bf16"), "limit")), 1.0);
  cr_assert(json_is_null(json_object_get(goal(o, "resnet20_bf16_any"), "limit")));
  cr_assert(json_is_true(json_object_get(o, "rehearsal")));
  json_decref(o);
  const program_run *run = plim_test_shell("cat out/gpu.md; ls -A out");
  cr_assert_not_null(strstr(run->out, "| vram | SKIP: for a GPU alone | 0 |"), "%s", run->out);
  cr_assert_not_null(strstr(run->out, "\n.gpu_check\ngpu.json\ngpu.md\ngpu_runs.md\n"), "%s", run->out);
}

Test(gpu_check, what_a_gpu_alone_can_do_is_rehearsed_over_the_one_that_is_none) {
  (void)check("PLIM_TEST_GPU=module_bytes=4194304", "--quick --bin bin --out out --only libraries,vram");
  plim_test_expect(0, "failed: none; no time for: none");
  json_t *o = report();
  cr_assert_str_eq(status_of(o, "vram"), "passed");
  const json_t *growth = goal(o, "outside_growth");
  cr_assert_eq(json_integer_value(json_object_get(growth, "measured")), 0);
  cr_assert(json_is_integer(json_object_get(growth, "measured")));
  json_decref(o);
}

Test(gpu_check, what_fails_is_told_with_its_sentence_and_does_not_stop_the_rest) {
  (void)check("PLIM_TEST_GPU=memory_bytes=6291456", "--quick --bin bin --out out --only libraries,vram,memcheck");
  plim_test_expect(1, "failed: vram; no time for: none");
  json_t *o = report();
  const json_t *run = json_array_get(json_object_get(json_object_get(json_object_get(o, "parts"), "vram"), "runs"), 0);
  cr_assert_eq(json_integer_value(json_object_get(run, "exit_status")), 4);
  cr_assert_not_null(strstr(json_string_value(json_object_get(run, "output")), "more than the GPU can give now"));
  cr_assert_str_eq(status_of(o, "libraries"), "passed");
  json_decref(o);
}

Test(gpu_check, options_in_pairs_end_as_they_should) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  (void)check("PLIM_TEST_GPU=", "--quick --bin bin --out out --only options");
  plim_test_expect(0, "failed: none; no time for: none");
  json_t *o = report();
  cr_assert_eq(json_integer_value(json_object_get(goal(o, "option_pairs"), "measured")), 10);
  json_decref(o);
}

/* On one page: what failed in the words of the library, what was dropped, what passed; then the rest is run. */
Test(gpu_check, a_run_ends_with_a_page_and_is_resumed_where_it_failed) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  (void)check("PLIM_TEST_GPU=dnn=1,illegal_engine=1", "--quick --bin bin --out out --only libraries,variants");
  plim_test_expect(1, "failed: variants; no time for: none");
  const program_run *run = plim_test_shell("cat out/gpu.md");
  cr_assert_not_null(strstr(run->out, "| variants | Every variant of ResNet-20 (exit status 5) | plimsoll: "), "%s",
                     run->out);
  cr_assert_not_null(strstr(run->out, "an illegal memory access was encountered (CUDA error 700) |"), "%s", run->out);
  cr_assert_not_null(strstr(run->out, "| libraries | passed | "), "%s", run->out);
  run = check("PLIM_TEST_GPU=dnn=1,refuse_run=1", "--quick --bin bin --out out --only libraries,variants --resume");
  plim_test_expect(0, "failed: none; no time for: none");
  cr_assert_null(strstr(run->error, "libraries"), "what passed was run again: %s", run->error);
  run = plim_test_shell("cat out/gpu.md");
  cr_assert_not_null(strstr(run->out, "## What failed\n\nNothing."), "%s", run->out);
  cr_assert_not_null(strstr(run->out, "(cuDNN status 3008: engine 1 refuses to run) |"), "%s", run->out);
  json_t *o = report();
  cr_assert_str_eq(status_of(o, "libraries"), "passed");
  cr_assert_gt(json_integer_value(json_object_get(goal(o, "dropped"), "measured")), 5);
  json_decref(o);
}

Test(gpu_check, parts_that_find_no_time_say_so) {
  (void)check("", "--device cpu --bin bin --out out --only libraries,train,verify --seconds 6");
  json_t *o = report();
  cr_assert_str_eq(status_of(o, "verify"), "no time");
  cr_assert_not_null(strstr(plim_test_shell("cat out/gpu.md")->out, "run it alone: --only verify"));
  json_decref(o);
}

/* Row of a table: environment, arguments, exit status, words of the one line. */
static const struct {
  const char *environment, *arguments;
  int status;
  const char *words;
} inputs[] = {
    {"", "--parts verify", 2, "--parts is no option"},
    {"", "--only", 2, "--only needs a value"},
    {"", "--only verify,verfy --bin bin", 2, "no part is called \"verfy\": libraries kernels"},
    {"", "--device gpu --bin bin", 2, "--device gpu is neither cpu nor cuda:N"},
    {"", "--seconds soon --bin bin", 2, "--seconds soon is not a whole number"},
    {"", "--device cpu --bin none --out out", 5, "none/plimsoll is not there"},
    {"", "--device cpu --bin bin --out /proc/none", 5, "the folder /proc/none cannot be made"},
    {"PLIM_TEST_GPU=no_driver=1", "--bin bin --out out", 5, "no GPU can be used: no driver"},
    {"PLIM_TEST_GPU=", "--device cuda:3 --bin bin --out out", 5, "there is no cuda:3"},
    {"PATH=/usr/bin:/bin", "--out out", 5, "nvcc is not on the PATH"},
};

Test(gpu_check, answers_bad_input_with_one_line) {
  int nvcc = plim_test_shell("PATH=/usr/bin:/bin; command -v nvcc")->status == 0;
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
    if (nvcc && strstr(inputs[i].words, "nvcc")) continue;
    const program_run *run = check(inputs[i].environment, inputs[i].arguments);
    cr_expect_eq(run->status, inputs[i].status, "%s: exit status %d: %s", inputs[i].arguments, run->status, run->error);
    cr_expect_not_null(strstr(run->error, inputs[i].words), "%s: %s", inputs[i].arguments, run->error);
    const char *end = strchr(run->error, '\n');
    cr_expect(end && end[1] == 0, "%s: more than one line: %s", inputs[i].arguments, run->error);
  }
}

Test(gpu_check, lists_its_parts) {
  const program_run *run = check("", "--help");
  cr_assert_eq(run->status, 0);
  cr_assert_not_null(strstr(run->out, "  verify      40  weights at six budgets"), "%s", run->out);
}

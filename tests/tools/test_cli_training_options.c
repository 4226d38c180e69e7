/* tools/plimsoll: options of a training run, every two of them together, on a CPU and on a GPU. What two parts of a run
 * share (times of the executor, the arena, the plan that runs) must serve both. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/child_program.h"
#include "tests/support/folder.h"

static void setup(void) {
  (void)plim_test_folder();
}
static void teardown(void) {
  (void)plim_test_shell("rm -rf plimsoll");
  plim_test_folder_remove();
}
TestSuite(cli_matrix, .init = setup, .fini = teardown, .timeout = 600);

#define TRAIN                                                                                                  \
  "PLIM_TEST_GPU= $PLIMSOLL-fake-gpu train --model mlp --data synthetic --image 8x8x1 --batch 32 --threads 1 " \
  "--model-costs --iterations 100 --no-progress --no-cache --steps 14 "

/* Rows of options; a pair whose halves exclude each other is refused with a sentence, status 2. */
static const struct {
  const char *text;
  const char *excludes; /* letters of the rows that this one cannot go with; '!': refused on a GPU */
} option[] = {
    ['a' - 'a'] = {"--trace t.jsonl", ""},
    ['b' - 'a'] = {"--retime 0", ""},
    ['c' - 'a'] = {"--retime 3", "fgh"},
    ['d' - 'a'] = {"--no-graph", ""},
    ['e' - 'a'] = {"--memory 300%", ""},
    ['f' - 'a'] = {"--addresses jemalloc", "ch!"},
    ['g' - 'a'] = {"--online coop --memory 300%", "c"},
    ['h' - 'a'] = {"--addresses arena", "cf"},
    ['i' - 'a'] = {"--save w.ckpt -o p.json", ""},
};
enum { OPTIONS = sizeof option / sizeof *option };

static int excluded(int i, int k, int gpu) {
  const char letter[] = {(char)('a' + k), 0};
  if (strpbrk(option[i].excludes, letter)) return 1;
  if (gpu) return strchr(option[i].excludes, '!') || strchr(option[k].excludes, '!');
  return strstr(option[i].text, "--no-graph") || strstr(option[k].text, "--no-graph");
}

#ifdef PLIM_HAVE_JEMALLOC
enum { HAS_JEMALLOC = 1 };
#else
enum { HAS_JEMALLOC = 0 };
#endif

/* A pair that excludes nothing, but wants what this build lacks: status 5. */
static int lacks(int i) {
  return !HAS_JEMALLOC && strstr(option[i].text, "jemalloc");
}

static void run_pair(const char *device, int i, int k) {
  char line[512];
  int gpu = strcmp(device, "cpu") != 0;
  (void)snprintf(line, sizeof line, TRAIN "--device %s %s %s", device, option[i].text, option[k].text);
  const program_run *run = plim_test_shell(line);
  int expected = excluded(i, k, gpu) ? 2 : lacks(i) || lacks(k) ? 5 : 0;
  cr_expect_eq(run->status, expected, "%s: exit status %d, expected %d: %s", line, run->status, expected, run->error);
}

/* Under sanitizers one pair in three runs, in nine on a GPU; the release build runs all. */
static void run_all(const char *device) {
#ifdef PLIM_SANITIZED
  const int stride = strcmp(device, "cpu") == 0 ? 3 : 9;
#else
  const int stride = 1;
#endif
  int pairs = 0;
  for (int i = 0; i < OPTIONS; i++) {
    for (int k = i + 1; k < OPTIONS; k++) {
      if (pairs++ % stride > 0) continue;
      if (strncmp(option[i].text, option[k].text, 8) != 0) run_pair(device, i, k); /* not one option twice */
    }
  }
}

Test(cli_matrix, every_two_options_go_together_or_are_refused_on_a_cpu) {
  run_all("cpu");
}

Test(cli_matrix, every_two_options_go_together_or_are_refused_on_a_gpu) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  run_all("cuda:0");
}

/* The trace needs the times of ten steps, timing in place those of three among them. */
Test(cli_matrix, a_trace_and_times_in_place_share_the_times_of_a_step) {
  static const char *const device[] = {"cpu", "cuda:0"};
  for (size_t i = 0; i < sizeof device / sizeof *device; i++) {
    char line[512];
    (void)snprintf(line, sizeof line, TRAIN "--device %s --retime 3 --trace t.jsonl --json", device[i]);
    (void)plim_test_shell(line);
    plim_test_expect(0, "");
    json_t *o = plim_test_json();
    cr_assert_not_null(json_object_get(o, "retimed"));
    json_decref(o);
    (void)plim_test_program("trace step t.jsonl --plain </dev/null");
    plim_test_expect(0, "");
  }
}

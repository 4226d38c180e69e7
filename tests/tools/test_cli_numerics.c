/* --numerics: which kernels a run may use, what is said of it, and that the same numerics give the same bits. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "kernels/isa.h"
#include "kernels/table.h"
#include "tests/support/child_program.h"
#include "tests/support/folder.h"

static void setup(void) {
  (void)plim_test_folder();
}
static void teardown(void) {
  (void)plim_test_shell("rm -rf plimsoll");
  plim_test_folder_remove();
}
TestSuite(cli_numerics, .init = setup, .fini = teardown);

/* Modelled costs, so that no kernel is chosen by the clock. Under a cap of 99 % the fastest kernels of this network do
 * not fit: they need their workspace at the peak. */
#define MLP "--model mlp --data synthetic --batch 64 --model-costs --iterations 300 --threads 2 --no-progress "
#define NETWORK                                                                                                \
  "--model resnet20 --layout nhwc --data synthetic --image 16x16x3 --batch 16 --model-costs --iterations 300 " \
  "--threads 2 --no-progress "
static const char first_line[] = "numerics: ";

/* On some processors the library has a second kernel for products of matrices, with a workspace. Elsewhere an op has
 * one kernel. */
static void require_choice(void) {
  if (strcmp(plim_kernel_library(), "none") == 0) cr_skip_test("built without oneDNN");
  if (!plim_isa_supported(PLIM_ISA_V4)) cr_skip_test("needs AVX-512");
}

static int64_t labels_changed(void) {
  json_t *o = plim_test_json();
  int64_t n = json_integer_value(json_object_get(o, "labels_changed"));
  json_decref(o);
  return n;
}

static int files_differ(const char *a, const char *b) {
  char line[256];
  (void)snprintf(line, sizeof line, "cmp -s %s %s", a, b);
  return plim_test_shell(line)->status;
}

static const program_run *passes(const char *arguments) {
  const program_run *run = plim_test_program("%s", arguments);
  cr_assert_eq(run->status, 0, "%s: %s", arguments, run->error);
  return run;
}

Test(cli_numerics, are_the_first_line_exactly_where_they_are_not_those_of_the_unlimited_run) {
  require_choice();
  static const char *const budgets[] = {"", "--memory 99% ", "--memory 98.5% ", "--memory 99% --numerics small ",
                                        "--numerics fastest "};
  int differing = 0;
  for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
    char line[512];
    (void)snprintf(line, sizeof line, "plan " MLP "%s --json", budgets[i]);
    (void)passes(line);
    int64_t changed = labels_changed();
    (void)snprintf(line, sizeof line, "plan " MLP "%s", budgets[i]);
    const program_run *run = passes(line);
    int told = strncmp(run->out, first_line, strlen(first_line)) == 0;
    cr_assert_eq(told, changed > 0, "%s: %d numerics keys changed: %.80s", budgets[i], (int)changed, run->out);
    cr_assert_eq(strstr(run->out, first_line) != NULL, told, "it is the first line or none");
    differing += changed > 0;
  }
  require_choice();
  cr_assert_gt(differing, 0);
}

Test(cli_numerics, by_default_a_cap_may_give_other_bits_and_with_the_fastest_it_gives_the_same) {
  require_choice();
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  (void)passes("train " NETWORK "--numerics fastest --steps 3 --save whole.ckpt");
  (void)passes("train " NETWORK "--numerics fastest --memory 80% --steps 3 --save capped.ckpt");
  cr_assert_eq(files_differ("whole.ckpt", "capped.ckpt"), 0);
  require_choice();
  const program_run *run = passes("train " MLP "--memory 99% --steps 3 --save a.ckpt");
  cr_assert_eq(strncmp(run->out, first_line, strlen(first_line)), 0, "%.80s", run->out);
  (void)passes("train " MLP "--steps 3 --save b.ckpt");
  cr_assert_neq(files_differ("a.ckpt", "b.ckpt"), 0);
}

Test(cli_numerics, a_resumed_run_keeps_them) {
  require_choice();
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  (void)passes("train " MLP "--memory 99% --steps 6 --save whole.ckpt");
  (void)passes("train " MLP "--memory 99% --steps 3 --total-steps 6 --save half.ckpt");
  const program_run *run = passes("train " MLP "--load half.ckpt --steps 6 --total-steps 6 --save both.ckpt");
  cr_assert_null(strstr(run->out, "resumed:"), "nothing has changed: %.200s", run->out);
  cr_assert_eq(files_differ("whole.ckpt", "both.ckpt"), 0, "the cap is gone and the kernels are the same");
}

Test(cli_numerics, a_resumed_run_that_cannot_keep_them_is_refused_with_the_smallest_budget_that_can) {
  require_choice();
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  require_choice();
  (void)passes("train " MLP "--steps 3 --save half.ckpt");
  const program_run *run = plim_test_program("train " MLP "--load half.ckpt --steps 6 --memory 99%%");
  cr_assert_eq(run->status, 4);
  cr_assert_not_null(strstr(run->error, "the kernels of the file given"), "%s", run->error);
  cr_assert_not_null(strstr(run->error, "the smallest budget for which a plan was found is"), "%s", run->error);
  run = plim_test_program("train " MLP "--load half.ckpt --steps 6 --memory 99%% --numerics auto");
  cr_assert_eq(run->status, 0, "%s", run->error);
  cr_assert_not_null(strstr(run->out, "resumed: 1 of 28 ops run other kernels"), "%.300s", run->out);
}

Test(cli_numerics, what_a_resumed_run_changes_is_said) {
  (void)passes("train " MLP "--steps 3 --save half.ckpt");
  const program_run *run = passes("train " MLP "--load half.ckpt --steps 6 --batch 32 --rate 0.5");
  cr_assert_not_null(strstr(run->out, "resumed: --batch is 32, it was 64\n"), "%.300s", run->out);
  cr_assert_not_null(strstr(run->out, "resumed: --rate is 0.5, it was 0.01\n"), "%.300s", run->out);
  cr_assert_not_null(strstr(run->out, "resumed: --total-steps is 6, it was 3\n"), "%.300s", run->out);
}

Test(cli_numerics, of_a_plan_or_a_checkpoint_are_used_again) {
  require_choice();
  (void)passes("plan " MLP "--memory 99% -o plan.json");
  (void)passes("train " MLP "--memory 99% --steps 2 --save a.ckpt");
  (void)passes("train " MLP "--numerics plan.json --steps 2 --save b.ckpt");
  (void)passes("train " MLP "--numerics a.ckpt --steps 2 --save c.ckpt");
  cr_assert_eq(files_differ("a.ckpt", "b.ckpt"), 0);
  cr_assert_eq(files_differ("a.ckpt", "c.ckpt"), 0);
  (void)plim_test_program("train " MLP "--batch 32 --numerics a.ckpt --steps 2");
  plim_test_expect(3, "a.ckpt: it is of another batch, layout or precision");
}

Test(cli_numerics, compare_runs_both_sides_with_equal_ones_and_compares_the_runs_shown) {
  require_choice();
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  (void)passes("compare " MLP "--memory 99% --steps 20 --json");
  json_t *o = plim_test_json();
  const char *capped = json_string_value(json_object_get(json_object_get(o, "capped"), "arithmetic"));
  const char *keep_all = json_string_value(json_object_get(json_object_get(o, "keep_all"), "arithmetic"));
  cr_assert_str_eq(capped, keep_all);
  cr_assert(json_is_true(json_object_get(o, "identical")));
  json_decref(o);
  const program_run *run = passes("compare " MLP "--memory 99% --steps 30");
  cr_assert_not_null(strstr(run->out, "after 30 steps with equal numerics"), "%s", run->out);
}

Test(cli_numerics, a_refusal_under_fixed_ones_names_what_others_need_and_says_that_they_are_fixed) {
  require_choice();
  const program_run *run = plim_test_program("plan " MLP "--numerics fastest --memory 99%% --json");
  cr_assert_eq(run->status, 4);
  cr_assert_not_null(strstr(run->error, "none with these numerics exists below"), "%s", run->error);
  cr_assert_not_null(strstr(run->error, "--numerics auto"), "%s", run->error);
  json_t *o = plim_test_json();
  int64_t others = json_integer_value(json_object_get(o, "smallest_auto_bytes"));
  cr_assert_gt(others, 0);
  cr_assert_leq(others, json_integer_value(json_object_get(o, "budget_bytes")));
  json_decref(o);
  run = plim_test_program("plan " MLP "--memory %lld", (long long)others);
  cr_assert_eq(run->status, 0, "%s", run->error);
}

Test(cli_numerics,
     a_cap_in_mid_run_that_the_first_plans_kernels_do_not_fit_says_so_and_one_that_never_comes_is_no_failure) {
  require_choice();
  const program_run *run = plim_test_program("train " MLP "--steps 3 --memory 100%% --memory-at 1=99%%");
  cr_assert_eq(run->status, 4);
  cr_assert_not_null(strstr(run->error, "the kernels of the run's first plan"), "%s", run->error);
  cr_assert_not_null(strstr(run->error, "none with these numerics exists below"), "%s", run->error);
  cr_assert_not_null(strstr(run->error, "--numerics small"), "%s", run->error);
  (void)passes("train " MLP "--steps 3 --memory 100% --memory-at 99=99%");
}

Test(cli_numerics, have_their_old_names_still) {
  const program_run *run = passes("plan " MLP "--arithmetic fast --json");
  cr_assert_eq(labels_changed(), 0);
  (void)passes("plan " MLP "-afast --json");
  run = plim_test_program("plan --help");
  cr_assert_not_null(strstr(run->out, "--numerics"));
  cr_assert_null(strstr(run->out, "--arithmetic"));
}

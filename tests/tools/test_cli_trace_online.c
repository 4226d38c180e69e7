/* plimsoll trace over online runs: their reasons, second simulates, and graphs that are simulated without a file. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/child_program.h"
#include "tests/support/folder.h"

static const program_run *last_run;

static void setup(void) {
  (void)plim_test_folder();
  last_run = plim_test_fixture(
      "train --model resnet20 --data synthetic --image 16x16x3 --batch 16 --model-costs --online coop --memory 42% "
      "--arithmetic small --steps 4 --trace o.jsonl");
  plim_test_expect(0, "");
}
static void teardown(void) {
  (void)plim_test_shell("rm -rf plimsoll");
  plim_test_folder_remove();
}
TestSuite(cli_trace_online, .init = setup, .fini = teardown);

static void expect_words(const char *words) {
  const char *out = last_run->out;
  cr_assert_not_null(strstr(out, words), "\"%s\" lacks \"%s\"", out, words);
}

Test(cli_trace_online, evictions_of_an_online_run_have_their_windows_scores_and_pins) {
  last_run = plim_test_shell("printf 'd\\ny\\nr\\ny\\nm\\nD\\na\\no\\n' | $PLIMSOLL trace step o.jsonl");
  plim_test_expect(0, "");
  expect_words(" needs room for ");
  expect_words("  taken: addresses ");
  expect_words("  runner-up: addresses ");
  expect_words(" = own ");
  expect_words("persistent: (");
  expect_words("  pinned for ");
  expect_words("[=] taken (-) runner-up");
  expect_words(" again, ");
  expect_words(" was evicted in front of command ");
  expect_words("there is no request without room after command ");
}

/* Of a command with several evictions the row below the strip shows the one with which the reasons begin. Several
 * budgets, since in some no command has two evictions. */
Test(cli_trace_online, the_window_below_the_strip_is_the_first_of_the_reasons) {
  last_run = plim_test_shell(
      "for memory in 45 42.5 42 41 40.5; do run=\"--graph o.plan.graph.json --online coop --memory $memory%\"; "
      "whole=$($PLIMSOLL trace summary $run --json | sed -n 's/.*\"budget_bytes\": \\([0-9]*\\).*/\\1/p') && "
      "for i in $(seq 60); do echo d; echo y; done | $PLIMSOLL trace step $run | awk -v whole=$whole "
      "'/of the first eviction of/ {column = index($0, \"[\") - 4; next} /taken: addresses/ && column {"
      "print column == int($3 / whole * 72) ? \"alike\" : \"another\"; column = 0}' || exit 1; done");
  plim_test_expect(0, "");
  expect_words("alike");
  cr_expect_null(strstr(last_run->out, "another"), "%s", last_run->out);
}

Test(cli_trace_online, a_plan_alone_is_stepped_through_and_compared_with_another) {
  last_run = plim_test_shell(
      "$PLIMSOLL plan --graph o.plan.graph.json --planner keep-all -o k.json >k.txt; cp o.plan.graph.json "
      "k.graph.json; "
      "printf 'f\\n' | $PLIMSOLL trace step o.plan.json --with k.json");
  plim_test_expect(0, "");
  expect_words("the other run has ");
  last_run = plim_test_shell("printf 'f\\n' | $PLIMSOLL trace step o.jsonl --with o.plan.json");
  plim_test_expect(0, "");
  expect_words("the two runs are equal");
  last_run = plim_test_shell("printf 'f\\n' | $PLIMSOLL trace step o.jsonl");
  plim_test_expect(0, "");
  expect_words("none was given");
}

/* The decisions are changed in the plan: what is simulated again is something else, and that is said. */
Test(cli_trace_online, a_run_that_cannot_be_simulated_again_says_so_and_is_shown_as_a_plan) {
  last_run = plim_test_shell(
      "sed 's/online coop/online size/' o.plan.json >c.json; cp o.plan.graph.json c.graph.json; "
      "$PLIMSOLL trace step c.json --at 3");
  plim_test_expect(0, "online size, simulated again, differs from command ");
  expect_words("command 3 of ");
}

Test(cli_trace_online, a_graph_is_simulated_up_to_where_memory_ends_with_the_bytes_that_would_do) {
  last_run =
      plim_test_shell("printf 'o\\ny\\n' | $PLIMSOLL trace step --graph o.plan.graph.json --online dtr --memory 40%");
  plim_test_expect(0, "");
  expect_words("OUT OF MEMORY");
  expect_words(" more at the end of the arena would be room here");
  expect_words("from the start this policy fits into ");
  last_run =
      plim_test_program("trace step --graph o.plan.graph.json --online dtr --memory 40%% --find stem.conv.weight.grad");
  plim_test_expect(0, "");
  expect_words("  is there at no command of this run\n");
  last_run = plim_test_program("trace step --graph o.plan.graph.json --online dtr --memory 4KiB");
  plim_test_expect(4, "finds no room");
  last_run = plim_test_program("trace step o.jsonl --graph o.plan.graph.json");
  plim_test_expect(2, "cannot be combined");
}

Test(cli_trace_online, what_would_have_come_of_another_policy_or_cap_stands_beside_what_came) {
  last_run = plim_test_program("trace what-if o.jsonl --at 60 --policy dtr --memory 100%%");
  plim_test_expect(0, "");
  expect_words("what if dtr had ");
  expect_words("  it would have ");
  expect_words("  this run has ");
  last_run = plim_test_program("trace what-if o.jsonl --at 60 --policy dtr --memory 30%%");
  plim_test_expect(0, "");
  expect_words("  it would have  no way on: what persists ends at ");
  last_run = plim_test_shell("printf 'd\\nw best 100%%\\nw\\nw nobody 1MiB\\n' | $PLIMSOLL trace step o.jsonl");
  plim_test_expect(0, "");
  expect_words("what if best had ");
  expect_words("w needs a policy, and may have a size");
  expect_words("no online policy is called \"nobody\"");
  last_run = plim_test_program("trace what-if o.jsonl --memory 1GiB");
  plim_test_expect(2, "requires --at N, 0 to ");
}

Test(cli_trace_online, a_page_of_a_run_that_did_not_end_says_so) {
  last_run = plim_test_shell(
      "$PLIMSOLL trace export --graph o.plan.graph.json --online dtr --memory 40% -o oom.html && "
      "grep -c '\"end\":\"OUT OF MEMORY\"' oom.html; $PLIMSOLL trace export o.jsonl -o o.html && "
      "grep -c '\"end\":null' o.html");
  plim_test_expect(0, "");
  expect_words("1\n1\n");
}

Test(cli_trace_online, a_page_holds_the_run_its_reasons_and_needs_nothing_else) {
  static char page[1 << 20];
  last_run = plim_test_program("trace export o.jsonl -o run.html");
  plim_test_expect(0, "");
  FILE *file = fopen(plim_test_path("run.html"), "rb");
  cr_assert_not_null(file);
  size_t n = fread(page, 1, sizeof page - 1, file);
  (void)fclose(file);
  page[n] = 0;
  cr_assert_null(strstr(page, "http"), "nothing is fetched");
  cr_assert_not_null(strstr(page, "needs room for"));
  char *begin = strstr(page, "const DATA = "), *end = begin ? strstr(begin, ";\n") : NULL;
  cr_assert(begin && end);
  *end = 0;
  json_t *data = json_loads(begin + strlen("const DATA = "), JSON_REJECT_DUPLICATES, NULL);
  cr_assert(json_is_object(data));
  cr_assert_geq(json_array_size(json_object_get(data, "steps")), 230);
  cr_assert_gt(json_object_size(json_object_get(data, "why")), 0);
  json_decref(data);
}

/* Logs at the command line: what a wrong one gets, what a plan in the arena is beside policies, sweeps of budgets. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/file.h"
#include "tests/support/child_program.h"
#include "tests/support/folder.h"
#include "tests/support/random_log.h"
#include "tests/support/test_seed.h"

static plim_context *ctx;

static void setup(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  (void)plim_test_folder();
}

static void teardown(void) {
  (void)plim_test_shell("rm -rf plimsoll dtr");
  plim_test_folder_remove();
  plim_context_free(ctx);
}
TestSuite(cli_logs, .init = setup, .fini = teardown);

#define START "{\"INSTRUCTION\":\"ANNOTATE\",\"ANNOTATION\":\"START\"}\n"
#define BYTES(n) "{\"INSTRUCTION\":\"MEMORY\",\"NAME\":\"x\",\"MEMORY\":\"" n "\"}\n"
#define CONSTANT(n) "{\"INSTRUCTION\":\"CONSTANT\",\"NAME\":\"x\"}\n" BYTES(n)

static const struct {
  const char *command, *lines, *words;
} wrong[] = {
    {"import dtr bad.log -o g.json", "", "none of the 0 lines is the annotation START"},
    {"import dtr bad.log -o g.json", START "{\"INSTRUCTION\":\"RELE", "bad.log: line 2: does not end: the log was cut"},
    {"import dtr bad.log -o g.json", START "{\"INSTRUCTION\":\n", "bad.log: line 2"},
    {"import dtr bad.log -o g.json", START "{\"INSTRUCTION\":\"JUMP\"}\n", "line 2: INSTRUCTION: 'JUMP' is not a name"},
    {"import dtr bad.log -o g.json", START "(r,) = op(a, )\n", "line 2: is of the form"},
    {"import dtr bad.log -o g.json", START "{\"INSTRUCTION\":\"PIN\",\"NAME\":\"x\"}\n",
     "line 2: 'x' is used before it is defined"},
    {"import dtr bad.log -o g.json", START CONSTANT("9223372036854775808"), "line 3: MEMORY: '9223372036854775808'"},
    {"import dtr bad.log -o g.json", START CONSTANT("9223372036854775800"), "line 3"},
    {"import dtr bad.log -o g.json", START CONSTANT("4") CONSTANT("4"), "line 5: 'x' is defined a second time"},
    {"trace summary bad.log", "", "bad.log"},
    {"trace summary bad.log", "{\n", "bad.log: line 1"},
    {"simulate --graph bad.log --online dtr", "{\"plimsoll\":", "bad.log"},
};

Test(cli_logs, wrong_one_gets_one_sentence_with_its_line_and_leaves_no_file) {
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const char *lines = wrong[i].lines;
    cr_assert_eq(plim_file_save(ctx, plim_test_path("bad.log"), lines, (int64_t)strlen(lines)), PLIM_OK);
    (void)plim_test_program("%s", wrong[i].command);
    plim_test_expect(3, wrong[i].words);
    (void)plim_test_shell("test ! -e g.json");
    plim_test_expect(0, "");
  }
}

/* dtr/made.log.gz and g.json */
static void write_log(random_log_kind kind, uint64_t seed) {
  plim_text log = {ctx, NULL, 0, 0, PLIM_OK};
  random_log_write(kind, 2, seed, &log);
  cr_assert_eq(plim_file_save(ctx, plim_test_path("made.log"), log.chars, log.length), PLIM_OK);
  plim_text_free(&log);
  (void)plim_test_shell(
      "mkdir -p dtr && gzip -c made.log > dtr/made.log.gz && $PLIMSOLL import dtr made.log -o g.json");
  plim_test_expect(0, "");
}

static double overhead(const char *way, const char *memory) {
  (void)plim_test_program("simulate --graph g.json %s --memory %s --addresses arena --iterations 100 --json", way,
                          memory);
  json_t *o = plim_test_json();
  const json_t *value = json_object_get(o, "overhead_percent");
  double found = json_is_number(value) ? json_number_value(value) : -1;
  json_decref(o);
  return found;
}

Test(cli_logs, plan_placed_by_the_arena_is_never_worse_than_a_policy_in_it) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  static const char *const ways[] = {"--online best", "--online coop", "--online dtr", "--online msps"};
  static const char *const caps[] = {"80%", "55%", "40%"};
  write_log(RANDOM_LOG_RESIDUAL, test_seed(5));
  for (size_t c = 0; c < sizeof caps / sizeof *caps; c++) {
    double planned = overhead("--planner search", caps[c]);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
      double theirs = overhead(ways[i], caps[c]);
      cr_expect(theirs < 0 || (planned >= 0 && planned <= theirs), "%s, %s: %g, not %g", caps[c], ways[i], planned,
                theirs);
    }
  }
}

Test(cli_logs, more_bytes_are_never_slower_from_command_to_command) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  double before = -1;
  write_log(RANDOM_LOG_TANGLE, test_seed(3));
  for (int percent = 50; percent <= 90; percent += 10) {
    (void)plim_test_program("simulate --graph g.json --planner search --iterations %d --memory %d%% --json",
                            percent == 70 ? 3000 : 50, percent);
    json_t *o = plim_test_json();
    const json_t *value = json_object_get(o, "overhead_percent");
    double now = json_is_number(value) ? json_number_value(value) : -1;
    json_decref(o);
    cr_expect(before < 0 || (now >= 0 && now <= before), "%d%%: %g after %g", percent, now, before);
    before = now;
  }
}

Test(cli_logs, sweep_of_budgets_finds_no_inversion_of_plans) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  write_log(RANDOM_LOG_UNET, 2);
  (void)plim_test_program("bench online --data . --sweep 30%%:70%%:4%% --iterations 50 --planners search,dtr --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json(), *rows = json_object_get(o, "rows"), *row;
  size_t i;
  cr_assert_eq(json_array_size(rows), 22);
  json_array_foreach(rows, i, row) {
    const json_t *inversion = json_object_get(row, "inversion");
    int planned = strcmp(json_string_value(json_object_get(row, "by")), "search") == 0;
    cr_expect(!planned || json_is_null(inversion), "row %zu", i);
  }
  json_decref(o);
  const program_run *run = plim_test_program("bench online --data . --sweep 60%%:62%%:1%% --iterations 50");
  cr_expect_not_null(strstr(run->out, "0 inversions of feasibility, 0 of cost, at 3 budgets"), "%s", run->out);
  cr_expect_str_empty(plim_test_program("bench online --data . --planners dtr,fastest")->out, "a table was begun");
  plim_test_expect(2, "--planners: no planner or policy is called \"fastest\"; did you mean \"fastsa\"?");
  cr_expect_str_empty(plim_test_program("bench large --planners coop")->out, "a table was begun");
  plim_test_expect(2, "--planners: no planner is called \"coop\"");
  (void)plim_test_program("bench online --data . --sweep 60%%:50%%:1%%");
  plim_test_expect(2, "is not FROM%:TO%:STEP%");
}

Test(cli_logs, tables_for_documents_are_those_on_the_screen) {
  write_log(RANDOM_LOG_RESIDUAL, 1);
  const program_run *run = plim_test_program("bench online --data . --planners lru -o t.md && cat t.md");
  plim_test_expect(0, "");
  const char *table = strstr(run->out, "| made | .9 | .8 | .7 | .6 | .5 | .4 | .3 | .2 |\n|---|");
  cr_assert_not_null(table, "%s", run->out);
  cr_expect_not_null(strstr(table, "\n| lru | "), "%s", table);
}

/* The policy's row is there at once; the search would continue for an hour. */
static const program_run *interrupt_bench(const char *arguments) {
  char line[400];
  (void)snprintf(line, sizeof line,
                 "$PLIMSOLL bench online --data . --time-limit 3600s %s & "
                 "worked $! 60 && kill -INT $!; wait $!",
                 arguments);
  return plim_test_shell(line);
}

Test(cli_logs, rows_so_far_are_there_after_ctrl_c_and_say_that_they_are_not_all) {
  write_log(RANDOM_LOG_RESIDUAL, 2);
  (void)interrupt_bench("--planners lru,search --json -o t.md");
  plim_test_expect(130, "the table ends here");
  json_t *o = plim_test_json(), *rows = json_object_get(o, "rows");
  cr_assert_geq(json_array_size(rows), 8);
  cr_expect(json_is_true(json_object_get(o, "partial")));
  cr_expect_str_eq(json_string_value(json_object_get(o, "status")), "cancelled");
  cr_expect_null(json_object_get(json_array_get(rows, 7), "stopped"), "finished rows are whole");
  json_t *last = json_array_get(rows, json_array_size(rows) - 1);
  cr_expect(json_array_size(rows) == 8 || json_is_true(json_object_get(last, "stopped")));
  json_decref(o);
  const program_run *run = plim_test_shell("cat t.md");
  cr_expect_not_null(strstr(run->out, "Stopped: the tables end here."), "%s", run->out);
}

Test(cli_logs, sweep_keeps_its_rows_after_ctrl_c) {
  write_log(RANDOM_LOG_RESIDUAL, 2);
  (void)interrupt_bench("--sweep 50%:90%:10% --planners lru,search --json");
  plim_test_expect(130, "the table ends here");
  json_t *o = plim_test_json();
  cr_expect_geq(json_array_size(json_object_get(o, "rows")), 5);
  cr_expect(json_is_true(json_object_get(o, "partial")));
  json_decref(o);
}

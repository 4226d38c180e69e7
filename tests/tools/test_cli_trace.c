/* plimsoll trace: the views of a traced run, by hand and at once. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/child_program.h"
#include "tests/support/folder.h"

static const program_run *last_run;

static void setup(void) {
  (void)plim_test_folder();
  last_run = plim_test_fixture(
      "train --model resnet20 --data synthetic --image 8x8x3 --batch 32 --model-costs --iterations 3000 --memory 70% "
      "--arithmetic small --steps 4 --trace t.jsonl");
  plim_test_expect(0, "");
}
static void teardown(void) {
  (void)plim_test_shell("rm -rf plimsoll");
  plim_test_folder_remove();
}
TestSuite(cli_trace, .init = setup, .fini = teardown);

static void expect_words(const char *words) {
  const char *out = last_run->out;
  cr_assert_not_null(strstr(out, words), "\"%s\" lacks \"%s\"", out, words);
}

Test(cli_trace, summary_counts_steps_and_repeats) {
  last_run = plim_test_program("trace summary t.jsonl");
  plim_test_expect(0, "");
  expect_words("steps                2");
  last_run = plim_test_program("trace summary t.jsonl --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_assert_eq(json_integer_value(json_object_get(o, "commands")) - json_integer_value(json_object_get(o, "repeats")),
               230);
  cr_assert_eq(json_is_array(json_object_get(o, "repeated")), 1);
  json_decref(o);
}

Test(cli_trace, a_step_is_shown_with_its_arena_its_residents_and_what_is_absent) {
  last_run = plim_test_program("trace step t.jsonl --at 20");
  plim_test_expect(0, "");
  expect_words("command 20 of ");
  expect_words("  |p");
  expect_words("a activation");
  expect_words(" persistent tensors");
  expect_words("next use");
}

Test(cli_trace, a_plan_without_addresses_shows_none) {
  last_run = plim_test_shell(
      "$PLIMSOLL gen layered --ops 40 -o n.json && $PLIMSOLL plan --graph n.json --addresses none --iterations 50 -o "
      "a.json >a.txt && $PLIMSOLL trace step a.json --at 20 && $PLIMSOLL trace step a.json --find '#0'");
  plim_test_expect(0, "");
  expect_words(", address -\n");
  cr_expect_null(strstr(last_run->out, " -1 "), "%s", last_run->out);
  /* its page stacks buffers, and its height is the peak */
  last_run = plim_test_shell(
      "$PLIMSOLL trace export a.json -o a.html && grep -c '\"packed\":false' a.html && "
      "grep -o '\"bytes\":[0-9]*,\"packed\"' a.html | grep -o '[0-9]*' >bytes.txt && "
      "grep -c \"\\\"peak_bytes\\\": $(cat bytes.txt),\" a.json");
  plim_test_expect(0, "");
  cr_assert_str_eq(last_run->out, "1\n1\n");
}

Test(cli_trace, a_value_is_followed_through_its_buffers) {
  last_run = plim_test_program("trace step t.jsonl --find stem.conv");
  plim_test_expect(0, "");
  expect_words("stem.conv: activation, ");
  expect_words("buffer 1: commands 1 to ");
  expect_words("read at command 2 by stem.bn.stats");
  last_run = plim_test_program("trace step t.jsonl --find stem.con");
  plim_test_expect(2, "did you mean \"stem.conv\"?");
}

Test(cli_trace, the_prompt_obeys_and_survives_nonsense) {
  last_run = plim_test_shell(
      "printf 'n\\n\\np\\ng 7\\ng -1\\ng x\\ng 99999\\nl\\na\\nr\\nd\\ne\\ns\\nh\\nv stem.bn\\nv "
      "nothing\\nwhat\\nq\\nn\\n' | "
      "$PLIMSOLL trace step t.jsonl");
  plim_test_expect(0, "");
  expect_words("command 1 of ");
  expect_words("command 7 of ");
  expect_words("there is no such command: they are 0 to ");
  expect_words("g needs the number of a command");
  expect_words("\"what\" is no command; h lists them");
  expect_words("no tensor is called \"nothing\"");
}

/* The trace event format: metadata that names process and thread first, then complete events and counters of that
 * process by time. */
static void check_form(const json_t *events) {
  size_t i;
  const json_t *e;
  double last = 0;
  json_array_foreach(events, i, e) {
    const char *ph = json_string_value(json_object_get(e, "ph"));
    cr_assert_str_eq(ph, i < 2 ? "M" : i % 2 == 0 ? "X" : "C");
    cr_assert_eq(json_integer_value(json_object_get(e, "pid")), 1);
    cr_assert(json_is_string(json_object_get(e, "name")) && json_is_object(json_object_get(e, "args")));
    cr_assert(*ph == 'C' || i == 0 || json_integer_value(json_object_get(e, "tid")) == 1);
    if (i < 2) continue;
    cr_assert_geq(json_number_value(json_object_get(e, "ts")), last);
    last = json_number_value(json_object_get(e, "ts"));
    cr_assert(*ph == 'C' || json_number_value(json_object_get(e, "dur")) >= 0);
  }
}

/* Compute events follow each other without a gap or an overlap; each has its counter, which fits the arena. */
static void check_tracks(const json_t *events) {
  double end = 0;
  for (size_t i = 2; i + 1 < json_array_size(events); i += 2) {
    const json_t *run = json_array_get(events, i), *bytes = json_array_get(events, i + 1);
    double at = json_number_value(json_object_get(run, "ts"));
    cr_assert_leq(at - end, 0.01);
    cr_assert_geq(at - end, -0.01);
    end = at + json_number_value(json_object_get(run, "dur"));
    cr_assert_str_eq(json_string_value(json_object_get(bytes, "ph")), "C");
    cr_assert_gt(json_integer_value(json_object_get(json_object_get(bytes, "args"), "bytes")), 0);
  }
}

Test(cli_trace, events_are_json_with_a_compute_track_and_a_counter_of_bytes) {
  last_run = plim_test_program("trace export t.jsonl -o events.json");
  plim_test_expect(0, "");
  json_error_t error;
  json_t *o = json_load_file(plim_test_path("events.json"), JSON_REJECT_DUPLICATES, &error);
  cr_assert_not_null(o, "%s", error.text);
  const json_t *events = json_object_get(o, "traceEvents");
  cr_assert_geq(json_array_size(events), 2 + 2 * 2 * 230);
  cr_assert_str_eq(json_string_value(json_object_get(json_array_get(events, 2), "ph")), "X");
  cr_assert_str_eq(json_string_value(json_object_get(json_array_get(events, 3), "name")), "live bytes");
  check_form(events);
  check_tracks(events);
  json_decref(o);
}

Test(cli_trace, a_page_of_a_planned_run_has_the_history_of_what_is_recomputed) {
  (void)plim_test_shell(
      "$PLIMSOLL plan --graph t.plan.graph.json --memory 60% --iterations 3000 -o k.json >k.txt && "
      "$PLIMSOLL trace export k.json -o run.html");
  plim_test_expect(0, "");
  cr_assert_eq(plim_test_shell("grep -q 'was dropped after command [0-9]* and is recomputed' run.html")->status, 0);
  /* its drops are the decisions that a key goes to */
  cr_assert_eq(plim_test_shell("grep -q '\"why\":{\"[0-9]*\":\"[^\"]*was dropped after command' run.html")->status, 0);
}

Test(cli_trace, a_plan_alone_is_exported_as_it_was_planned) {
  last_run = plim_test_program("trace export t.plan.json -o planned.json");
  plim_test_expect(0, "");
  json_t *o = json_load_file(plim_test_path("planned.json"), JSON_REJECT_DUPLICATES, NULL);
  cr_assert_not_null(o);
  check_tracks(json_object_get(o, "traceEvents"));
  json_decref(o);
}

Test(cli_trace, a_run_too_short_for_times_is_exported_as_it_was_planned) {
  (void)plim_test_shell(
      "head -n 1 t.jsonl >e.jsonl; echo '{\"end\": true, \"training_steps\": 0}' >>e.jsonl; "
      "cp t.plan.json e.plan.json; cp t.plan.graph.json e.plan.graph.json; "
      "$PLIMSOLL trace export e.jsonl -o none.json; $PLIMSOLL trace export t.plan.json -o planned.json; "
      "cmp none.json planned.json");
  plim_test_expect(0, "");
  json_t *o = json_load_file(plim_test_path("none.json"), JSON_REJECT_DUPLICATES, NULL);
  cr_assert_not_null(o);
  json_decref(o);
}

Test(cli_trace, two_runs_are_compared_step_by_step) {
  last_run = plim_test_shell("$PLIMSOLL plan --graph t.plan.graph.json --planner sqrt -o u.json >u.txt");
  plim_test_expect(0, "");
  last_run = plim_test_program("trace diff t.jsonl --with u.json");
  plim_test_expect(1, "the two runs differ");
  expect_words("first difference at command ");
  last_run = plim_test_program("trace diff t.jsonl --with t.jsonl");
  plim_test_expect(0, "");
  expect_words("the same commands");
}

/* Row of a table: shell commands, exit status, words. */
static const struct {
  const char *command;
  int status;
  const char *words;
} wrong[] = {
    {"sed '9s/.$//' t.jsonl >c.jsonl; $PLIMSOLL trace step c.jsonl", 3, "c.jsonl: line 9"},
    {"sed '7d' t.jsonl >c.jsonl; $PLIMSOLL trace step c.jsonl", 3, "c.jsonl: line 7"},
    {"head -c 5000 t.jsonl >c.jsonl; $PLIMSOLL trace step c.jsonl", 3, "c.jsonl"},
    {"$PLIMSOLL trace look t.jsonl", 2, "trace has no action \"look\"; there are \"summary\""},
    {"$PLIMSOLL trace step", 2, "FILE is missing"},
    {"$PLIMSOLL trace step none.jsonl", 3, "none.jsonl"},
    {"$PLIMSOLL trace step t.jsonl --at 100000", 2, "the commands of this plan are 0 to "},
    {"$PLIMSOLL trace export t.jsonl", 2, "requires -o FILE"},
    {"$PLIMSOLL trace diff t.jsonl", 2, "requires --with FILE"},
    {"$PLIMSOLL trace step t.jsonl --at 1 --memory 5MiB", 2, "--memory does not apply to trace step"},
    {"$PLIMSOLL trace step t.jsonl --at 1 --find stem.conv", 2, "--at and --find cannot be combined"},
    {"$PLIMSOLL trace summary t.jsonl --with t.jsonl", 2, "--with does not apply to trace summary"},
    {"$PLIMSOLL trace step t.jsonl -o x", 2, "--output does not apply to trace step"},
    {"head -n 5 t.jsonl >c.jsonl; cp t.plan.json c.plan.json; $PLIMSOLL trace step c.jsonl", 3, "c.jsonl"},
    {"cp t.jsonl c.jsonl; $PLIMSOLL trace step c.jsonl", 3, "c.plan.json"},
    {"cp t.jsonl c.jsonl; cp t.plan.graph.json c.plan.graph.json; sed 's/\"seed\"/\"s\"/; s/search/sqrt/' t.plan.json "
     ">c.plan.json; $PLIMSOLL trace step c.jsonl",
     3, "c.plan.json is plan "},
    {"cp t.jsonl c.jsonl; cp t.plan.graph.json c.plan.graph.json; sed '0,/\"queue\": 0/s//\"queue\": 7/' t.plan.json "
     ">c.plan.json; $PLIMSOLL trace step c.jsonl",
     1, "c.plan.json: command 0 runs in space 0 on queue 7"},
    {"$PLIMSOLL trace export t.jsonl -o run.svg", 2, "run.svg ends neither in .json, for events, nor in .html"},
};

Test(cli_trace, bad_input_gets_a_sentence) {
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    (void)plim_test_shell("rm -f c.*");
    const program_run *run = plim_test_shell(wrong[i].command);
    cr_assert_eq(run->status, wrong[i].status, "%s: %d, %s", wrong[i].command, run->status, run->error);
    cr_assert_not_null(strstr(run->error, wrong[i].words), "%s: %s", wrong[i].command, run->error);
  }
}

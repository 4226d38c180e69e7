/* plimsoll trace --json: the same answers as the text's, as one object each; runs that find no room and what would have
 * come of other policies. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/child_program.h"
#include "tests/support/folder.h"

static void setup(void) {
  (void)plim_test_folder();
  (void)plim_test_fixture(
      "train --model resnet20 --data synthetic --image 16x16x3 --batch 16 --model-costs --online coop --memory 42% "
      "--arithmetic small --steps 4 --trace o.jsonl");
  plim_test_expect(0, "");
}
static void teardown(void) {
  (void)plim_test_shell("rm -rf plimsoll");
  plim_test_folder_remove();
}
TestSuite(cli_trace_json, .init = setup, .fini = teardown);

static json_int_t integer_of(const json_t *o, const char *key) {
  const json_t *x = json_object_get(o, key);
  cr_assert(json_is_integer(x), "%s", key);
  return json_integer_value(x);
}

static const char *text_of(const json_t *o, const char *key) {
  const char *text = json_string_value(json_object_get(o, key));
  cr_assert_not_null(text, "%s", key);
  return text;
}

/* Through a file: answers may be longer than what a run keeps of its output. */
static json_t *ask(const char *arguments) {
  json_error_t error;
  (void)plim_test_program("%s --json >answer.json", arguments);
  plim_test_expect(0, "");
  json_t *o = json_load_file(plim_test_path("answer.json"), JSON_REJECT_DUPLICATES, &error);
  cr_assert(json_is_object(o), "%s: %s", arguments, error.text);
  return o;
}

static void expect_in_text(const char *words) {
  const program_run *run = plim_test_program("trace step o.jsonl --at 60");
  cr_assert_not_null(strstr(run->out, words), "\"%s\" lacks \"%s\"", run->out, words);
}

Test(cli_trace_json, a_step_has_residents_that_add_up_and_the_absences_that_the_text_has) {
  char line[256];
  size_t i;
  const json_t *r;
  json_t *o = ask("trace step o.jsonl --at 60");
  json_int_t live = 0, last = -1;
  json_array_foreach(json_object_get(o, "residents"), i, r) {
    live += integer_of(r, "bytes");
    cr_assert_gt(integer_of(r, "address"), last);
    last = integer_of(r, "address");
    cr_assert(integer_of(r, "begin") <= 60 && 60 < integer_of(r, "end"));
  }
  cr_assert_eq(live, integer_of(o, "live_bytes"));
  cr_assert_gt(json_array_size(json_object_get(o, "absent")), 0);
  json_array_foreach(json_object_get(o, "absent"), i, r) {
    cr_assert(integer_of(r, "gone") <= 60 && 60 < integer_of(r, "back"));
    (void)snprintf(line, sizeof line, "recomputed at command %d", (int)integer_of(r, "back"));
    expect_in_text(line);
    int nothing = strcmp(text_of(r, "breaks"), "nothing") == 0;
    cr_assert_eq(json_is_null(json_object_get(r, "full_command")), nothing);
    cr_assert_eq(integer_of(r, "over_bytes") == 0, nothing);
  }
  (void)snprintf(line, sizeof line, "command 60 of %d  %s", (int)integer_of(o, "commands"), text_of(o, "op"));
  expect_in_text(line);
  json_decref(o);
}

/* The step of the first decision, as the prompt finds it. */
static int first_decision(void) {
  const program_run *run =
      plim_test_shell("printf 'd\\n' | $PLIMSOLL trace step o.jsonl | grep -o '^command [0-9]*' | tail -1");
  int step = -1;
  cr_assert_eq(sscanf(run->out, "command %d", &step), 1, "%s", run->out);
  return step;
}

Test(cli_trace_json, a_decision_has_its_blocks_and_windows_of_them_that_make_room) {
  char line[128];
  size_t i, k;
  const json_t *d, *w;
  (void)snprintf(line, sizeof line, "trace step o.jsonl --at %d", first_decision());
  json_t *o = ask(line);
  cr_assert_gt(json_array_size(json_object_get(o, "decisions")), 0);
  json_array_foreach(json_object_get(o, "decisions"), i, d) {
    const json_t *blocks = json_object_get(d, "blocks");
    cr_assert_gt(json_array_size(json_object_get(d, "windows")), 0);
    json_array_foreach(json_object_get(d, "windows"), k, w) {
      json_int_t bytes = 0;
      for (json_int_t p = integer_of(w, "begin"); p < integer_of(w, "end"); p++) {
        const json_t *block = json_array_get(blocks, (size_t)p);
        const char *state = text_of(block, "state");
        cr_assert(strcmp(state, "free") == 0 || json_is_number(json_object_get(block, "score")), "%s", state);
        bytes += integer_of(block, "bytes");
      }
      cr_assert_eq(bytes, integer_of(w, "bytes"));
      cr_assert_geq(bytes, integer_of(d, "bytes"));
    }
  }
  json_decref(o);
}

Test(cli_trace_json, a_tensor_has_buffers_with_uses_and_what_stands_between) {
  size_t i;
  const json_t *buffer;
  json_t *step = ask("trace step o.jsonl --at 60"), *o;
  char line[256];
  (void)snprintf(line, sizeof line, "trace step o.jsonl --find %s",
                 text_of(json_array_get(json_object_get(step, "absent"), 0), "tensor"));
  json_decref(step);
  o = ask(line);
  json_int_t end = 0;
  json_array_foreach(json_object_get(o, "buffers"), i, buffer) {
    cr_assert_geq(integer_of(buffer, "begin"), end);
    cr_assert_eq(json_is_object(json_object_get(buffer, "absence")), i > 0);
    cr_assert_gt(json_array_size(json_object_get(buffer, "uses")), 0);
    end = integer_of(buffer, "end");
  }
  cr_assert_gt(i, 1);
  json_decref(o);
}

Test(cli_trace_json, the_same_question_has_the_same_answer_byte_for_byte) {
  const program_run *run = plim_test_shell(
      "for a in 'summary o.jsonl' 'step o.jsonl --at 60' 'step o.jsonl --find stem.bn' 'what-if o.jsonl --at 60' "
      "'diff o.jsonl --with o.plan.json'; do $PLIMSOLL trace $a --json >a.txt; $PLIMSOLL trace $a --json >b.txt; "
      "cmp a.txt b.txt || exit 9; done");
  cr_assert_eq(run->status, 0, "%s", run->out);
}

Test(cli_trace_json, two_runs_that_differ_are_one_object_and_exit_status_1) {
  (void)plim_test_shell(
      "$PLIMSOLL plan --graph o.plan.graph.json --planner keep-all -o k.json >k.txt; cp o.plan.graph.json "
      "k.graph.json; $PLIMSOLL trace diff o.plan.json --with k.json --json");
  plim_test_expect(1, "the two runs differ");
  json_t *o = plim_test_json();
  cr_assert(json_is_false(json_object_get(o, "equal")));
  cr_assert_gt(json_array_size(json_object_get(o, "ops")), 0);
  cr_assert_gt(integer_of(json_object_get(o, "run"), "commands"), integer_of(json_object_get(o, "other"), "commands"));
  cr_assert(json_is_null(json_object_get(json_object_get(o, "run"), "measured_ns")));
  json_decref(o);
}

/* ---- runs that do not end ---- */

#define SIMULATED "--graph o.plan.graph.json --online dtr --memory 40%% "

Test(cli_trace_json, a_run_without_room_says_where_it_ends_and_has_no_overhead) {
  json_t *o = ask("trace summary --graph o.plan.graph.json --online dtr --memory 40%");
  cr_assert_str_eq(text_of(o, "status"), "oom");
  cr_assert_eq(integer_of(o, "end_command"), integer_of(o, "commands") - 1);
  cr_assert(json_is_null(json_object_get(o, "overhead_percent")));
  json_decref(o);
}

Test(cli_trace_json, what_if_goes_on_from_the_step_that_found_no_room) {
  char line[256];
  json_t *o = ask("trace summary --graph o.plan.graph.json --online dtr --memory 40%");
  int last = (int)integer_of(o, "end_command");
  json_decref(o);
  (void)snprintf(line, sizeof line, "trace what-if " SIMULATED "--memory-at %d=400%%", last);
  o = ask(line);
  cr_assert_str_eq(text_of(json_object_get(o, "run"), "status"), "oom");
  cr_assert_eq(integer_of(json_object_get(o, "run"), "end_command"), last);
  cr_assert_str_eq(text_of(json_object_get(o, "what_if"), "status"), "ok");
  cr_assert_gt(integer_of(json_object_get(o, "what_if"), "time_ns"), 0);
  json_decref(o);
  (void)snprintf(line, sizeof line, "trace what-if " SIMULATED "--at %d --policy lru", last);
  (void)plim_test_program("%s", line);
  plim_test_expect(0, "");
}

/* The run has kernels that are not the fastest: its overhead holds what they cost, and so does the other's. */
Test(cli_trace_json, what_if_nothing_changed_has_the_overhead_of_the_run) {
  json_t *o = ask("trace what-if o.jsonl --at 120 --policy coop --memory 100%");
  json_t *run = json_object_get(o, "run"), *other = json_object_get(o, "what_if");
  double percent = json_real_value(json_object_get(run, "overhead_percent"));
  cr_assert_eq(integer_of(run, "time_ns"), integer_of(other, "time_ns"));
  cr_assert_eq(integer_of(o, "memory_bytes"), integer_of(o, "run_memory_bytes"));
  cr_assert_gt(percent, 0);
  cr_assert_float_eq(json_real_value(json_object_get(other, "overhead_percent")), percent, 1e-9);
  json_decref(o);
}

/* As the run's own budget is printed: the arena within has whole units of 512 bytes. */
Test(cli_trace_json, what_if_prints_the_bytes_that_were_asked_for) {
  json_t *o = ask("trace what-if o.jsonl --at 120 --policy coop --memory 8000001");
  cr_assert_eq(integer_of(o, "memory_bytes"), 8000001);
  cr_assert_str_eq(text_of(json_object_get(o, "what_if"), "status"), "ok");
  json_decref(o);
}

Test(cli_trace_json, what_if_nothing_changed_ends_as_the_run_did_from_every_step) {
  int repeats = 0;
  for (int at = 1; at < 239; at += 17) {
    char line[128];
    (void)snprintf(line, sizeof line, "trace what-if o.jsonl --at %d --policy coop --memory 100%%", at);
    json_t *o = ask(line);
    const json_t *run = json_object_get(o, "run"), *other = json_object_get(o, "what_if");
    cr_expect_eq(integer_of(run, "runs_again"), integer_of(other, "runs_again"), "from step %d", at);
    cr_expect_eq(integer_of(run, "time_ns"), integer_of(other, "time_ns"), "from step %d", at);
    repeats += (int)integer_of(run, "runs_again");
    json_decref(o);
  }
  cr_assert_gt(repeats, 0);
}

Test(cli_trace_json, a_run_that_computes_too_much_again_is_shown_up_to_there) {
  (void)plim_test_program(
      "trace step --graph o.plan.graph.json --online coop --memory 42%% --thrash 0.05 --at 0 --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  int last = (int)integer_of(o, "commands") - 1;
  json_decref(o);
  const program_run *run =
      plim_test_program("trace step --graph o.plan.graph.json --online coop --memory 42%% --thrash 0.05 --at %d", last);
  plim_test_expect(0, "");
  cr_assert_not_null(strstr(run->out, "GIVEN UP"), "%s", run->out);
  cr_assert_not_null(strstr(run->out, "again for longer than the limit"), "%s", run->out);
}

/* ---- wrong questions ---- */

static const struct {
  const char *arguments;
  int status;
  const char *words;
} wrong[] = {
    {"step o.jsonl --json", 2, "--json requires --at N or --find TENSOR"},
    {"step o.jsonl --find stem.con --json", 2, "did you mean \"stem.conv\"?"},
    {"step o.jsonl --at 99999 --json", 2, "the commands of this plan are 0 to"},
    {"what-if o.jsonl --json", 2, "requires --at N, 0 to"},
    {"what-if o.jsonl --at 99999", 2, "command 99999 is not there: the commands of this plan are 0 to"},
    {"what-if o.jsonl --at 60 --memory-at 61=80%", 2, "--at 60 and --memory-at 61=80% name different commands"},
    {"what-if o.jsonl --memory-at x=80%", 2, "--memory-at x=80% is not N=SIZE"},
    {"what-if o.jsonl --memory-at 99999=80%", 2, "command 99999 is not there: the commands"},
    {"summary o.jsonl --memory-at 6=80%", 2, "--memory-at does not apply to trace summary"},
    {"what-if o.jsonl --at 60 --online coop", 2, "--online requires --graph"},
    {"what-if o.jsonl --at 60 --policy copo", 2, "did you mean \"coop\"?"},
    {"what-if o.jsonl --at 60 --memory 12parsecs", 2, "12parsecs"},
    {"what-if o.jsonl --at 60 --memory 0", 2, "zero"},
    {"what-if o.jsonl --memory-at 60=0", 2, "--memory-at: '0' is zero"},
    {"what-if o.jsonl --at 60 --memory 99999999999999GiB", 2, "99999999999999GiB"},
};

Test(cli_trace_json, a_wrong_question_gets_one_sentence) {
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const program_run *run = plim_test_program("trace %s", wrong[i].arguments);
    cr_assert_eq(run->status, wrong[i].status, "%s: %d", wrong[i].arguments, run->status);
    cr_assert_not_null(strstr(run->error, wrong[i].words), "%s: %s", wrong[i].arguments, run->error);
  }
}

Test(cli_trace_json, a_cap_below_what_is_resident_has_no_way_on) {
  json_t *o = ask("trace what-if o.jsonl --at 60 --memory 1KiB");
  const json_t *other = json_object_get(o, "what_if");
  cr_assert_str_eq(text_of(other, "status"), "oom");
  cr_assert(json_is_null(json_object_get(other, "end_op")));
  cr_assert_eq(integer_of(other, "end_command"), 60);
  json_decref(o);
}

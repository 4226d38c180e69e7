/* plimsoll trace on plans over spaces: views, their JSON, pictures, and what is refused. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/base/file.h"
#include "tests/support/child_program.h"
#include "tests/support/folder.h"
#include "tests/support/terminal.h"

/* The first output is large, cheap to copy and costly to recompute. */
static const char paged[] =
    "{\"graph\": {\"name\": \"paged\"}, \"nodes\": [{\"id\": 0, \"name\": \"first\", \"out_cost\": 1000, \"flops\": "
    "900000000}, {\"id\": 1, \"name\": \"x<&\", \"out_cost\": 1000, \"flops\": 10000}, {\"id\": 2, \"name\": \"y\", "
    "\"out_cost\": 1000, \"flops\": 10000}, {\"id\": 3, \"name\": \"z\", \"out_cost\": 1000, \"flops\": 10000}, "
    "{\"id\": 4, \"name\": \"last\", \"out_cost\": 100, \"flops\": 10000}], \"links\": [{\"source\": 0, "
    "\"target\": 1}, {\"source\": 1, \"target\": 2}, {\"source\": 2, \"target\": 3}, {\"source\": 3, \"target\": 4}, "
    "{\"source\": 0, \"target\": 4}]}\n";

static plim_context *ctx;

static void begin(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  (void)plim_test_folder();
  cr_assert_eq(plim_file_save(ctx, plim_test_path("x.json"), paged, (int64_t)sizeof paged - 1), PLIM_OK);
  (void)plim_test_program("import nx x.json -o g.json -q");
  plim_test_expect(0, "");
  (void)plim_test_program("plan --graph g.json --platform m4 --memory 2100 --iterations 50 -o p.json -q");
  plim_test_expect(0, "");
}

static void end(void) {
  plim_test_folder_remove();
  plim_context_free(ctx);
}
TestSuite(cli_trace_spaces, .init = begin, .fini = end);

Test(cli_trace_spaces, a_step_has_queues_side_by_side_residents_and_the_reason_for_paging) {
  const program_run *run;
  run = plim_test_program("trace step p.json --at 3");
  plim_test_expect_output(run, "queue            now");
  plim_test_expect_output(run, "ram>sd");
  plim_test_expect_output(run, "bytes  next use");
  plim_test_expect_output(run, "paged: copies take");
  plim_test_expect_output(run, "free; next use at command");
  run = plim_test_program("trace summary p.json");
  plim_test_expect_output(run, "1 times a storage leaves a space and returns: 1 by copies, 0 by runs");
  run = plim_test_shell("printf 'c\\nw\\ns\\nf first#0\\nnonsense\\nq\\n' | $PLIMSOLL trace step p.json");
  plim_test_expect_output(run, "copy first");
  plim_test_expect_output(run, "\"nonsense\" is no command");
}

Test(cli_trace_spaces, json_has_the_same_figures_as_objects) {
  (void)plim_test_program("trace step p.json --at 3 --json");
  json_t *o = plim_test_json(), *away = json_array_get(json_object_get(o, "away"), 0);
  cr_expect_eq(json_array_size(json_object_get(o, "queues")), 3);
  cr_expect_eq(json_array_size(json_object_get(o, "spaces")), 2);
  cr_expect(json_is_true(json_object_get(away, "paged")));
  cr_expect_gt(json_integer_value(json_object_get(away, "recompute_ns")),
               json_integer_value(json_object_get(away, "copy_ns")));
  cr_expect_gt(json_integer_value(json_object_get(away, "with_it_bytes")), 2100);
  json_decref(o);
  (void)plim_test_program("trace summary p.json --json");
  o = plim_test_json();
  cr_expect(json_is_object(json_object_get(o, "peak_bytes")));
  json_decref(o);
  (void)plim_test_program("plan --graph g.json --platform m4 --memory 2100 --iterations 50 --explain --json");
  o = plim_test_json();
  const json_t *row = json_array_get(json_object_get(o, "storages"), 0);
  cr_expect_str_eq(json_string_value(json_object_get(row, "decision")), "page");
  cr_expect_not_null(strstr(json_string_value(json_object_get(row, "reason")), "paged: copies take"));
  json_decref(o);
}

Test(cli_trace_spaces, pictures_have_a_row_a_queue_and_escaped_names) {
  const program_run *run;
  (void)plim_test_program("trace export p.json -o p.svg");
  plim_test_expect(0, "");
  run = plim_test_shell("grep -c '<rect' p.svg; grep -o 'x&lt;&amp;' p.svg | head -1; grep -o 'ram&gt;sd' p.svg");
  plim_test_expect_output(run, "x&lt;&amp;");
  plim_test_expect_output(run, "ram&gt;sd");
  run = plim_test_shell("grep -o 'time, [a-z]*' p.svg; grep -o 'first run\\|recompute<\\|copy<\\|its budget' p.svg");
  plim_test_expect_output(run, "time, s\nfirst run\nrecompute<\ncopy<\nits budget\n");
  (void)plim_test_program("trace export p.json -o p.html");
  plim_test_expect(0, "");
  run = plim_test_shell("grep -o 'Away and back: 1 times' p.html");
  plim_test_expect_output(run, "Away and back: 1 times");
  (void)plim_test_program("trace export p.json -o e.json");
  plim_test_expect(0, "");
  (void)plim_test_shell("cat e.json");
  json_t *o = plim_test_json();
  size_t i, bars = 0;
  json_t *event;
  json_array_foreach(json_object_get(o, "traceEvents"), i, event) {
    bars += strcmp(json_string_value(json_object_get(event, "ph")), "X") == 0;
  }
  cr_expect_eq(bars, 7); /* five runs, a copy out and one in */
  json_decref(o);
}

#ifdef PLIM_HAVE_CURSES
Test(cli_trace_spaces, a_screen_jumps_finds_and_explains_its_keys) {
  plim_test_terminal_open("$PLIMSOLL trace step p.json", "vt100", 40, 120);
  plim_test_terminal_expect("command 0 of 7: run first");
  plim_test_terminal_keys("c");
  plim_test_terminal_expect(": copy first");
  plim_test_terminal_keys("r");
  plim_test_terminal_expect("there is no recompute after command");
  plim_test_terminal_keys("g99\r");
  plim_test_terminal_expect("there is no such command: they are 0 to 6");
  plim_test_terminal_keys("ffirst#0\r");
  plim_test_terminal_expect("first#0: 1,000 bytes");
  plim_test_terminal_keys("fnobody\r");
  plim_test_terminal_expect("the graph has no op or tensor 'nobody'");
  plim_test_terminal_keys("?");
  plim_test_terminal_expect("next command whose queue stood idle for another");
  plim_test_terminal_keys("s");
  plim_test_terminal_expect("1 times a storage leaves a space and returns");
  plim_test_terminal_keys("q");
  cr_assert_eq(plim_test_terminal_close(), 0);
}

Test(cli_trace_spaces, control_c_ends_a_screen) {
  plim_test_terminal_open("$PLIMSOLL trace step p.json", "vt100", 40, 120);
  plim_test_terminal_expect("command 0 of 7: run first");
  plim_test_terminal_keys("\003");
  cr_assert_eq(plim_test_terminal_close(), 130);
}
#endif

/* Times that the graph gives by device have the unit of its file, whatever that is. */
Test(cli_trace_spaces, plan_draws_what_export_draws) {
  (void)plim_test_program(
      "plan --graph g.json --platform m4 --memory 2100 --iterations 50 -q -o again.json --svg again.svg");
  plim_test_expect(0, "");
  (void)plim_test_program("trace export again.json -o from.svg");
  plim_test_expect(0, "");
  cr_expect_eq(plim_test_shell("cmp again.svg from.svg")->status, 0);
}

Test(cli_trace_spaces, views_and_pictures_say_what_unit_times_have) {
  static const char placed[] =
      "{\"graph\": {\"name\": \"placed\", \"devices\": [\"d0\"]}, \"nodes\": [{\"id\": 0, \"out_cost\": 8, "
      "\"durations\": {\"d0\": 12000}}], \"links\": []}\n";
  const program_run *run = plim_test_program("trace summary p.json");
  plim_test_expect_output(run, " s,");
  plim_test_expect_output(run, " s  ");
  run = plim_test_program("check p.json");
  plim_test_expect_output(run, " s\n");
  cr_assert_eq(plim_file_save(ctx, plim_test_path("x.json"), placed, (int64_t)sizeof placed - 1), PLIM_OK);
  (void)plim_test_program("import nx x.json -o g2.json -q");
  plim_test_expect(0, "");
  run = plim_test_program("plan --graph g2.json --memory d0=100 -o q.json -q");
  plim_test_expect_output(run, "12,000 (in the unit of the graph's times)");
  run = plim_test_program("trace summary q.json");
  plim_test_expect_output(run, "makespan 12,000");
  (void)plim_test_program("trace export q.json -o q.svg");
  run = plim_test_shell("grep -o \"time, graph's unit\" q.svg");
  plim_test_expect_output(run, "time, graph's unit");
}

Test(cli_trace_spaces, what_does_not_apply_is_refused_with_a_sentence) {
  (void)plim_test_program("trace what-if p.json --at 1");
  plim_test_expect(2, "trace what-if is for runs in one arena; this plan has 3 queues over 2 spaces");
  (void)plim_test_program("trace step p.json --at 70");
  plim_test_expect(2, "--at 70: the commands of this plan are 0 to 6");
  (void)plim_test_program("trace step p.json --find nobody");
  plim_test_expect(2, "the graph has no op or tensor 'nobody'");
  (void)plim_test_program("trace export p.json -o p.txt");
  plim_test_expect(2, "ends neither in .json");
  (void)plim_test_shell(
      "sed 's/\"time_ns\": [0-9]*/\"time_ns\": 1/' p.json >q.json; cp g.json q.graph.json; "
      "$PLIMSOLL trace step q.json --at 0");
  plim_test_expect(1, "");
}

/* plimsoll train with a plan that pages: its trace, views and pictures of it, and page files that fail. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/child_program.h"
#include "tests/support/folder.h"

/* No recomputation, so that nothing is searched. */
#define TRAIN \
  "train --model resnet20 --data synthetic --batch 4 --model-costs --no-cache --recompute off --threads 1 -q "
#define RESNET "--model resnet20 --data synthetic --batch 4 --model-costs --no-cache --recompute off --threads 1 -q "
#define TO_HOST TRAIN "--memory cpu=8MiB,host=64MiB "
#define RERUN \
  "train --model resnet20 --data synthetic --batch 4 --model-costs --no-cache --threads 1 -q --plan paged.json "
#define SMALLEST "--model tinyres --data synthetic --batch 8 --model-costs --no-cache -q "
#define TO_DISK TRAIN "--memory cpu=8MiB,disk=64MiB "

static void begin(void) {
  (void)plim_test_folder();
}
static void end(void) {
  plim_test_folder_remove();
}
TestSuite(cli_pages, .init = begin, .fini = end, .timeout = 300);

static double number_of(const json_t *o, const char *key) {
  return json_number_value(json_object_get(o, key));
}

Test(cli_pages, a_trace_has_the_lateness_of_every_transfer) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  const program_run *run = plim_test_fixture(TO_HOST "--steps 12 --trace t.jsonl");
  plim_test_expect_output(run, "copy time hidden");
  plim_test_expect_output(run, "transfers late");
  plim_test_expect_output(run, "resident, most");
  (void)plim_test_program("trace summary t.jsonl --json");
  json_t *o = plim_test_json(), *list = json_object_get(o, "transfers"), *row;
  size_t i, copies = json_array_size(list);
  cr_assert_gt(copies, 1);
  json_array_foreach(list, i, row) {
    json_int_t planned = json_integer_value(json_object_get(row, "planned_end_ns"));
    json_int_t ended = json_integer_value(json_object_get(row, "end_ns"));
    cr_expect_gt(json_integer_value(json_object_get(row, "bytes")), 0);
    cr_expect_geq(ended, json_integer_value(json_object_get(row, "begin_ns")));
    cr_expect_eq(json_integer_value(json_object_get(row, "late_ns")), ended - planned);
    cr_expect_eq(json_is_null(json_object_get(row, "waiter")),
                 json_integer_value(json_object_get(row, "waited_ns")) == 0);
  }
  json_decref(o);
  run = plim_test_program("trace summary t.jsonl");
  plim_test_expect_output(run, "cpu>host");
  plim_test_expect_output(run, "transfers of step ");
}

Test(cli_pages, a_step_has_the_queues_side_by_side_and_the_reason_for_paging) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  (void)plim_test_fixture(TO_HOST "--steps 12 --trace t.jsonl");
  const program_run *run = plim_test_program("trace step t.jsonl --at 40");
  plim_test_expect_output(run, "measured from ");
  plim_test_expect_output(run, "host>cpu");
  plim_test_expect_output(run, "paged: copies take ");
  plim_test_expect_output(run, "free; next use at command ");
  run = plim_test_program("trace step t.plan.json --at 40"); /* the plan alone */
  plim_test_expect_output(run, "paged: copies take ");
  cr_expect_null(strstr(run->out, "measured"));
  (void)plim_test_program("trace what-if t.jsonl --at 1");
  plim_test_expect(2, "trace what-if is for runs in one arena; this plan has 3 queues over 2 spaces");
}

Test(cli_pages, pictures_have_measured_and_planned_rows_links_and_bytes) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  const program_run *run;
  (void)plim_test_fixture(TO_HOST "--steps 12 --trace t.jsonl");
  (void)plim_test_program("trace export t.jsonl -o t.svg");
  plim_test_expect(0, "");
  run = plim_test_shell("grep -c '>  planned</text>' t.svg; grep -c 'class=.link' t.svg; grep -c 'class=.bytes' t.svg");
  cr_expect_str_eq(run->out, "3\n2\n3\n");
  (void)plim_test_program("trace export t.jsonl -o t.html");
  plim_test_expect(0, "");
  run = plim_test_shell("grep '<h2>' t.html");
  plim_test_expect_output(run, "<h2>Transfers of step ");
  (void)plim_test_program("trace export t.jsonl -o e.json");
  plim_test_expect(0, "");
  run = plim_test_shell("grep -o '\"name\": \"\\(measured\\|planned\\)\"' e.json; grep -c bytes_per_us e.json");
  plim_test_expect_output(run, "\"name\": \"measured\"\n\"name\": \"planned\"\n");
}

/* Bytes of several spaces are not added up: each has a chart, and each queue that works has a row. */
Test(cli_pages, the_picture_of_a_plan_that_pages_has_its_queues_and_spaces) {
  const program_run *run;
  (void)plim_test_program("plan " RESNET "--memory cpu=8MiB,host=64MiB --svg p.svg");
  plim_test_expect(0, "");
  run = plim_test_shell("grep -c 'class=.link' p.svg; grep -c 'class=.bytes. d' p.svg; grep -c 'live bytes' p.svg");
  cr_expect_str_eq(run->out, "2\n2\n0\n");
  (void)plim_test_program("compare " RESNET "--memory cpu=8MiB,host=64MiB --steps 2 --svg c.svg");
  plim_test_expect(0, "");
  run = plim_test_shell("cmp p.svg c.svg");
  cr_expect_eq(run->status, 0, "%s", run->out);
  (void)plim_test_program("plan " RESNET "--memory cpu:0=5MiB,cpu:1=5MiB,host=64MiB --threads 2 --svg two.svg");
  plim_test_expect(0, "");
  run = plim_test_shell("grep -c '>queue [0-9]*</text>' two.svg; grep -c '>cpu:1</text>' two.svg");
  cr_expect_str_eq(run->out, "0\n2\n", "%s", run->out);
}

/* ---- optimizer state at home in the page space ---- */

#define MLP "--model mlp --data synthetic --batch 64 --model-costs --no-cache --threads 1 -q "
#define HOMED MLP "--memory cpu=6MiB,disk=64MiB --page-file p "

Test(cli_pages, optimizer_state_lives_in_a_file_and_weights_are_those_of_keep_all) {
  const program_run *run = plim_test_program("verify " HOMED "--steps 3");
  plim_test_expect_output(run, "weights identical    yes");
  plim_test_expect_output(run, ", then paging");
  run = plim_test_program("train " HOMED "--steps 12 --trace t.jsonl");
  plim_test_expect_output(run, "cpu>disk 6 copies of "); /* six storages, out and in */
  plim_test_expect_output(run, "disk>cpu 6 copies of ");
  run = plim_test_program("trace summary t.jsonl");
  plim_test_expect_output(run, ".velocity");
}

Test(cli_pages, parameters_live_in_the_page_space_where_homes_of_states_are_not_enough) {
  const program_run *run = plim_test_program("verify " MLP "--memory cpu=5MiB,host=64MiB --steps 3");
  plim_test_expect_output(run, "weights identical    yes");
  plim_test_expect_output(run, "cpu>host 9 copies of ");
}

/* The values of a checkpoint, without its header and its hash. */
#define VALUES(file) "tail -c 5357680 " file " | head -c 5357648 | cksum"

Test(cli_pages, a_checkpoint_has_the_state_from_its_home_and_brings_it_to_another) {
  (void)plim_test_program("train " HOMED "--steps 6 --total-steps 12 --save half.ckpt --numerics fastest");
  plim_test_expect(0, "");
  (void)plim_test_program("train " MLP
                          "--memory cpu=6MiB,host=64MiB --steps 12 --total-steps 12 --load half.ckpt "
                          "--save w.ckpt --numerics fastest");
  plim_test_expect(0, "");
  (void)plim_test_program("train " MLP "--steps 12 --total-steps 12 --save all.ckpt --numerics fastest");
  plim_test_expect(0, "");
  const program_run *run = plim_test_shell(VALUES("w.ckpt") "; " VALUES("all.ckpt") "; " VALUES("half.ckpt"));
  size_t line = strcspn(run->out, "\n") + 1;
  cr_assert_gt(strlen(run->out), 2 * line, "%s", run->out);
  cr_expect_eq(strncmp(run->out, run->out + line, line), 0, "%s", run->out);
  cr_expect_neq(strncmp(run->out, run->out + 2 * line, line), 0, "%s", run->out);
}

#define TINY SMALLEST "--threads 1 --iterations 1 "
/* Few ops, of which many plans take no time; most bytes are activations, so that plans also recompute. */
#define BLOCK                                                                                             \
  "--model gpt --layers 1 --width 16 --heads 1 --context 16 --data text:/usr/share/common-licenses/GPL-3" \
  " --batch 16 --optimizer sgd --momentum 0 --model-costs --no-cache --threads 1 -q --iterations 1 "

Test(cli_pages, modelled_plans_that_page_are_the_same_in_every_run) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  const program_run *run = plim_test_shell("for i in 1 2; do $PLIMSOLL plan " BLOCK
                                           "--memory cpu=50%,host=1GiB -o $i.json || exit 1; done; cmp 1.json 2.json");
  cr_expect_eq(run->status, 0, "%s%s", run->out, run->error);
}

Test(cli_pages, no_budget_above_one_that_has_a_plan_is_refused) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  static const char *const bytes[] = {"190000", "245000"}; /* verify plans the third budget */
  for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
    (void)plim_test_program("plan " TINY "--memory cpu=%s,host=1GiB", bytes[i]);
    plim_test_expect(0, "");
  }
  const program_run *run = plim_test_program("verify " TINY "--steps 2 --memory cpu=252000,host=1GiB");
  plim_test_expect_output(run, "weights identical    yes"); /* the evaluation step pages as well */
}

Test(cli_pages, a_refusal_names_a_budget_that_has_a_plan_and_the_largest_batch) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  const char words[] = "the smallest budget of cpu for which one was found is ";
  const program_run *run = plim_test_program("plan " BLOCK "--memory cpu=25%%,host=1GiB");
  cr_expect_eq(run->status, 4, "%s", run->error);
  const char *at = strstr(run->error, words), *bytes = at ? strchr(at, '(') : NULL;
  cr_assert_not_null(bytes, "%s", run->error);
  cr_expect_not_null(strstr(run->error, " beside 1.0 GiB of host "), "%s", run->error);
  cr_expect_not_null(strstr(run->error, "; give more bytes, or a batch of at most "), "%s", run->error);
  (void)plim_test_program("plan " BLOCK "--memory cpu=%lld,host=1GiB", strtoll(bytes + 1, NULL, 10));
  plim_test_expect(0, "");
}

Test(cli_pages, each_space_has_a_row_with_the_copies_of_its_links_and_its_measured_peak) {
  (void)plim_test_program("train " RESNET "--steps 1 --memory cpu:0=4MiB,cpu:1=4MiB,host=64MiB --threads 2 --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  const long long planned = json_integer_value(json_object_get(o, "host_arena_bytes"));
  cr_expect_gt(json_integer_value(json_object_get(o, "cpu:1_peak_measured_bytes")), 0);
  cr_expect_leq(json_integer_value(json_object_get(o, "host_peak_measured_bytes")), planned);
  json_decref(o);
  const program_run *run =
      plim_test_program("train " RESNET "--steps 1 --memory cpu:0=4MiB,cpu:1=4MiB,host=64MiB --threads 2");
  static const char *const rows[][2] = {{"\ncpu:1 ", "cpu>cpu:1 "}, {"\nhost ", "host>cpu "}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *row = strstr(run->out, rows[i][0]);
    cr_assert_not_null(row, "no row%s in:\n%s", rows[i][0], run->out);
    const char *end = strchr(row + 1, '\n'), *peak = strstr(row, "; peak, measured "), *link = strstr(row, rows[i][1]);
    cr_expect(peak && peak < end, "%.*s", (int)(end - row), row);
    cr_expect(link && link < end, "%.*s", (int)(end - row), row);
  }
}

/* ---- weights ---- */

Test(cli_pages, weights_are_those_of_keep_all) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  static const char *const spaces[] = {"host=1GiB", "disk=1GiB --page-file pages"};
  for (int i = 0; i < 2; i++) {
    plim_test_expect_output(
        plim_test_program("verify " SMALLEST "--steps 2 --recompute off --memory cpu=60%%,%s", spaces[i]),
        "weights identical    yes");
  }
}

/* Its update has attributes that an op without its state has not. */
Test(cli_pages, the_state_of_adamw_is_at_home_in_the_page_space) {
  (void)plim_test_shell(
      "for i in 1 2 3 4 5 6 7 8; do echo the update alone needs the moments of AdamW; done >line; "
      "cat line line line line line line line line >text");
  plim_test_expect_output(
      plim_test_program("verify --model gpt --layers 2 --width 64 --heads 2 --context 32 --data text:text "
                        "--batch 4 --steps 2 --model-costs --no-cache -q --memory cpu=60%%,host=1GiB"),
      "weights identical    yes");
}

Test(cli_pages, bad_spaces_are_refused) {
  static const struct {
    const char *options;
    int status;
    const char *words;
  } rows[] = {
      {"--memory cpu=60%,nvme=1GiB", 2, "there is no space 'nvme'; there are cpu, or cpu:0, cpu:1 and so on,"},
      {"--memory cuda:0=60%,cuda:1=60%", 2, "cpu or cuda:0, and one space to page to"},
      {"--memory host=1GiB", 2, "the arena needs a size too"},
      {"--memory cpu=60%,host=1GiB,disk=1GiB", 2, "one space to page to"},
      {"--memory cpu=60%,host=1GiB --device check", 2, "--device and plans that page"},
#ifndef PLIM_SANITIZED /* half a minute of planning */
      {"--time-limit 2 --memory cpu=64KiB,host=1GiB --recompute off", 4,
       "no plan of tinyres with batch 8 within 64.0 KiB (65536 bytes) beside 1.0 GiB of host was found"},
#endif
      {"--memory cpu=60%,disk=1GiB --page-file no/folder", 5, "no/folder"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    (void)plim_test_program("verify " SMALLEST "--steps 2 %s", rows[i].options);
    plim_test_expect(rows[i].status, rows[i].words);
  }
}

/* ---- beside a run that does not page ---- */

Test(cli_pages, compares_a_run_that_pages_with_one_that_keeps_everything) {
  const program_run *run =
      plim_test_program("compare " MLP "--memory cpu=6MiB,disk=64MiB --page-file p --recompute off --steps 20");
  plim_test_expect_output(run, "disk>cpu 6 copies of ");
  plim_test_expect_output(run, "; peak, measured ");
  plim_test_expect_output(run, "weights identical    yes");
}

/* ---- budgets of the arena beside other spaces ---- */

#define SMALL \
  "--model mlp --data synthetic --image 8x8x1 --batch 256 --model-costs --no-cache --threads 1 -q --iterations 1 "

/* More bytes are never slower, and the smallest budget is below that of one arena. */
Test(cli_pages, a_front_over_the_budgets_of_the_arena_never_rises) {
  const program_run *run = plim_test_program("plan " BLOCK "--memory cpu=80%%,host=1GiB --front --points 6 -o f.json");
  plim_test_expect_output(run, "found by halving");
  json_error_t error;
  json_t *o = json_load_file(plim_test_path("f.json"), 0, &error);
  cr_assert_not_null(o, "%s", error.text);
  const json_t *points = json_object_get(o, "points");
  cr_assert_gt(json_array_size(points), 2);
  cr_expect_eq(number_of(json_object_get(o, "beside"), "host"), 1 << 30);
  for (size_t i = 0; i < json_array_size(points); i++) {
    const json_t *p = json_array_get(points, i);
    cr_expect_leq(number_of(p, "bytes"), number_of(p, "budget_bytes"));
    cr_expect_leq(number_of(p, "budget_percent"), 80.0001);
    cr_expect_leq(number_of(p, "bound_percent"), 0, "a bound of one arena says nothing of plans that page");
    if (i > 0) cr_expect_leq(number_of(p, "time_ns"), number_of(json_array_get(points, i - 1), "time_ns"));
  }
  const double least = number_of(json_array_get(points, 0), "budget_bytes");
  json_decref(o);
  run = plim_test_program("plan " BLOCK "--front --points 2");
  o = json_loads(run->out, 0, &error);
  cr_expect_lt(least, number_of(o, "smallest_bytes"));
  json_decref(o);
}

Test(cli_pages, a_front_beside_other_spaces_has_a_table_and_a_picture_and_ends_in_time) {
  (void)plim_test_shell("$PLIMSOLL plan " SMALL
                        "--memory host=1GiB --front --points 4 -o f.csv >f.txt && "
                        "$PLIMSOLL plan " SMALL
                        "--memory host=1GiB --front --points 4 -o f.svg >f.txt && "
                        "test $(wc -l <f.csv) -ge 4 && grep -q 'class=.plan' f.svg && ! grep -q nan f.svg");
  plim_test_expect(0, "");
  (void)plim_test_shell("$PLIMSOLL plan " SMALL
                        "--threads 2 --memory cpu:0=98%,cpu:1=98% --front --points 3 -o two.svg >f.txt && "
                        "grep -q 'class=.plan' two.svg && ! grep -q nan two.svg");
  plim_test_expect(0, "");
  const program_run *run = plim_test_shell(
      "time -p timeout 60 $PLIMSOLL plan --model resnet20 --batch 32 --data synthetic --model-costs --no-cache -q "
      "--memory host=1GiB --front --points 3 --time-limit 1s -o f.csv 2>f.err");
  cr_expect_eq(run->status, 0, "%s", run->error);
  (void)plim_test_program("plan " SMALL "--memory 50%% --front");
  plim_test_expect(2, "with several spaces --memory bounds the others");
}

Test(cli_pages, a_front_above_the_arena_s_budget_is_refused) {
  const program_run *run = plim_test_program("plan " SMALL "--memory cpu=1,host=1GiB --front --points 3 -o f.csv");
  cr_expect_eq(run->status, 4, "%s%s", run->out, run->error);
  cr_expect_not_null(strstr(run->error, "within 1 B beside 1.0 GiB of host was found; the smallest budget of cpu"),
                     "%s", run->error);
  run = plim_test_program("plan " SMALL "--memory cpu=1,host=1GiB --front --points 3 --json -o f.csv");
  json_error_t error;
  json_t *o = json_loads(run->out, 0, &error);
  cr_assert(o, "%s", run->out);
  cr_expect_eq(number_of(o, "budget_bytes"), 1);
  cr_expect_gt(number_of(o, "smallest_bytes"), 1);
  json_decref(o);
}

/* ---- what does not go together ---- */

Test(cli_pages, options_that_two_queues_make_meaningless_are_refused_with_one_sentence) {
  static const char *const options[][2] = {{"--online best", "--online"},
                                           {"--addresses arena", "--addresses"},
                                           {"--device check", "--device"},
                                           {"--device sim", "--device"},
                                           {"--plan paged.json", "--plan"}};
  char words[128];
  (void)plim_test_program("train " HOMED "--steps 1 -o paged.json");
  plim_test_expect(0, "");
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    (void)snprintf(words, sizeof words, "%s and plans that page do not go together: leave out one", options[i][1]);
    (void)plim_test_program("train " HOMED "--steps 2 %s", options[i][0]);
    plim_test_expect(2, words);
  }
  (void)plim_test_program("train " HOMED "--steps 2 --device check");
  plim_test_expect(2, "; check compares the whole arena after each op, and copies change it meanwhile");
  (void)plim_test_program("train " HOMED "--steps 2 --device sim");
  plim_test_expect(2, "; sim computes nothing, so there are no bytes to copy");
  (void)plim_test_program("train " HOMED "--batch 100 --steps 2 --last-batch online");
  plim_test_expect(2, "the last batch cannot be decided online: what persists is partly at home in disk");
  (void)plim_test_program("train " MLP "--steps 2 --plan paged.json --page-file p");
  plim_test_expect(0, "");
}

/* ---- what changes in a run ---- */

Test(cli_pages, plans_that_page_are_timed_in_place_and_made_again_with_equal_weights) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  static const char *const spaces[] = {"cpu=8MiB,host=64MiB", "cpu:0=8MiB,cpu:1=8MiB"};
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
    const program_run *run =
        plim_test_program("verify " RESNET "--threads 2 --steps 9 --retime 3 --memory %s", spaces[i]);
    plim_test_expect_output(run, "timed in place");
    plim_test_expect_output(run, "weights identical    yes");
  }
  (void)plim_test_program("train " RESNET "--steps 1 --memory cpu=8MiB,host=64MiB -o paged.json");
  plim_test_expect(0, "");
  const program_run *run = plim_test_program(
      "verify --model resnet20 --data synthetic --batch 4 --model-costs --no-cache "
      "--threads 1 -q --steps 7 --retime 3 --plan paged.json");
  plim_test_expect_output(run, "timed in place");
  plim_test_expect_output(run, "weights identical    yes");
}

Test(cli_pages, homes_stay_where_they_are_when_a_plan_is_made_again) {
  const program_run *run = plim_test_program("verify " HOMED "--steps 7 --retime 2");
  plim_test_expect_output(run, "timed in place");
  plim_test_expect_output(run, "weights identical    yes");
  run = plim_test_program("verify " HOMED "--steps 6 --memory-at 1=5.8MiB --memory-at 3=6MiB");
  plim_test_expect_output(run, "changes of budget    2");
  plim_test_expect_output(run, "weights identical    yes");
}

Test(cli_pages, a_budget_that_changes_pages_more_or_less_with_equal_weights) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  static const char *const spaces[] = {"cpu=8MiB,disk=64MiB", "cpu:0=8MiB,cpu:1=8MiB"};
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
    const program_run *run = plim_test_program(
        "verify " RESNET "--threads 2 --numerics small --steps 6 --memory %s --memory-at 1=7MiB --memory-at 3=8MiB",
        spaces[i]);
    plim_test_expect_output(run, "changes of budget    2");
    plim_test_expect_output(run, "weights identical    yes");
  }
  (void)plim_test_program("train " MLP "--recompute off --steps 6 --memory cpu=6MiB,host=64MiB --memory-at 1=256KiB");
  plim_test_expect(4, "--memory-at, step 1: no plan of mlp with batch 64");
}

/* The plan for fewer bytes of the arena pages more. */
Test(cli_pages, resident_bytes_are_of_the_spaces_that_ran_and_not_of_the_first_plan) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  const program_run *run = plim_test_program(
      "train " RESNET "--numerics small --steps 4 --memory cpu=8MiB,host=64MiB --memory-at 1=6MiB --json");
  cr_assert_eq(run->status, 0, "%s", run->error);
  json_t *o = json_loads(run->out, 0, NULL);
  cr_assert_not_null(o);
  const double first = number_of(o, "host_arena_bytes"), now = number_of(o, "host_peak_measured_bytes");
  const double outside = number_of(o, "outside_bytes"), arena = number_of(o, "arena_bytes");
  cr_assert_gt(now, first);
  cr_expect_geq(number_of(o, "resident_peak_bytes") - outside - arena, now);
  json_decref(o);
}

/* The first plan fits into a budget that grew, so nothing is slower than it, and nothing shrinks. */
Test(cli_pages, a_budget_that_grows_never_gives_a_slower_plan) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  const program_run *run = plim_test_program(
      "train --model tinyres --data synthetic --batch 8 --model-costs --no-cache --threads 1 -q --steps 4 "
      "--memory cpu=40%%,host=1GiB --memory-at 1=70%% --json");
  cr_assert_eq(run->status, 0, "%s", run->error);
  json_error_t error;
  json_t *o = json_loads(run->out, 0, &error);
  const json_t *change = json_array_get(json_object_get(o, "limits"), 0);
  cr_assert_not_null(change);
  cr_expect_leq(json_number_value(json_object_get(change, "overhead_percent")),
                json_number_value(json_object_get(o, "overhead_percent")));
  json_decref(o);
}

Test(cli_pages, a_last_batch_is_decided_online_beside_a_plan_that_pages) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  const program_run *run = plim_test_program(
      "verify --model resnet20 --data synthetic --image 8x8x1 --batch 400 --model-costs --no-cache --recompute off "
      "--threads 1 -q --steps 12 --last-batch online --memory cpu=60%%,host=64MiB");
  plim_test_expect_output(run, "96 images, online by ");
  plim_test_expect_output(run, "weights identical    yes");
}

/* ---- files that fail ---- */

Test(cli_pages, a_page_file_without_room_is_refused_before_the_first_step) {
  const program_run *run = plim_test_shell("ulimit -f 64; $PLIMSOLL " TO_DISK "--steps 2 --page-file p");
  cr_expect_eq(run->status, 4, "%d: %s", run->status, run->error);
  cr_expect_not_null(strstr(run->error, "page file p needs "), "%s", run->error);
  cr_expect_null(strstr(run->error, "a smaller one needs less"), "%s", run->error);
  cr_expect_not_null(strstr(run->error, "under --memory cpu=8MiB,disk=64MiB: "), "%s", run->error);
  cr_expect_neq(plim_test_shell("test -e p")->status, 0, "an empty file is left");
}

Test(cli_pages, a_page_file_that_was_there_before_a_refusal_is_there_after_it) {
  const program_run *run = plim_test_shell(": >p; ulimit -f 64; $PLIMSOLL " TO_DISK "--steps 2 --page-file p");
  cr_expect_eq(run->status, 4, "%d: %s", run->status, run->error);
  cr_expect_eq(plim_test_shell("test -e p")->status, 0, "the caller's file is gone");
}

Test(cli_pages, a_page_file_that_a_link_names_is_removed_and_the_link_stays) {
  const program_run *run =
      plim_test_shell("ln -s made p; $PLIMSOLL " TO_DISK "--steps 1 --page-file p && test -L p && test ! -e made");
  cr_expect_eq(run->status, 0, "%s", run->error);
  run = plim_test_shell(": >made; $PLIMSOLL " TO_DISK "--steps 1 --page-file p && test -L p && test -e made");
  cr_expect_eq(run->status, 0, "the caller's file is gone: %s", run->error);
}

Test(cli_pages, a_file_system_with_room_for_the_plan_and_little_more_is_enough) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  const program_run *run = plim_test_shell("ulimit -f 6000; $PLIMSOLL " TO_DISK "--steps 2 --page-file p");
  cr_expect_eq(run->status, 0, "%d: %s", run->status, run->error);
}

Test(cli_pages, a_page_file_that_fails_in_a_step_is_named_and_leaves_the_checkpoint_as_it_was) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  const program_run *run;
  (void)plim_test_program(TO_DISK "--steps 2 --page-file p --save w.ckpt -o paged.json");
  plim_test_expect(0, "");
  (void)plim_test_shell("cp w.ckpt before.ckpt");
  run = plim_test_shell("LD_PRELOAD=" PLIM_BINARY_DIR "/libfailing_pages.so PLIM_FAIL_AT=20 $PLIMSOLL " RERUN
                        "--steps 20 --page-file p --load w.ckpt --save w.ckpt");
  cr_expect_eq(run->status, 5, "%d: %s", run->status, run->error);
  static const char *const words[] = {"training step ", "(copy of \"",        "of op \"",
                                      "page file p",    "Input/output error", "continue from a checkpoint"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    cr_expect_not_null(strstr(run->error, words[i]), "'%s' is not in %s", words[i], run->error);
  }
  run = plim_test_shell("cmp w.ckpt before.ckpt && test ! -s p && ls");
  cr_expect_eq(run->status, 0, "%s", run->error);
  (void)plim_test_program(TO_DISK "--steps 1 --page-file p --load w.ckpt");
  plim_test_expect(0, "");
}

/* The reads that measure the link come first. */
Test(cli_pages, verify_finds_a_page_that_comes_back_with_another_bit) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  static const char *const reads[] = {"8", "14", "20"};
  int found = 0;
  for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
    char command[512];
    (void)snprintf(command, sizeof command,
                   "LD_PRELOAD=" PLIM_BINARY_DIR "/libfailing_pages.so PLIM_FLIP_AT=%s $PLIMSOLL verify " RESNET
                   "--steps 12 --memory cpu=8MiB,disk=64MiB --page-file p",
                   reads[i]);
    const program_run *run = plim_test_shell(command);
    cr_expect(run->status == 0 || run->status == 1, "%d: %s", run->status, run->error);
    if (run->status == 1) cr_expect_not_null(strstr(run->out, "weights identical    no"), "%s", run->out);
    found += run->status == 1;
  }
  cr_expect_geq(found, 2, "%d are found", found); /* one may be 0, which stays next to 0 */
}

Test(cli_pages, a_page_file_that_fails_while_its_link_is_measured_is_named) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  const program_run *run =
      plim_test_shell("LD_PRELOAD=" PLIM_BINARY_DIR
                      "/libfailing_pages.so PLIM_FAIL_AT=1 $PLIMSOLL train --model mlp --data synthetic --image 8x8x1 "
                      "--batch 32 --no-cache --threads 1 -q --steps 2 --memory cpu=90%,disk=64MiB --page-file p");
  cr_expect_eq(run->status, 5, "%d: %s", run->status, run->error);
  cr_expect_not_null(strstr(run->error, "page file p are measured: Input/output error"), "%s", run->error);
}

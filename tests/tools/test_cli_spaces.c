/* plimsoll plan and check over spaces and queues: figures, documents, exit status. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/file.h"
#include "tests/support/child_program.h"
#include "tests/support/folder.h"

/* Two devices and their copies, after XEngine's smallest test; and a chain with FLOP. */
static const char placed[] =
    "{\"graph\": {\"name\": \"placed\", \"devices\": [\"d0\", \"d1\"]}, \"nodes\": ["
    "{\"id\": 0, \"out_cost\": 1000000, \"durations\": {\"d0\": 1000, \"d1\": 10000}, \"copies\": {\"d0>d1\": 3000, "
    "\"d1>d0\": 8000}},"
    "{\"id\": 1, \"out_cost\": 4000000, \"durations\": {\"d0\": 10000, \"d1\": 1000}, \"copies\": {\"d0>d1\": 0, "
    "\"d1>d0\": 0}}], \"links\": [{\"source\": 0, \"target\": 1}]}\n";
static const char paged[] =
    "{\"graph\": {\"name\": \"paged\"}, \"nodes\": [{\"id\": 0, \"out_cost\": 1000, \"flops\": 900000}, {\"id\": 1, "
    "\"out_cost\": 1000, \"flops\": 10000}, {\"id\": 2, \"out_cost\": 1000, \"flops\": 10000}, {\"id\": 3, "
    "\"out_cost\": "
    "1000, \"flops\": 10000}, {\"id\": 4, \"out_cost\": 100, \"flops\": 10000}], \"links\": [{\"source\": 0, "
    "\"target\": 1}, {\"source\": 1, \"target\": 2}, {\"source\": 2, \"target\": 3}, {\"source\": 3, \"target\": 4}, "
    "{\"source\": 0, \"target\": 4}]}\n";

static plim_context *ctx;

static void begin(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  (void)plim_test_folder();
  cr_assert_eq(plim_file_save(ctx, plim_test_path("x.json"), placed, (int64_t)sizeof placed - 1), PLIM_OK);
  cr_assert_eq(plim_file_save(ctx, plim_test_path("y.json"), paged, (int64_t)sizeof paged - 1), PLIM_OK);
  (void)plim_test_program("import nx x.json -o placed.json -q");
  plim_test_expect(0, "");
  (void)plim_test_program("import nx y.json -o paged.json -q");
  plim_test_expect(0, "");
}

static void end(void) {
  plim_test_folder_remove();
  plim_context_free(ctx);
}
TestSuite(cli_spaces, .init = begin, .fini = end);

/* Without a solver the program says which one to install; nothing else of these tests applies then. */
static void plan(const char *arguments) {
  const program_run *run = plim_test_program("plan -q --json %s", arguments);
  if (run->status == 5 && strstr(run->error, "no solver of linear models can be opened")) {
    cr_skip_test("%s", run->error);
  }
  cr_assert_eq(run->status, 0, "%s", run->error);
}

static double figure(const json_t *object, const char *key) {
  return json_number_value(json_object_get(object, key));
}

Test(cli_spaces, places_checks_and_tells_bytes_by_space) {
  plan("--graph placed.json --planner xengine --objective serial --memory d0=5000000,d1=5000000 -o p.json");
  json_t *o = plim_test_json();
  cr_expect_eq(figure(o, "time_ns"), 5000);
  cr_expect_eq(figure(json_object_get(o, "budget_bytes"), "d1"), 5000000);
  cr_expect_leq(figure(json_object_get(o, "peak_bytes"), "d1"), 5000000);
  cr_expect(json_is_true(json_object_get(o, "proved")));
  cr_expect(json_is_null(json_object_get(o, "energy_joule")));
  json_decref(o);
  (void)plim_test_program("check p.json --json");
  plim_test_expect(0, "");
  o = plim_test_json();
  cr_expect(json_is_true(json_object_get(o, "valid")));
  cr_expect_eq(figure(o, "time_ns"), 5000);
  json_decref(o);
  (void)plim_test_shell(
      "sed 's/\"makespan_ns\": 5000/\"makespan_ns\": 4000/' p.json >q.json && $PLIMSOLL check q.json "
      "--graph p.graph.json");
  plim_test_expect(1, "a makespan of 4000 and a serial time of 5000 ns, the simulator finds 5000 and 5000");
}

/* The energy of a front never rises, and its last plan has the least. */
Test(cli_spaces, a_front_goes_over_the_budgets_of_the_first_device) {
  const program_run *run = plim_test_shell(
      "$PLIMSOLL plan --graph paged.json --platform m4 --objective energy --memory sd=4000 --front --points 5 "
      "--iterations 20 -q -o c.csv && tail -n +2 c.csv | cut -d, -f4 | sort -gr -c && wc -l <c.csv");
  cr_expect_eq(run->status, 0, "%s", run->error);
  cr_expect_gt(atoi(run->out), 2, "%s", run->out);
  (void)plim_test_shell(
      "$PLIMSOLL plan --graph paged.json --platform m4 --memory sd=4000 --front --points 5 "
      "--iterations 20 -q -o c.svg && grep -q 'class=.plan. fill=.none. d=.M[0-9. ]*H' c.svg");
  plim_test_expect(0, "");
}

Test(cli_spaces, every_switch_switches) {
  plan("--graph paged.json --platform m4 --planner poet --memory 2500");
  json_t *o = plim_test_json();
  double both = figure(o, "energy_joule");
  json_decref(o);
  plan("--graph paged.json --platform m4 --planner poet --memory 2500 --recompute off");
  o = plim_test_json();
  cr_expect_eq(figure(o, "recomputes"), 0);
  cr_expect_gt(figure(o, "copies"), 0);
  cr_expect_leq(both, figure(o, "energy_joule"));
  json_decref(o);
  plan("--graph paged.json --platform m4 --planner poet --memory 2500 --page off");
  o = plim_test_json();
  cr_expect_eq(figure(o, "copies"), 0);
  cr_expect_gt(figure(o, "recomputes"), 0);
  cr_expect_leq(both, figure(o, "energy_joule"));
  json_decref(o);
  plan("--graph placed.json --planner xengine --memory d0=5000000,d1=5000000 --place off");
  o = plim_test_json();
  cr_expect_eq(figure(o, "time_ns"), 11000);
  json_decref(o);
}

Test(cli_spaces, explains_what_becomes_of_every_storage) {
  plan("--graph paged.json --platform m4 --planner poet --memory 2500 --recompute off --explain");
  json_t *o = plim_test_json(), *rows = json_object_get(o, "storages"), *first = json_array_get(rows, 0);
  cr_assert_eq(json_array_size(rows), 5);
  cr_expect_str_eq(json_string_value(json_object_get(first, "decision")), "page");
  cr_expect_eq(figure(first, "copies"), 2);
  cr_expect_gt(figure(first, "energy_joule"), 0);
  cr_expect_not_null(strstr(json_string_value(json_object_get(first, "reason")), "more than the budget"));
  cr_expect_str_eq(json_string_value(json_object_get(json_array_get(rows, 1), "decision")), "keep");
  json_decref(o);
  const program_run *run = plim_test_program(
      "plan -q --graph paged.json --platform m4 --planner poet --memory 2500 --recompute off --explain");
  cr_expect_not_null(strstr(run->out, "with it command"), "%s", run->out);
}

static const struct {
  const char *arguments;
  int status;
  const char *words;
} inputs[] = {
    {"--graph paged.json --platform m0 --memory rom=1", 2, "platform m0 has no space 'rom'; it has ram, sd"},
    {"--graph paged.json --platform m5", 2, "no platform is called \"m5\", and no file; did you mean \"m0\"?"},
    {"--graph paged.json --platform none.json", 3, "none.json"},
    {"--graph paged.json --platform jetsontx2", 3, "give both in a platform file"},
    {"--graph paged.json", 3, "carries FLOP or times by device and no time of its own; --platform says"},
    {"--graph paged.json --platform m0 --deadline 1.2y", 2,
     "--deadline 1.2y is neither a factor of keep-all as in 1.5x"},
    {"--graph paged.json --platform m0 --deadline 1.5", 2, "nor a time as in 3s or 20ms"},
    {"--graph paged.json --platform m0 --deadline -1s", 2, "--deadline -1s is neither"},
    {"--graph paged.json --platform m0 --deadline 0x", 2, "--deadline 0x is neither"},
    {"--graph paged.json --platform m0 --deadline nan", 2, "--deadline nan is neither"},
    {"--graph placed.json --deadline 3s", 2, "nor a number, in the unit of the graph's times"},
    {"--graph placed.json --deadline 0", 2, "nor a number, in the unit of the graph's times"},
    {"--graph paged.json --platform m0 --page maybe", 2, "no switch is called \"maybe\""},
    {"--graph paged.json --platform m0 --front --explain", 2, "--front and --explain cannot be combined"},
    {"--graph placed.json --planner poet --memory d0=5000000", 3, "op '#0' has no energy on device d0"},
    {"--graph placed.json --planner xengine --memory d0=1,d0=2", 2, "space d0 has two budgets"},
    {"--graph paged.json --platform m0 --planner xengine --objective energy", 2,
     "planner xengine does not take the objective energy; its own is serial"},
    {"--platform m0", 2, "--platform requires --graph"},
    {"--model mlp --objective energy", 2, "--objective energy requires --platform: no power of this machine is known"},
    {"--model mlp --objective serial", 2, "--objective serial is of graphs: give time or energy"},
    {"--model mlp --deadline 2x", 2, "--deadline requires --graph or --objective energy: the fastest plan is made"},
};

/* Files with the powers of links to host, and with that of the device or without. */
static void write_powers(void) {
  (void)plim_test_shell(
      "for w in '\"watt\": 30,' ''; do echo \"{'devices': [{'name': 'cpu', $w 'idle_watt': 5, 'spaces': ['cpu', "
      "'host']}], "
      "'links': [{'from': 'cpu', 'to': 'host', 'latency_s': 0, 'bytes_per_second': 1e9, 'watt': 2, 'duplex': true},"
      "{'from': 'host', 'to': 'cpu', 'latency_s': 0, 'bytes_per_second': 1e9, 'watt': 2, 'duplex': true}]}\" "
      "| tr \"'\" '\"' >powers${#w}.json; done; mv powers0.json none.json; mv powers1*.json powers.json");
}

Test(cli_spaces, a_training_step_is_planned_for_energy_by_a_deadline) {
  static const char command[] =
      "plan -q --model mlp --batch 16 --data synthetic --model-costs --no-cache --iterations 10 "
      "--objective energy";
  write_powers();
  /* The link is measured: copies may take long where other programs run. */
  const program_run *run =
      plim_test_program("%s --platform powers.json --memory cpu=99%%,host=64MiB --deadline 1000x --json", command);
  cr_assert_eq(run->status, 0, "%s", run->error);
  json_t *o = json_loads(run->out, 0, NULL);
  cr_assert_not_null(o);
  cr_assert_geq(json_number_value(json_object_get(o, "energy_joule")),
                json_number_value(json_object_get(o, "keep_all_joule")));
  cr_assert_gt(json_number_value(json_object_get(o, "keep_all_joule")), 0);
  cr_assert_gt(json_integer_value(json_object_get(o, "deadline_ns")), 0);
  json_decref(o);
  run = plim_test_program("%s --platform powers.json --memory cpu=99%%", command);
  cr_assert_eq(run->status, 2);
  cr_assert_not_null(strstr(run->error, "--objective energy requires --memory of several spaces"), "%s", run->error);
  run = plim_test_program("%s --platform none.json --memory cpu=99%%,host=64MiB", command);
  cr_assert_eq(run->status, 3);
  cr_assert_not_null(strstr(run->error, "no `watt` of device 'cpu': no power of it is known"), "%s", run->error);
  run = plim_test_program("%s --platform powers.json --memory cpu=99%%,host=64MiB --deadline 7", command);
  cr_assert_eq(run->status, 2);
  cr_assert_not_null(strstr(run->error, "--deadline 7 is neither a factor of keep-all"), "%s", run->error);
  run = plim_test_program("%s --platform powers.json --memory cpu=99%%,host=64MiB --deadline 0.5x", command);
  cr_assert_eq(run->status, 4, "%s", run->error);
  cr_assert_not_null(strstr(run->error, "that ends by the deadline of"), "%s", run->error);
}

/* A larger budget of the arena never takes more energy. */
Test(cli_spaces, a_front_of_a_model_is_of_energy_where_that_is_the_objective) {
  static const char command[] =
      "plan -q --model mlp --batch 16 --data synthetic --model-costs --no-cache --iterations 10 "
      "--objective energy --platform powers.json --memory host=64MiB --front --points 4";
  double before = INFINITY;
  write_powers();
  const program_run *run = plim_test_program("%s --deadline 1000x -o f.json", command);
  cr_assert_eq(run->status, 0, "%s", run->error);
  json_t *o = json_load_file(plim_test_path("f.json"), 0, NULL);
  cr_assert_not_null(o);
  const json_t *points = json_object_get(o, "points");
  cr_assert_eq(json_array_size(points), 4);
  const double whole = json_number_value(json_object_get(o, "whole_joule"));
  for (size_t i = 0; i < json_array_size(points); i++) {
    const json_t *p = json_array_get(points, i);
    const double joule = json_number_value(json_object_get(p, "energy_joule"));
    cr_expect(joule > 0 && joule <= before, "point %zu", i);
    cr_expect_float_eq(json_number_value(json_object_get(p, "overhead_percent")), 100 * joule / whole - 100, 1e-4);
    cr_expect_leq(json_number_value(json_object_get(p, "bound_percent")),
                  json_number_value(json_object_get(p, "overhead_percent")) + 1e-4);
    before = joule;
  }
  cr_expect_float_eq(before, whole, 1e-9); /* all bytes: nothing is copied */
  json_decref(o);
  (void)plim_test_program("%s -o f.csv && head -1 f.csv", command);
  cr_expect_not_null(strstr(run->out, ",energy_joule,overhead_percent,"), "%s", run->out);
  (void)plim_test_program("%s -o f.svg && grep -c 'overhead of energy over the budget' f.svg", command);
  cr_expect_eq(run->status, 0, "%s", run->error);
  (void)plim_test_program("%s --deadline 0.5x -o f.json", command);
  plim_test_expect(4, "no plan was found that ends by the deadline of ");
}

Test(cli_spaces, answers_bad_input_with_one_sentence_and_the_right_status) {
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
    const program_run *run = plim_test_program("plan %s", inputs[i].arguments);
    cr_assert_eq(run->status, inputs[i].status, "%s: exit status %d: %s", inputs[i].arguments, run->status, run->error);
    cr_assert_not_null(strstr(run->error, inputs[i].words), "%s: %s", inputs[i].arguments, run->error);
    cr_assert_str_empty(run->out, "%s printed %s", inputs[i].arguments, run->out);
  }
}

/* Files that are wrong, or say nothing of what is asked; the last rows have devices without a link between them. */
static const struct {
  const char *file, *text, *arguments;
  int status;
  const char *words;
} files[] = {
    {"f.json", "{\"devices\": [], \"links\": []}", "--graph paged.json --platform f.json", 3, "devices: is empty"},
    {"f.json", "{\"devices\": [", "--graph paged.json --platform f.json", 3, "ends in the middle"},
    {"f.json",
     "{\"devices\": [{\"name\": \"c\", \"flop_per_second\": \"2 GHz\", \"flop_per_joule\": 1, \"idle_watt\": 0, "
     "\"spaces\": [\"r\"]}], \"links\": []}",
     "--graph paged.json --platform f.json", 3, "devices[0].flop_per_second: is a text, not a number"},
    {"f.json", "{\"devices\": [{\"name\": \"c\", \"idle_watt\": 0, \"spaces\": [\"r\"]}], \"links\": []}",
     "--graph paged.json --platform f.json", 3, "its FLOP need a device with `flop_per_second`"},
    {"f.json",
     "{\"devices\": [{\"name\": \"c\", \"flop_per_second\": 1e6, \"idle_watt\": 0, \"spaces\": [\"r\"]}], "
     "\"links\": []}",
     "--graph paged.json --platform f.json --objective energy", 3,
     "that takes `flop_per_joule` or `watt` in the platform"},
    {"f.json",
     "{\"devices\": [{\"name\": \"c\", \"flop_per_second\": 1e6, \"flop_per_joule\": 1, \"idle_watt\": 0, \"spaces\": "
     "[\"r\", \"s\"]}], \"links\": [{\"from\": \"r\", \"to\": \"s\", \"latency_s\": 0, \"watt\": 0, \"duplex\": "
     "true}]}",
     "--graph paged.json --platform f.json", 3, "links[0].bytes_per_second: is missing"},
    {"f.json",
     "{\"devices\": [{\"name\": \"c\", \"flop_per_second\": 1e6, \"flop_per_joule\": 1, \"idle_watt\": 0, \"spaces\": "
     "[\"r\", \"s\"]}], \"links\": []}",
     "--graph paged.json --platform f.json --page on", 2, "has no link from space r to another and back"},
    {"f.txt", "cpu_0;cpu;0;1;many", "--graph placed.json --platform f.txt", 3, "is not name;cpu|gpu;number;streams"},
};

Test(cli_spaces, answers_wrong_files_with_one_sentence_and_the_right_status) {
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    cr_assert_eq(plim_file_save(ctx, plim_test_path(files[i].file), files[i].text, (int64_t)strlen(files[i].text)),
                 PLIM_OK);
    (void)plim_test_program("plan -q %s", files[i].arguments);
    plim_test_expect(files[i].status, files[i].words);
  }
}

Test(cli_spaces, names_the_link_that_is_missing_and_the_device_that_nobody_knows) {
  static const char apart[] =
      "{\"graph\": {\"name\": \"apart\", \"devices\": [\"d0\", \"d1\"]}, \"nodes\": [{\"id\": 0, \"out_cost\": 1, "
      "\"durations\": {\"d0\": 1}}, {\"id\": 1, \"out_cost\": 1, \"durations\": {\"d1\": 1}}], \"links\": "
      "[{\"source\": 0, \"target\": 1}]}\n";
  cr_assert_eq(plim_file_save(ctx, plim_test_path("a.json"), apart, (int64_t)sizeof apart - 1), PLIM_OK);
  (void)plim_test_program("import nx a.json -o apart.json -q");
  plim_test_expect(0, "");
  (void)plim_test_program("plan -q --graph apart.json --memory d0=10,d1=10");
  plim_test_expect(2, "op '#1' cannot run: platform graph has no link that brings the output of op '#0' to space d1");
  (void)plim_test_program("plan -q --graph apart.json --memory d7=10");
  plim_test_expect(2, "platform graph has no space 'd7'; it has d0, d1");
  (void)plim_test_shell(
      "sed 's/{\"d1\": 1}/{\"d9\": 1}/' a.json >b.json && $PLIMSOLL import nx b.json -o b.graph.json");
  plim_test_expect(3, "has device 'd9', which graph.devices does not name");
}

Test(cli_spaces, a_program_that_is_not_solved_in_time_leaves_the_plan_of_the_search_with_its_bound) {
  plan("--graph paged.json --platform m0 --planner poet --memory 2500 --time-limit 1ms -o p.json");
  json_t *o = plim_test_json();
  cr_expect_leq(figure(json_object_get(o, "peak_bytes"), "ram"), 2500);
  cr_expect(json_is_null(json_object_get(o, "model_objective")));
  cr_expect_leq(figure(o, "bound_percent"), figure(o, "overhead_percent"));
  json_decref(o);
  (void)plim_test_program("check p.json");
  plim_test_expect(0, "");
}

Test(cli_spaces, the_search_needs_no_planner_and_no_solver_to_be_named) {
  plan("--graph paged.json --platform m4 --objective energy --memory 2500");
  json_t *o = plim_test_json();
  double found = figure(o, "energy_joule");
  cr_expect_str_eq(json_string_value(json_object_get(o, "planner")), "search");
  json_decref(o);
  plan("--graph paged.json --platform m4 --planner poet --memory 2500");
  o = plim_test_json();
  cr_expect_leq(found, figure(o, "energy_joule") * (1 + 1e-9));
  json_decref(o);
}

Test(cli_spaces, the_search_refuses_with_budgets_and_deadlines_that_have_a_plan) {
  (void)plim_test_program("plan --graph paged.json --platform m0 --memory ram=1000 -q");
  plim_test_expect(4, "all of them times 2.1 have one; with the others as given ram needs 2100 bytes");
  (void)plim_test_program("plan --graph paged.json --platform m4 --deadline 0.5x -q");
  plim_test_expect(4, "a deadline of 147568802 ns has one");
}

Test(cli_spaces, a_deadline_that_is_too_small_is_refused_with_the_earliest_that_has_a_plan) {
  plan("--graph paged.json --platform m0 --planner poet --memory 2500");
  (void)plim_test_program("plan --graph paged.json --platform m4 --planner poet --deadline 0.5x -q");
  plim_test_expect(4, "the earliest deadline that has a plan is 147568802 ns");
}

Test(cli_spaces, a_plan_that_takes_no_more_than_every_op_once_is_proved) {
  plan("--graph paged.json --platform m0 --planner milp --objective time");
  json_t *o = plim_test_json();
  cr_expect_eq(figure(o, "overhead_percent"), 0);
  cr_expect(json_is_true(json_object_get(o, "proved")));
  json_decref(o);
}

Test(cli_spaces, a_budget_without_a_plan_is_refused_with_those_that_have_one) {
  plan("--graph paged.json --platform m0 --planner poet --memory 2500");
  (void)plim_test_program("plan --graph paged.json --platform m0 --planner poet --memory ram=1000 -q");
  plim_test_expect(4,
                   "no plan of 'paged' in class poet stages fits into ram=1000: all of them times 2.1 have one; with "
                   "the others as given ram "
                   "needs 2100 bytes");
}

Test(cli_spaces, a_refusal_for_lack_of_time_says_how_to_ask_for_more) {
  (void)plim_test_program("gen layered --ops 300 -o g.json -q");
  plim_test_expect(0, "");
  (void)plim_test_program("plan --graph g.json --platform m4 --memory ram=1000 --time-limit 1ms -q");
  plim_test_expect(4, "time was over before larger budgets were tried; raise --time-limit or --iterations");
}

/* A deadline shorter than any time is too small like every other. */
Test(cli_spaces, a_deadline_of_less_than_a_nanosecond_is_refused_by_programs_and_search) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  plan("--graph paged.json --platform m4 --planner poet --deadline 2x");
  (void)plim_test_program("plan --graph paged.json --platform m4 --planner poet --memory 2500 --deadline 1e-12x -q");
  plim_test_expect(4, "the earliest deadline that has a plan is");
  (void)plim_test_program("plan --graph paged.json --platform m4 --memory 2500 --deadline 1e-12x -q");
  plim_test_expect(4, "has one");
}

Test(cli_spaces, a_deadline_on_the_makespan_of_placement_is_refused_with_what_bounds_it) {
  plan("--graph placed.json --planner xengine --objective time --memory d0=5000000,d1=5000000 --deadline 5000");
  json_t *o = plim_test_json();
  cr_expect_eq(figure(o, "makespan_ns"), 5000);
  cr_expect(json_is_true(json_object_get(o, "proved")));
  json_decref(o);
  (void)plim_test_program(
      "plan -q --graph placed.json --planner xengine --memory d0=5000000,d1=5000000 --deadline 4999");
  plim_test_expect(4, "with these budgets no deadline before 5000 has a plan");
}

/* What was called a time in milliseconds was in seconds, and a multiplier besides. */
Test(cli_spaces, a_deadline_has_a_unit) {
  double deadline[3];
  static const char *const texts[] = {"1500ms", "1.5s", "1.5x"};
  for (int i = 0; i < 3; i++) {
    (void)plim_test_program("plan -q --json --graph paged.json --platform m4 --objective energy --deadline %s",
                            texts[i]);
    plim_test_expect(0, "");
    json_t *o = plim_test_json();
    deadline[i] = figure(o, "deadline_ns");
    json_decref(o);
  }
  cr_expect_eq(deadline[0], 1.5e9);
  cr_expect_eq(deadline[1], 1.5e9);
  cr_expect_eq(deadline[2], floor(1.5 * 147568802), "%.0f", deadline[2]);
}

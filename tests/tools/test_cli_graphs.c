/* tools/plimsoll on graphs from outside: import, gen, plan --graph, sequences, curves, and what wrong ones get. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/child_program.h"
#include "tests/support/folder.h"

/* Three levels: with 5 bytes a free order takes 7, the order of the list 11; nothing fits into 4. */
#define LEVELS                                                                                                \
  "{\\\"nodes\\\": [{\\\"id\\\": 10, \\\"cost_ram\\\": 2, \\\"cost_cpu\\\": 1}, "                             \
  "{\\\"id\\\": 11, \\\"cost_ram\\\": 1, \\\"cost_cpu\\\": 1}, {\\\"id\\\": 12, \\\"cost_ram\\\": 3, "        \
  "\\\"cost_cpu\\\": 1}, {\\\"id\\\": 13, \\\"cost_ram\\\": 2, \\\"cost_cpu\\\": 1}, {\\\"id\\\": 14, "       \
  "\\\"cost_ram\\\": 5, \\\"cost_cpu\\\": 1}, {\\\"id\\\": 15, \\\"cost_ram\\\": 1, \\\"cost_cpu\\\": 1}], "  \
  "\\\"links\\\": [{\\\"source\\\": 10, \\\"target\\\": 11}, {\\\"source\\\": 10, \\\"target\\\": 12}, "      \
  "{\\\"source\\\": 12, \\\"target\\\": 13}, {\\\"source\\\": 11, \\\"target\\\": 15}, {\\\"source\\\": 13, " \
  "\\\"target\\\": 15}], \\\"graph\\\": {\\\"order\\\": [10, 11, 12, 13, 14, 15]}}"

static void setup(void) {
  (void)plim_test_folder();
  (void)plim_test_shell("echo \"" LEVELS "\" >net.json && $PLIMSOLL import nx net.json -o g.json");
  plim_test_expect(0, "");
}
static void teardown(void) {
  (void)plim_test_shell("rm -rf plimsoll");
  plim_test_folder_remove();
}
TestSuite(cli_graphs, .init = setup, .fini = teardown);

static double number(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  cr_assert(json_is_number(value), "%s is missing or no number", key);
  return json_number_value(value);
}

static json_t *plan(const char *arguments) {
  (void)plim_test_program("plan --graph g.json --json %s", arguments);
  plim_test_expect(0, "");
  return plim_test_json();
}

Test(cli_graphs, classes_have_their_own_optima_and_percentages_are_of_program_orders_peak) {
  json_t *o = plan("--memory 62.5%");
  cr_assert_eq(number(o, "budget_bytes"), 5);
  cr_assert_eq(number(o, "time"), 7);
  cr_assert_str_eq(json_string_value(json_object_get(o, "class")), "free");
  cr_assert(json_is_null(json_object_get(o, "arena_bytes")));
  json_decref(o);
  o = plan("--memory 5 --order fixed -o plan.json --svg plan.svg");
  cr_assert_eq(number(o, "time"), 11);
  cr_assert_str_eq(json_string_value(json_object_get(o, "class")), "fixed");
  json_decref(o);
  cr_expect_null(strstr(plim_test_program("check plan.json --graph g.json")->out, "batch"), "it has none");
  (void)plim_test_program("check plan.json --graph g.json --json && grep -q '</svg>' plan.svg");
  plim_test_expect(0, "");
}

Test(cli_graphs, sequence_has_the_files_ids_and_standard_output_nothing_else) {
  const program_run *run = plim_test_program("plan --graph g.json --print-sequence");
  cr_assert_eq(run->status, 0);
  cr_assert_eq(strspn(run->out, "0123456789\n"), strlen(run->out), "%s", run->out);
  cr_assert_not_null(strstr(run->out, "14\n"));
  cr_assert_not_null(strstr(run->error, "overhead"));
}

Test(cli_graphs, second_plan_is_kept_from_the_first_unless_the_cache_is_off) {
  json_t *o = plan("--memory 6");
  cr_assert(json_is_false(json_object_get(o, "from_front")));
  json_decref(o);
  o = plan("--memory 6");
  cr_assert(json_is_true(json_object_get(o, "from_front")));
  json_decref(o);
  o = plan("--memory 6 --no-cache");
  cr_assert(json_is_false(json_object_get(o, "from_front")));
  json_decref(o);
}

Test(cli_graphs, curve_comes_as_json_csv_and_picture_and_never_rises) {
  (void)plim_test_program(
      "gen layered --ops 60 -o l.json && $PLIMSOLL plan --graph l.json --front --points 30 "
      "--iterations 2000 -o c.json");
  plim_test_expect(0, "");
  json_error_t error;
  json_t *o = json_load_file(plim_test_path("c.json"), 0, &error);
  const json_t *points = json_object_get(o, "points");
  cr_assert_eq(json_array_size(points), 30);
  for (size_t i = 0; i < 30; i++) {
    const json_t *p = json_array_get(points, i);
    cr_assert_leq(number(p, "bytes"), number(p, "budget_bytes"));
    cr_assert_leq(number(p, "bound_percent"), number(p, "overhead_percent"));
    if (i > 0) cr_assert_leq(number(p, "time_ns"), number(json_array_get(points, i - 1), "time_ns"));
  }
  cr_assert_eq(number(json_array_get(points, 29), "overhead_percent"), 0);
  json_decref(o);
  (void)plim_test_shell(
      "$PLIMSOLL plan --graph l.json --front --points 30 --iterations 2000 -o c.csv && "
      "$PLIMSOLL plan --graph l.json --front --points 30 --iterations 2000 -o c.svg && "
      "test $(wc -l <c.csv) = 31 && grep -q '</svg>' c.svg && "
      "grep -q 'class=\"bound\" fill=\"none\" d=\"M[0-9. ]*V' c.svg && "
      /* what the smallest budget proves ends there: the line begins with what holds above it */
      "test $(sed -n 's/.*class=\"bound\".* d=\"M[0-9.]* \\([0-9.]*\\)V\\([0-9.]*\\)H.*/\\1 \\2/p' c.svg | "
      "awk '$1 == $2' | wc -l) = 1");
  plim_test_expect(0, "");
}

Test(cli_graphs, curve_has_a_plan_for_every_budget_in_however_little_time) {
  (void)plim_test_shell(
      "$PLIMSOLL gen layered --ops 60 -o l.json && "
      "$PLIMSOLL plan --graph l.json --front --points 30 --time-limit 1ms --no-cache -o c.csv && "
      "test $(wc -l <c.csv) = 31");
  plim_test_expect(0, "");
}

Test(cli_graphs, curve_of_a_model_agrees_with_single_plans) {
  (void)plim_test_shell(
      "m='--model mlp --data synthetic --image 8x8x1 --batch 32 --model-costs'; "
      "$PLIMSOLL plan $m --front --points 4 -o m.csv >m.txt && "
      "$PLIMSOLL plan $m --memory $(sed -n 3p m.csv | cut -d, -f1) --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_assert(json_is_true(json_object_get(o, "from_front")));
  double overhead = json_number_value(json_object_get(o, "overhead_percent"));
  double bound = json_number_value(json_object_get(o, "bound_percent"));
  json_decref(o);
  double of_front, bound_of_front;
  const program_run *run = plim_test_shell("sed -n 3p m.csv | cut -d, -f5,6");
  cr_assert_eq(sscanf(run->out, "%lf,%lf", &of_front, &bound_of_front), 2, "%s", run->out);
  cr_assert_float_eq(overhead, of_front, 1e-5);
  cr_assert_float_eq(bound, bound_of_front, 1e-5);
}

/* How much is found until then depends on the machine: a plan that is written is good, and none is said in a sentence.
 */
Test(cli_graphs, interrupt_exits_with_130_and_writes_the_best_plan_that_was_found) {
  const program_run *run = plim_test_shell(
      "$PLIMSOLL gen residual --ops 200 -o l.json >l.txt && timeout --preserve-status -s INT 3 $PLIMSOLL plan --graph "
      "l.json --memory 40% --order fixed --time-limit 1min --no-cache -o plan.json; s=$?; "
      "if test -e plan.json; then $PLIMSOLL check plan.json --graph l.json; else test $s = 130; fi && "
      "test $s = 130");
  cr_assert_eq(run->status, 0, "%s", run->error);
  int found = strstr(run->out, "valid ") != NULL;
  cr_assert(found || strstr(run->error, "planning was cancelled before a plan within "), "%s", run->error);
}

Test(cli_graphs, bench_of_large_graphs_needs_no_data_and_has_ours_after_its_peers) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  (void)plim_test_program("bench large --ops 40 --iterations 500 --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  const json_t *rows = json_object_get(o, "rows");
  cr_assert_eq(json_array_size(rows), 3 * 4 * 5);
  for (size_t i = 0; i < json_array_size(rows); i++) {
    const json_t *row = json_array_get(rows, i);
    if (i % 5 == 4) cr_assert_str_eq(json_string_value(json_object_get(row, "planner")), "search");
    cr_assert_gt(number(row, "peak_rss_mib"), 0);
    if (!json_object_get(row, "class")) continue; /* no plan */
    cr_assert_geq(number(row, "overhead_percent"), number(row, "bound_percent"));
  }
  json_decref(o);
}

/* Its tables are printed by another program. */
Test(cli_graphs, bench_describes_itself_and_says_what_is_missing_without_its_program) {
  const program_run *run = plim_test_shell(
      "cp $PLIMSOLL alone && export PATH=/usr/bin:/bin && ./alone bench --help >a.txt && $PLIMSOLL bench --help >b.txt "
      "&& cmp a.txt b.txt && ./alone bench window --json; status=$?; rm alone; exit $status");
  plim_test_expect(5, "the program plimsoll-bench, which prints these tables, lies neither beside this one nor");
  cr_assert_not_null(strstr(run->out, "\"status\": \"not supported\""), "%s", run->out);
  (void)plim_test_shell(
      "cp $PLIMSOLL alone && PATH=$(dirname $PLIMSOLL):$PATH ./alone bench window --json && rm alone");
  plim_test_expect(0, "");
}

/* Completion, help and program agree about them. A plan that one of them made is read wherever a plan is. */
Test(cli_graphs, bench_alone_has_the_planners_of_others_and_their_plans_are_read) {
  const program_run *run = plim_test_shell(
      "for n in fastsa revolve; do $PLIMSOLL help bench | grep \"^  $n \" && $PLIMSOLL completion bash | grep -q "
      "\"rotor.* $n\" && $PLIMSOLL bench large --ops 40 --iterations 50 --shapes chain --budgets 90% --planners $n; "
      "done");
  plim_test_expect(0, "");
  cr_assert_not_null(strstr(run->out, "\n90%    fastsa   free "), "%s", run->out);
  cr_assert_not_null(strstr(run->out, "\n90%    revolve  fixed "), "%s", run->out);
  (void)plim_test_program("plan --graph g.json --planner fastsa");
  plim_test_expect(2, "no planner is called \"fastsa\"");
  (void)plim_test_shell(
      "$PLIMSOLL plan --graph g.json --iterations 50 -o p.json >ours.txt && sed -i 's/\"planner\": "
      "\"search\"/\"planner\": "
      "\"fastsa\"/' p.json && grep -q '\"fastsa\"' p.json && $PLIMSOLL check p.json && $PLIMSOLL pack p.json && "
      "$PLIMSOLL "
      "trace summary p.json");
  plim_test_expect(0, "");
}

Test(cli_graphs, bench_of_large_graphs_takes_shapes_and_caps) {
  (void)plim_test_program(
      "bench large --ops 40 --iterations 50 --shapes unet,chain --caps 62.5%% --planners search --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  const json_t *rows = json_object_get(o, "rows");
  cr_assert_eq(json_array_size(rows), 2);
  for (size_t i = 0; i < 2; i++) cr_assert_float_eq(number(json_array_get(rows, i), "budget_percent"), 62.5, 0.01);
  json_decref(o);
  const program_run *run = plim_test_program("bench large --ops 40 --budgets 50%%,x");
  plim_test_expect(2, "--budgets: 'x' ");
  cr_expect_str_empty(run->out, "a table was begun: %s", run->out);
}

Test(cli_graphs, bench_has_a_row_for_every_instance_budget_and_planner) {
  (void)plim_test_shell(
      "mkdir graphs && cp net.json graphs/ && $PLIMSOLL bench planners --data . --planners "
      "search,sqrt --iterations 200 --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  const json_t *rows = json_object_get(o, "rows");
  cr_assert_eq(json_array_size(rows), 9); /* sqrt has no free order */
  for (size_t i = 0; i < 9; i++) {
    const json_t *row = json_array_get(rows, i);
    cr_assert_str_eq(json_string_value(json_object_get(row, "instance")), "net");
    cr_assert(json_is_null(json_object_get(row, "published_name")));
    if (!json_object_get(row, "class")) continue;
    cr_assert_leq(number(row, "peak_bytes"), number(row, "budget_bytes"));
    cr_assert_leq(number(row, "bound_percent"), number(row, "overhead_percent"));
  }
  json_decref(o);
  const program_run *run = plim_test_program("bench planners --data graphs --order free --iterations 200");
  plim_test_expect(0, "");
  cr_assert_not_null(strstr(run->out, "Moccasin"));
  (void)plim_test_shell("rm -r graphs");
}

/* A chain of four layers and their backward ops, of which the first and the third are cheap to run again. */
Test(cli_graphs, bench_poet_never_has_a_plan_above_recompute_or_paging_alone) {
  (void)plim_test_shell(
      "mkdir poet && python3 -c \"import json; f = [0, 10, 3000, 10, 3000, 1]; n = [dict(id=i, out_cost=1000, "
      "flops=f[i] if i < 6 else 2 * f[11 - i] + 1) for i in range(11)]; "
      "l = [(i, i + 1) for i in range(10)] + [(i, 10 - i) for i in range(4)]; "
      "print(json.dumps(dict(graph=dict(name='mlp'), nodes=n, links=[dict(source=a, target=b) for a, b in l])))\" "
      ">poet/mlp.json && $PLIMSOLL bench poet --data-dir . --shapes mlp --platform m0,m4 --iterations 100 --json "
      ">known.json && $PLIMSOLL bench poet --data-dir . --shapes mlp --platform m0,m4 --iterations 100 --with "
      "known.json --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  const json_t *rows = json_object_get(o, "rows");
  cr_assert_eq(json_array_size(rows), 40);
  for (size_t i = 0; i < 40; i++) {
    const json_t *row = json_array_get(rows, i);
    double found = number(row, "search_joule");
    if (json_is_null(json_object_get(row, "search_joule"))) continue; /* too small a budget for the deadline */
    cr_expect(json_is_true(json_object_get(row, "good")), "row %zu", i);
    cr_expect_geq(found, number(row, "keep_all_joule"), "row %zu", i);
    cr_expect_leq(number(row, "known_joule"), found, "row %zu", i);
  }
  json_decref(o);
  const program_run *run = plim_test_program("bench poet --data-dir . --shapes mlp --platform m0 --planners poett");
  plim_test_expect(2, "");
  cr_expect_not_null(strstr(run->error, "no planner is called \"poett\"; did you mean \"poet\"?"), "%s", run->error);
  /* a program whose solver is missing has no plans; the table says why, once */
  run = plim_test_shell(
      "PLIM_SOLVER=/no-solver $PLIMSOLL bench poet --data-dir . --shapes mlp --platform m0 "
      "--planners poet --time-limit 1s --iterations 10");
  cr_assert_eq(run->status, 0, "%s", run->error);
  const char *why = strstr(run->error, "no-solver");
  cr_assert_not_null(why, "%s", run->error);
  cr_expect_null(strstr(why + 1, "no-solver"), "%s", run->error);
  (void)plim_test_shell("rm -r poet known.json");
}

static const struct {
  const char *arguments;
  int status;
  const char *words;
} inputs[] = {
    {"import xn net.json -o o.json", 2, "graphs are not imported from \"xn\"; did you mean \"nx\"?"},
    {"import nx", 2, "FILE is missing: plimsoll import FORMAT FILE"},
    {"import nx net.json", 2, "import requires -o FILE"},
    {"import nx none.json -o o.json", 3, "none.json"},
    {"import nx g.json -o o.json", 3, "nodes: is missing"},
    {"gen layerd -o o.json", 2, "did you mean \"layered\"?"},
    {"gen chain --ops 3 -o o.json", 2, "3 ops are not generated"},
    {"bench planer --data .", 2, "did you mean \"planners\"?"},
    {"bench planners", 2, "bench planners requires --data-dir DIR"},
    {"bench planners --data none", 3, "none: no folder with files that end in .json"},
    {"plan --graph none.json", 3, "none.json"},
    {"plan --graph net.json", 3, "net.json: is no document of this program"},
    {"plan --graph g.json --memory 4", 4,
     "imported does not fit into 4 B: the smallest budget that has a plan is 5 B, where op '#12' needs"},
    {"plan --graph g.json --memory 100% --addresses packed", 4, "a plan is 1.5 KiB (1536 bytes), where op"},
    {"plan --graph g.json --memory 0", 2, "0"},
    {"plan --graph g.json --planner sqrt --order free", 2, "\"sqrt\" makes plans of class fixed only"},
    {"plan --graph g.json --planner serch", 2, "did you mean \"search\"?"},
    {"plan --graph g.json --order fre", 2, "did you mean \"free\"?"},
    {"plan --graph g.json --addresses planed", 2, "did you mean \"planned\"?"},
    {"plan --graph g.json --time-limit 10parsecs", 2, "--time-limit 10parsecs is not a time"},
    {"plan --graph g.json --time-limit -1s", 2, "--time-limit -1s is not a time"},
    {"plan --graph g.json --profile net.json", 3, "net.json: is no document of this program"},
    {"plan --graph g.json --front --points 1", 2, "--points 1"},
};

Test(cli_graphs, answers_bad_input_with_one_sentence_and_the_right_status) {
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
    const program_run *run = plim_test_program("%s", inputs[i].arguments);
    cr_assert_eq(run->status, inputs[i].status, "%s: exit status %d: %s", inputs[i].arguments, run->status, run->error);
    cr_assert_not_null(strstr(run->error, inputs[i].words), "%s: %s", inputs[i].arguments, run->error);
    cr_assert_str_empty(run->out, "%s printed %s", inputs[i].arguments, run->out);
  }
}

/* What the importer's own table has (test_import_networkx.c), seen from outside: status, one sentence, no file. */
Test(cli_graphs, wrong_networks_are_refused_with_status_3_and_leave_no_graph) {
  static const struct {
    const char *spoil, *words;
  } networks[] = {
      {"s/\"target\": 11/\"target\": 10/", "the links have a cycle through the node with id 1"},
      {"s/\"target\": 11/\"target\": 99/", "links[0].target: 99 is the id of no node"},
      {"s/\"id\": 11/\"id\": 10/", "have the id 10"},
      {"s/\"cost_ram\": 5/\"cost_ram\": -5/", "nodes[4].cost_ram: -5 is not in [0,"},
      {"s/\"cost_ram\": 5/\"cost_ram\": 2305843009213693951/", "add up to more than 2^61 bytes"},
      {"s/.nodes.: .*.links.: [^]]*/\"nodes\": [], \"links\": [/", "nodes: is empty: a graph has at least one op"},
  };
  char line[512];
  for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
    (void)snprintf(line, sizeof line, "sed '%s' net.json >bad.json && ! cmp -s net.json bad.json", networks[i].spoil);
    cr_assert_eq(plim_test_shell(line)->status, 0, "%s changed nothing", networks[i].spoil);
    (void)plim_test_program("import nx bad.json -o bad.out");
    plim_test_expect(3, networks[i].words);
    cr_assert_neq(plim_test_shell("test -e bad.out")->status, 0);
  }
}

/* What is given and changes nothing is said, for every planner; what it would break is refused. */
Test(cli_graphs, no_option_of_effort_is_passed_over_in_silence) {
  static const struct {
    const char *planner;
    int moves, threads;
  } rows[] = {{"search", 1, 1}, {"keep-all", 0, 0}, {"sqrt", 0, 0},    {"greedy", 0, 0},
              {"rotor", 0, 0},  {"cut", 1, 0},      {"moccasin", 1, 1}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const program_run *run = plim_test_program(
        "plan --graph g.json --no-cache --iterations 50 --threads 2 --time-limit 9s --planner %s", rows[i].planner);
    plim_test_expect(0, "");
    const char *told = strstr(run->out, "without effect");
    cr_assert_eq(told != NULL, !rows[i].moves || !rows[i].threads, "%s: %s", rows[i].planner, run->out);
    if (!told) continue;
    cr_assert_eq(strstr(told, "--iterations") != NULL, !rows[i].moves, "%s", run->out);
    cr_assert_eq(strstr(told, "--threads") != NULL, !rows[i].threads, "%s", run->out);
    cr_assert_null(strstr(told, "--time-limit"), "%s", run->out);
    if (strcmp(rows[i].planner, "moccasin") == 0) continue;
    (void)plim_test_program("plan --graph g.json --copies 3 --planner %s", rows[i].planner);
    plim_test_expect(2, "--copies requires --planner moccasin");
  }
}

/* With other planners it is tests of theirs that see to it; here the same command has to find what its refusal names.
 */
Test(cli_graphs, moccasin_meets_the_smallest_budget_that_its_refusal_names) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  (void)plim_test_program("gen layered --ops 100 -o m.json");
  (void)plim_test_program("plan --graph m.json --no-cache --iterations 500 --planner moccasin --memory 1 --json");
  plim_test_expect(4, "does not fit");
  json_t *o = plim_test_json();
  long long smallest = json_integer_value(json_object_get(o, "smallest_bytes"));
  json_decref(o);
  (void)plim_test_program("plan --graph m.json --no-cache --iterations 500 --planner moccasin --memory %lld", smallest);
  plim_test_expect(0, "");
}

/* Planning uses the time up, so that nothing looks for a smaller budget: that of keep-all is known. */
Test(cli_graphs, a_refusal_after_a_short_time_names_a_budget_that_works) {
  static const char *const addresses[] = {"none", "planned"};
  (void)plim_test_program("gen layered --ops 2000 -o w.json");
  for (int i = 0; i < 2; i++) {
    const char *command =
        "plan --graph w.json --no-cache --planner cut --time-limit 300ms --addresses %s --memory %lld%s";
    (void)plim_test_program(command, addresses[i], 207473LL, " --json");
    plim_test_expect(4, "the smallest budget for which a plan was found is ");
    json_t *o = plim_test_json();
    long long smallest = json_integer_value(json_object_get(o, "smallest_bytes"));
    json_decref(o);
    (void)plim_test_program(command, addresses[i], smallest, "");
    plim_test_expect(0, "");
  }
}

Test(cli_graphs, times_have_units) {
  static const char *const times[] = {"2s", "2000ms", "0.03min", "2"}; /* ends long before */
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
    (void)plim_test_program("plan --graph g.json --memory 6 --no-cache --time-limit %s", times[i]);
    plim_test_expect(0, "");
  }
}

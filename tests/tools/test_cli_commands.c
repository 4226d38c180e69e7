/* tools/plimsoll: the commands as a user runs them: exit statuses, tables, JSON, documents on disk. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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
TestSuite(cli, .init = setup, .fini = teardown);

#define SMALL "--model mlp --data synthetic --image 8x8x1 --batch 32 --model-costs --iterations 3000 "
#define WIDE "--model mlp --data synthetic --batch 64 --model-costs --iterations 3000 "
#define NETWORK \
  "--model resnet20 --layout nhwc --data synthetic --image 16x16x3 --batch 16 --model-costs --iterations 3000 "

static int64_t integer(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  cr_assert(json_is_integer(value), "%s is missing or no integer", key);
  return json_integer_value(value);
}

static double number(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  cr_assert(json_is_number(value), "%s is missing or no number", key);
  return json_number_value(value);
}

static void expect_words(const char *text, const char *words) {
  cr_assert_not_null(strstr(text, words), "\"%s\" lacks \"%s\"", text, words);
}

/* What libgomp reads is the environment with which the process began. */
static void expect_spins(const char *given, const char *words) {
  char command[512];
  (void)snprintf(command, sizeof command,
                 "unset OMP_WAIT_POLICY GOMP_SPINCOUNT; %s $PLIMSOLL train " SMALL
                 "--steps 100000000 >/dev/null 2>&1 & p=$!; worked $p 10; "
                 "tr '\\0' '\\n' </proc/$p/environ | grep -E 'SPINCOUNT|WAIT_POLICY'; kill $p; wait $p",
                 given);
  const program_run *run = plim_test_shell(command);
  cr_assert_str_eq(run->out, words, "with %s: %s", given, run->out);
}

Test(cli, threads_spin_shortly_unless_the_environment_says_how_they_wait) {
  expect_spins("", "GOMP_SPINCOUNT=2000\n");
  expect_spins("GOMP_SPINCOUNT=77", "GOMP_SPINCOUNT=77\n");
  expect_spins("OMP_WAIT_POLICY=passive", "OMP_WAIT_POLICY=passive\n");
}

/* Once: what computes nothing does not begin anew. */
Test(cli, the_process_has_the_name_of_the_program_and_starts_anew_for_commands_that_compute_alone) {
  const program_run *run = plim_test_shell("unset OMP_WAIT_POLICY GOMP_SPINCOUNT; $PLIMSOLL train " SMALL
                                           "--steps 100000000 >/dev/null 2>&1 & p=$!; sleep 1; "
                                           "cat /proc/$p/comm; tr '\\0' ' ' </proc/$p/cmdline; kill $p; wait $p");
  expect_words(run->out, "plimsoll\n");
  expect_words(run->out, "/plimsoll train --model");
  run = plim_test_shell(
      "unset OMP_WAIT_POLICY GOMP_SPINCOUNT; OMP_DISPLAY_ENV=true $PLIMSOLL --version 2>&1 | grep -c 'ENVIRONMENT "
      "BEGIN'");
  expect_words(run->out, "1\n");
}

static const char *const commands[] = {"train",  "compare", "verify",   "profile", "plan",  "check", "pack",
                                       "import", "gen",     "simulate", "solvers", "bench", "trace"};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

/* The longest line may have an example that stands as it is. */
static void expect_lines_within(const char *text, size_t width) {
  for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
    cr_assert_leq(strcspn(line, "\n"), width, "too wide: %.120s", line);
  }
}

Test(cli, describes_itself_and_every_command) {
  static program_run overview;
  overview = *plim_test_program("--help");
  cr_assert_eq(overview.status, 0);
  expect_words(overview.out, "\n  143  SIGTERM");
  cr_assert_str_eq(plim_test_program("-h")->out, overview.out);
  cr_assert_str_eq(plim_test_program("help")->out, overview.out);
  cr_assert_str_eq(plim_test_program("help help")->out, overview.out);
  for (size_t i = 0; i < COMMANDS; i++) {
    static program_run help;
    expect_words(overview.out, commands[i]);
    help = *plim_test_program("%s --help", commands[i]);
    cr_assert_eq(help.status, 0);
    expect_words(help.out, "EXAMPLES\n");
    expect_words(help.out, "EXIT STATUS\n");
    expect_words(help.out, "--json");
    expect_lines_within(help.out, 90);
    cr_assert_str_eq(plim_test_program("%s -h", commands[i])->out, help.out);
    cr_assert_str_eq(plim_test_program("help %s", commands[i])->out, help.out);
  }
  expect_words(plim_test_program("help completion")->out, "Usage: plimsoll completion bash|zsh|fish\n");
  expect_words(plim_test_program("help --man")->out, ".TH PLIMSOLL 1");
  expect_words(plim_test_program("--version")->out, "plimsoll " PLIM_VERSION);
  expect_words(plim_test_program("train --version")->out, "plimsoll " PLIM_VERSION);
}

/* A wrong value is answered with all that would do: help has each of them. */
Test(cli, help_names_every_value_that_an_option_takes) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  const program_run *run = plim_test_shell(
      "for o in model data planner addresses online last-batch precision layout; do "
      "names=$($PLIMSOLL train --$o=qqqq 2>&1 | sed 's/\"qqqq\"//' | grep -o '\"[^\"]*\"' | tr -d '\"'); "
      "[ \"$names\" ] || echo \"--$o lists nothing\"; for n in $names; do "
      "{ $PLIMSOLL train --help; $PLIMSOLL help plan; } | grep -qwe \"$n\" || echo \"--$o $n\"; done; done");
  cr_assert_str_empty(run->out, "%s", run->out);
}

/* The program reads no variable that the list of help leaves out. */
Test(cli, help_names_every_variable_of_the_environment) {
  static const char *const names[] = {"XDG_CACHE_HOME", "XDG_DATA_HOME",  "NO_COLOR",        "PLIM_ISA",
                                      "PLIM_HIGHS",     "PLIM_CBC",       "PLIM_SOLVER",     "PLIM_CUDNN",
                                      "PLIM_CUBLAS",    "PLIM_CUDA_LIBS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"};
  static program_run overview;
  overview = *plim_test_program("help");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) expect_words(overview.out, names[i]);
}

Test(cli, takes_long_options_cut_to_what_is_unique) {
  (void)plim_test_program("gen layered --op 40 --see=7 --out g.json --js");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_assert_eq(integer(o, "ops"), 40);
  json_decref(o);
}

Test(cli, takes_values_that_look_like_options_and_arguments_after_two_dashes) {
  (void)plim_test_program("gen layered --ops 40 -o --foo && test -e ./--foo && $PLIMSOLL gen -o g.json -n9 -- layered");
  plim_test_expect(0, "");
}

/* The shell itself asks for what begins with a few letters. */
static const struct {
  const char *words, *wanted;
} completed[] = {
    {"plimsoll tr", "trace train "},
    {"plimsoll train --memory-", "--memory-at "},
    {"plimsoll train --model resnet5", "resnet50 resnet56 "},
    {"plimsoll plan --model=ml", "mlp "},
    {"plimsoll gen tr", "transformer "},
    {"plimsoll help ver", "verify "},
    {"plimsoll check pl", "plan.json "},
    {"plimsoll train --no-g", ""},
};

Test(cli, completes_commands_options_names_and_files_in_bash) {
  char line[1024];
  for (size_t i = 0; i < sizeof completed / sizeof *completed; i++) {
    (void)snprintf(line, sizeof line,
                   "touch plan.json; bash -c '. <($PLIMSOLL completion bash); read -ra COMP_WORDS <<<\"${0//=/ = }\"; "
                   "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _plimsoll; printf \"%%s\\n\" \"${COMPREPLY[@]}\" | sort | "
                   "tr \"\\n\" \" \"' '%s'",
                   completed[i].words);
    const program_run *run = plim_test_shell(line);
    cr_assert_eq(run->status, 0);
    cr_assert_str_eq(run->out + (run->out[0] == ' '), completed[i].wanted, "%s gave %s", completed[i].words, run->out);
    cr_assert_str_empty(run->error, "%s", run->error);
  }
}

Test(cli, completion_and_man_page_name_every_option_that_help_names) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  static const char *const texts[] = {"completion bash", "completion zsh", "completion fish", "help --man"};
  char line[512];
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    (void)snprintf(
        line, sizeof line,
        "$PLIMSOLL %s | tr -d '\\\\' >text; for c in $($PLIMSOLL --help | awk '/^Commands/ {on = 1; next} "
        "/^Options/ {exit} on && /^  [a-z]/ {print $1}' | grep -v -e help -e completion); do $PLIMSOLL $c --usage; "
        "done | "
        "grep -o -e '--[a-z-]*' | sort -u >names; test $(wc -l <names) -gt 60; cut -c3- names | "
        "while read n; do grep -q -e \"$n\" text || echo $n; done",
        texts[i]);
    const program_run *run = plim_test_shell(line);
    cr_assert_eq(run->status, 0);
    cr_assert_str_empty(run->out, "%s lacks %s", texts[i], run->out);
    cr_assert_str_empty(run->error);
  }
}

Test(cli, trains_and_prints_the_table) {
  const program_run *run = plim_test_program("train " SMALL "--steps 12");
  plim_test_expect(0, "");
  cr_assert_str_empty(run->error);
  expect_words(run->out, "arena ");
  expect_words(run->out, "test accuracy");
  expect_words(run->out, "outside the arena");
}

Test(cli, prints_the_energy_of_a_step_where_counters_can_be_read) {
  (void)plim_test_shell(
      "d=powercap/intel-rapl:0; mkdir -p $d; echo package-0 >$d/name; echo 5 >$d/energy_uj; "
      "echo 262143328850 >$d/max_energy_range_uj; "
      "PLIM_POWERCAP=powercap $PLIMSOLL train " SMALL "--steps 2 --json; rm -r powercap");
  json_t *o = plim_test_json();
  cr_assert_eq(number(o, "energy_measured_joule"), 0, "the counter stands still");
  json_decref(o);
  (void)plim_test_shell("PLIM_POWERCAP=powercap $PLIMSOLL train " SMALL "--steps 2 --json");
  o = plim_test_json();
  cr_assert_null(json_object_get(o, "energy_measured_joule"));
  json_decref(o);
}

Test(cli, prints_one_object_with_the_figures_of_a_run) {
  (void)plim_test_program("train " NETWORK "--steps 4 --memory 80%% --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_assert_leq(integer(o, "arena_bytes"), integer(o, "budget_bytes"));
  cr_assert_leq(integer(o, "peak_bytes"), integer(o, "arena_bytes"));
  cr_assert_eq(integer(o, "peak_bytes"), integer(o, "peak_measured_bytes"));
  cr_assert_eq(integer(o, "budget_bytes"), (integer(o, "keep_all_bytes") * 80 + 99) / 100);
  cr_assert_eq(integer(o, "steps"), 4);
  cr_assert_eq(integer(o, "parameters"), 272474);
  cr_assert(number(o, "overhead_percent") > 0 && number(o, "bound_percent") <= number(o, "overhead_percent"));
  cr_assert(number(o, "seconds") > 0 && number(o, "images_per_second") > 0 && number(o, "loss") > 0);
  cr_assert(number(o, "step_cpu_ms") > 0 && number(o, "images_per_cpu_second") > 0);
  cr_assert(json_is_boolean(json_object_get(o, "proved")));
  cr_assert_str_eq(json_string_value(json_object_get(o, "class")), "free");
  json_decref(o);
}

Test(cli, plans_checks_and_trains_by_the_plan) {
  (void)plim_test_program("plan " NETWORK "--memory 60%% -o plan.json --svg plan.svg --json");
  plim_test_expect(0, "");
  json_t *planned = plim_test_json();
  (void)plim_test_program("check plan.json --json");
  plim_test_expect(0, "");
  json_t *checked = plim_test_json();
  cr_assert_eq(integer(planned, "arena_bytes"), integer(checked, "arena_bytes"));
  cr_assert(json_is_true(json_object_get(checked, "valid")));
  cr_assert(json_is_false(json_object_get(checked, "bound_checked")));
  expect_words(plim_test_program("check plan.json")->out, " % (as stated, not checked");
  (void)plim_test_program("train " NETWORK "--plan plan.json --steps 2 --json");
  plim_test_expect(0, "");
  json_t *trained = plim_test_json();
  cr_assert_eq(integer(planned, "arena_bytes"), integer(trained, "arena_bytes"));
  cr_assert_eq(plim_test_shell("grep -q '</svg>' plan.svg")->status, 0);
  json_decref(planned);
  json_decref(checked);
  json_decref(trained);
}

Test(cli, verifies_that_a_budget_changes_no_bit) {
  (void)plim_test_program("verify " NETWORK "--memory 60%% --steps 3 --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_assert(json_is_true(json_object_get(o, "identical")));
  cr_assert_eq(integer(o, "tensors_different"), 0);
  cr_assert_gt(integer(o, "tensors_compared"), 100);
  const json_t *capped = json_object_get(o, "capped");
  cr_assert_gt(integer(capped, "commands"), integer(json_object_get(o, "keep_all"), "commands"));
  json_decref(o);
}

Test(cli, trains_in_bf16_says_so_and_a_budget_changes_no_bit_of_it) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  const program_run *run = plim_test_program("train " SMALL "--math bf16 --steps 3 --device check");
  plim_test_expect(0, "");
  expect_words(run->out, "synthetic, nhwc, bf16\n");
  (void)plim_test_program("plan " NETWORK "--json");
  json_t *whole = plim_test_json();
  (void)plim_test_program("verify " NETWORK "--math bf16 --memory 70%% --iterations 300 --steps 2 --json");
  plim_test_expect(0, "");
  json_t *half = plim_test_json();
  cr_assert_str_eq(json_string_value(json_object_get(whole, "math")), "fp32");
  cr_assert_str_eq(json_string_value(json_object_get(half, "math")), "bf16");
  cr_assert(json_is_true(json_object_get(half, "identical")));
  const json_t *keep_all = json_object_get(half, "keep_all");
  cr_assert_lt(integer(keep_all, "keep_all_bytes"), integer(whole, "keep_all_bytes"));
  json_decref(whole);
  json_decref(half);
}

Test(cli, compares_with_and_without_a_cap) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  (void)plim_test_program("compare " NETWORK "--memory 70%% --steps 25 --svg both.svg --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  const json_t *capped = json_object_get(o, "capped"), *keep_all = json_object_get(o, "keep_all");
  cr_assert(json_is_true(json_object_get(o, "identical")));
  cr_assert_lt(integer(capped, "arena_bytes"), integer(keep_all, "arena_bytes"));
  cr_assert_eq(integer(capped, "steps"), 25);
  cr_assert_eq(integer(keep_all, "steps"), 25);
  cr_assert(json_is_number(json_object_get(capped, "overhead_measured_percent")));
  json_decref(o);
}

Test(cli, profiles_once_and_reads_its_cache_the_second_time) {
  (void)plim_test_program("profile --model mlp --data synthetic --image 8x8x1 --batch 32 -o first.json");
  plim_test_expect(0, "");
  (void)plim_test_program("profile --model mlp --data synthetic --image 8x8x1 --batch 32 -o second.json --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_assert(json_is_true(json_object_get(o, "measured")));
  cr_assert(number(o, "keep_all_ms") > 0);
  json_decref(o);
  cr_assert_eq(plim_test_shell("cmp first.json second.json")->status, 0);
}

Test(cli, goes_on_from_a_saved_file) {
  (void)plim_test_program("train " SMALL "--steps 9 --save all.ck --rate 0.01");
  plim_test_expect(0, "");
  (void)plim_test_program("train " SMALL "--steps 12 --load all.ck --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_assert_eq(integer(o, "steps"), 3);
  json_decref(o);
}

Test(cli, writes_a_trace_of_ten_steps) {
  (void)plim_test_program("train " SMALL "--steps 14 --trace t.jsonl");
  plim_test_expect(0, "");
  (void)plim_test_shell("head -n 1 t.jsonl | grep -q '\"plimsoll\": \"trace\"'");
  plim_test_expect(0, "");
  (void)plim_test_program("trace summary t.jsonl --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_assert_eq(integer(o, "steps"), 10);
  cr_assert_eq(atoi(plim_test_shell("wc -l <t.jsonl")->out), 2 + 10 * integer(o, "commands"));
  json_decref(o);
}

Test(cli, allocates_nothing_in_a_step_and_counts_what_libraries_do) {
  (void)plim_test_program("train " NETWORK "--steps 4 --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_assert_eq(integer(o, "own_allocations"), 0);
  if (json_object_get(o, "hidden_bytes")) cr_assert_leq(integer(o, "hidden_bytes"), 1024 * integer(o, "commands"));
  json_decref(o);
}

static int64_t outside_bytes(int batch) {
  (void)plim_test_program("train " NETWORK "--image 8x8x3 --steps 2 --batch %d --planner keep-all --json", batch);
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  int64_t bytes = integer(o, "outside_bytes");
  json_decref(o);
  return bytes;
}

Test(cli, takes_hardly_more_outside_the_arena_for_a_larger_batch) {
#ifdef PLIM_SANITIZED
  cr_skip_test("sanitizers keep bytes of their own");
#endif
  int64_t small = outside_bytes(32), large = outside_bytes(512);
  cr_assert_lt(large - small, 8 << 20, "%lld bytes at batch 32, %lld at 512", (long long)small, (long long)large);
}

Test(cli, gives_each_value_its_own_allocation_on_request) {
  const program_run *run = plim_test_program("train " SMALL "--steps 3 --addresses jemalloc");
  if (run->status == 5 && strstr(run->error, "without jemalloc")) cr_skip_test("built without jemalloc");
  plim_test_expect(0, "");
  expect_words(run->out, "allocator, resident");
}

Test(cli, lets_the_arena_decide_addresses_on_request) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  const program_run *run =
      plim_test_program("verify " NETWORK "--steps 2 --memory 85%% --arithmetic small --addresses arena");
  plim_test_expect(0, "");
  expect_words(run->out, "yes (109 tensors");
  run = plim_test_program("train " NETWORK "--steps 2 --memory 85%% --arithmetic small --addresses arena");
  plim_test_expect(0, "");
  expect_words(run->out, "evictions");
}

Test(cli, gives_the_arena_room_where_the_last_byte_was_planned_and_says_so) {
  const program_run *run = plim_test_program("train " WIDE "--steps 2 --addresses arena");
  plim_test_expect(0, "");
  expect_words(run->out, "room for the arena");
  (void)plim_test_program("train " WIDE "--steps 2 --addresses arena --memory 100%%");
  plim_test_expect(4, "the arena, which moves nothing, finds no room");
}

Test(cli, watches_every_byte_on_the_check_device) {
  (void)plim_test_program("verify " NETWORK "--device check --memory 70%% --steps 1 --json");
  plim_test_expect(0, "");
  (void)plim_test_program("train " SMALL "--device chek --steps 2");
  plim_test_expect(2, "no device is called 'chek'");
}

/* Its clock is the plan's: a step takes what was predicted, and nothing is learned. */
Test(cli, replays_on_the_sim_device_without_arithmetic) {
  (void)plim_test_program("train " NETWORK "--device sim --memory 70%% --steps 14 --trace s.jsonl");
  plim_test_expect(0, "");
  (void)plim_test_program("trace summary s.jsonl --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_assert_eq(integer(o, "steps"), 10);
  double planned = number(o, "planned_ms"), measured = number(o, "measured_ms");
  cr_assert(planned > 0 && measured > 0.99 * planned && measured < 1.01 * planned, "%g and %g", planned, measured);
  json_decref(o);
}

/* What is laid out by hand below the options must not be wrapped. */
Test(cli, has_pages_of_help_that_fit_80_columns) {
  const program_run *run = plim_test_shell(
      "for c in train compare verify profile plan check pack import gen simulate solvers bench trace; do "
      "$PLIMSOLL $c --help | awk -v c=$c '/^EXAMPLES/ {below = 1} length($0) > 79 || (below && /^[^ A-Z]/) || (below "
      "&& "
      "/^[A-Z]/ && !/^[A-Z ]+$/) {print c \": \" $0}'; done");
  cr_assert_str_empty(run->out, "%s", run->out);
}

/* --memory gives a budget; help, tables and messages have no second word for it. */
Test(cli, calls_the_bytes_that_may_not_be_exceeded_a_budget) {
  const program_run *run = plim_test_shell(
      "for c in train compare verify profile plan check pack import gen simulate solvers bench trace; do "
      "$PLIMSOLL $c --help; done | grep -iwE 'caps?|capped'");
  cr_assert_str_empty(run->out, "%s", run->out);
  static const char *const tables[] = {"plan " SMALL, "compare " SMALL "--memory 99% --steps 4"};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    run = plim_test_program("%s", tables[i]);
    plim_test_expect(0, "");
    expect_words(run->out, "\nbudget ");
    cr_assert_null(strstr(run->out, "cap "), "%s", run->out);
  }
}

/* Start a training without end, signal it when it has used so much of the CPU that it must be training, wait. */
static const program_run *interrupt(const char *signals) {
  char line[600];
  (void)snprintf(line, sizeof line,
                 "$PLIMSOLL train " SMALL
                 "--steps 100000000 & "
                 "worked $! 120 && { %s; }; wait $!",
                 signals);
  return plim_test_shell(line);
}

Test(cli, ends_with_the_table_after_ctrl_c) {
  const program_run *run = interrupt("kill -INT $!");
  plim_test_expect(130, "stopped after");
  expect_words(run->out, "median step");
}

Test(cli, keeps_what_was_trained_after_ctrl_c) {
  const program_run *run = plim_test_shell(
      "$PLIMSOLL train " SMALL "--steps 100000000 --save w.ck --json & worked $! 120 && kill -INT $!; wait $!");
  plim_test_expect(130, "stopped after");
  json_t *o = plim_test_json();
  json_int_t steps = json_integer_value(json_object_get(o, "steps"));
  json_decref(o);
  cr_assert_gt(steps, 0, "%s", run->out);
  (void)plim_test_program("train " SMALL "--load w.ck --steps 1 --json");
  plim_test_expect(0, "");
}

Test(cli, takes_signals_that_arrive_together_for_one) {
  const program_run *run = interrupt("kill -INT $!; kill -INT $!");
  plim_test_expect(130, "stopped after");
  expect_words(run->out, "median step");
}

Test(cli, each_operation_has_its_share_of_the_ceilings) {
  (void)plim_test_program(
      "profile --model mlp --data synthetic --image 8x8x1 --batch 16 --repeats 1 --ceilings --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json(), *each = json_object_get(o, "each_op"), *op;
  size_t i;
  cr_assert_eq((json_int_t)json_array_size(each), json_integer_value(json_object_get(o, "ops")));
  json_array_foreach(each, i, op) {
    cr_assert_not_null(json_string_value(json_object_get(op, "op")));
    cr_assert_gt(json_integer_value(json_object_get(op, "ns")), 0);
    cr_assert_gt(json_real_value(json_object_get(op, "percent_of_ceiling")), 0);
  }
  json_decref(o);
}

/* tools/plimsoll/option_rules.c: no option is ignored in silence for the sake of another. */
#include <criterion/criterion.h>
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
TestSuite(cli_pairs, .init = setup, .fini = teardown);

#define SMALL "--model mlp --data synthetic --image 8x8x1 --batch 32 --model-costs "

static const struct {
  const char *arguments, *words;
} refused[] = {
    {"plan --graph g.json --model mlp", "--graph and --model cannot be combined"},
    {"plan --graph g.json -b 4", "--graph and --batch cannot be combined"},
    {"plan --graph g.json --image 8x8x1", "--graph and --image cannot be combined"},
    {"plan --graph g.json --data synthetic", "--graph and --data cannot be combined"},
    {"plan --graph g.json --arithmetic fast", "--graph and --numerics cannot be combined"},
    {"plan --graph g.json --math bf16", "--graph and --precision cannot be combined"},
    {"plan --graph g.json --layout nhwc", "--graph and --layout cannot be combined"},
    {"plan --graph g.json --device cpu", "--graph and --device cannot be combined"},
    {"plan --graph g.json --model-costs", "--graph and --model-costs cannot be combined"},
    {"plan " SMALL "--front --memory 50%", "--front and --memory cannot be combined"},
    {"plan " SMALL "--front --svg c.svg", "--front and --svg cannot be combined"},
    {"plan --graph g.json --front --print-sequence", "--front and --print-sequence cannot be combined"},
    {"plan " SMALL "--front --online coop", "--front and --online cannot be combined"},
    {"plan " SMALL "--points 5", "--points requires --front"},
    {"plan " SMALL "--profile p.json", "--profile requires --graph"},
    {"plan " SMALL "--print-sequence", "--print-sequence requires --graph"},
    {"plan " SMALL "--addresses none", "--addresses requires --graph"},
    {"plan " SMALL "--thrash 2", "--max-recompute requires --online"},
    {"train " SMALL "--thrash 2", "--max-recompute requires --online"},
    {"train " SMALL "--plan p.json --planner cut", "--plan and --planner cannot be combined"},
    {"train " SMALL "--plan p.json --arithmetic fast", "--plan and --numerics cannot be combined"},
    {"train " SMALL "--no-cuda-graph", "--no-cuda-graph requires --device cuda:0"},
    {"train " SMALL "--data-dir .", "--data-dir does not apply to --data synthetic"},
    {"compare " SMALL "--memory 50% --minutes 1 --steps 4", "--minutes and --steps cannot be combined"},
    {"compare " SMALL "--memory 50% --minutes 1 --epochs 4", "--minutes and --epochs cannot be combined"},
    {"profile " SMALL "--repeats 3", "--model-costs and --repeats cannot be combined"},
    {"simulate --graph g.json --online dtr --addresses none -o p.json",
     "--output does not apply to --online with --addresses none"},
    {"gen chain --width 0.3 -o g.json", "--width does not apply to gen chain"},
    {"gen transformer --skips 0.3 -o g.json", "--skips does not apply to gen transformer"},
    {"pack lives.csv --graph g.json", "--graph does not apply to lives.csv: only a plan has a graph"},
    {"bench planners --data . --ops 100", "--ops does not apply to bench planners"},
    {"bench pack --planners cut", "--planners does not apply to bench pack"},
    {"bench pack --data . --ops 100", "--data-dir and --ops cannot be combined"},
    {"bench online --data . --order fixed", "--order does not apply to bench online"},
    {"bench pack --caps 50%", "--budgets does not apply to bench pack"},
    {"bench large --sweep 9%:16%:1%", "--sweep does not apply to bench large"},
    {"bench window --time-limit 1s", "--time-limit does not apply to bench window"},
    {"trace summary t.jsonl --plain", "--plain does not apply to trace summary"},
    {"train " SMALL "--thrash 2", "--max-recompute requires --online, --memory-at or --last-batch"},
    {"train " SMALL "--online lru --planner cut", "--online and --planner cannot be combined"},
    {"train " SMALL "--online lru --plan p.json", "--online and --plan cannot be combined"},
    {"train " SMALL "--memory-at 1=5MiB --addresses arena", "--memory-at and --addresses arena cannot be combined"},
    {"train " SMALL "--retime 3 --online lru", "--retime and --online cannot be combined"},
    {"train " SMALL "--vram 4MiB", "--vram requires --device cuda:0"},
    {"train --data fashion-mnist --image 8x8x1",
     "--image 8x8x1: an image size does not apply to data set fashion-mnist"},
    {"plan --graph g.json --online lru",
     "--graph and --online cannot be combined: plimsoll simulate --graph does that"},
    {"simulate --graph g.json --online dtr --addresses packed", "--online and --addresses planned cannot be combined"},
    {"trace step --graph g.json t.jsonl", "--graph and FILE cannot be combined"},
    {"trace step t.jsonl --online lru", "--online requires --graph"},
    {"trace setp t.jsonl", "trace has no action \"setp\"; did you mean \"step\"?"},
    {"trace dance t.jsonl", "there are \"summary\", \"step\", \"export\", \"diff\" and \"what-if\""},
    {"plan --graph g.json --planner poet --copies 3", "--copies and --planner poet cannot be combined: plans over"},
    {"plan --graph g.json --copies 3", "--copies requires --planner moccasin: \"search\" computes an op as"},
    {"compare " SMALL "--epochs 1", "compare requires --memory SIZE"},
    {"verify " SMALL "--device sim", "verify compares weights, and --device sim computes none"},
    {"train " SMALL "--addresses jemalloc --device cuda:1", "which --device cuda:1 cannot use: give planned or arena"},
    {"simulate --online dtr", "simulate requires --graph FILE"},
    {"gen chain --ops 9", "gen requires -o FILE, or -o - for standard output"},
    {"import nx net.json", "import requires -o FILE, or -o - for standard output"},
    {"trace export t.jsonl", "trace export requires -o FILE: where the events, the picture or the page go"},
    {"trace diff t.jsonl", "trace diff requires --with FILE: the other trace"},
    {"trace summary t.jsonl --memory 5MiB", "--memory does not apply to trace summary"},
    {"trace summary -", "a trace cannot be - or a device: its plan and graph are read from files beside it"},
    {"plan " SMALL "--front -o f.txt", "--front -o f.txt: the name has to end in .json, .csv or .svg"},
    {"bench online", "bench online requires --data-dir DIR: where the instances are"},
    {"trace step t.jsonl --thrash 2", "--max-recompute requires --graph"},
};

Test(cli_pairs, says_which_option_would_have_been_ignored) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    const program_run *run = plim_test_program("%s", refused[i].arguments);
    cr_assert_eq(run->status, 2, "%s: exit status %d: %s", refused[i].arguments, run->status, run->error);
    cr_assert_not_null(strstr(run->error, refused[i].words), "%s: %s", refused[i].arguments, run->error);
    cr_assert_str_empty(run->out, "%s printed %s", refused[i].arguments, run->out);
  }
}

static void expect_accepted(const char *arguments) {
  (void)plim_test_program("%s", arguments);
  plim_test_expect(0, "");
}

/* Scripts of earlier versions run on; who reads the help learns the present names. */
static const struct {
  const char *old, *present, *hidden, *command;
} aliases[] = {
    {"train " SMALL "--no-graph", "train " SMALL "--no-cuda-graph", "--no-graph", "train"},
    {"plan --thrash 2", "plan --max-recompute 2", "--thrash", "plan"},
    {"plan --math none", "plan --precision none", "--math", "plan"},
    {"bench large --caps 0", "bench large --budgets 0", "--caps", "bench"},
    {"bench online --data none", "bench online --data-dir none", "--data=", "bench"},
    {"plan -M none", "plan --memory none", "-M,", "plan"},
    {"gen chain -n 0 -o g.json", "gen chain --ops 0 -o g.json", "-n,", "gen"},
    {"pack none -c none", "pack none --capacity none", "-c,", "pack"},
    {"plan " SMALL "-a none", "plan " SMALL "--numerics none", "-a,", "plan"},
    {"bench online -d none", "bench online --data-dir none", "-d,", "bench"},
    {"gen chain --ops 9 --addresses packed -o g.json && cat $PWD/g.json",
     "gen chain --ops 9 --addresses planned -o g.json && cat $PWD/g.json", "packed", "gen"},
};

Test(cli_pairs, old_names_mean_what_they_meant_and_no_help_shows_them) {
  static program_run old;
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
    old = *plim_test_program("%s", aliases[i].old);
    const program_run *run = plim_test_program("%s", aliases[i].present);
    cr_assert_eq(old.status, run->status);
    cr_assert_str_eq(old.error, run->error);
    cr_assert_str_eq(old.out, run->out);
    run = plim_test_program("%s --help", aliases[i].command);
    cr_assert_eq(run->status, 0);
    cr_assert_null(strstr(run->out, aliases[i].hidden), "%s", run->out);
  }
}

Test(cli_pairs, takes_options_that_are_of_use_together) {
  expect_accepted("gen layered --ops 40 --width 0.3 --skips 0.1 -o g.json");
  expect_accepted("plan --graph g.json --addresses packed --seed 3 --iterations 50 --threads 2 -o p.json");
  expect_accepted("plan --graph g.json --front --points 3 --iterations 50 --planner cut -o c.csv");
  expect_accepted("plan --graph g.json --print-sequence --memory 95% --iterations 50 2>figures.txt");
  expect_accepted("pack p.json --graph p.graph.json");
  expect_accepted("plan " SMALL "--online coop --memory 6MiB --thrash 3");
  expect_accepted("plan " SMALL "--planner keep-all -o k.json");
  expect_accepted("train " SMALL "--plan k.json --memory-at 1=100% --iterations 50 --steps 2");
}

static void expect_told(const char *arguments, const char *words) {
  const program_run *run = plim_test_program("%s", arguments);
  plim_test_expect(0, "");
  cr_assert_not_null(strstr(run->out, "without effect"), "%s printed %s", arguments, run->out);
  cr_assert_not_null(strstr(run->out, words), "%s printed %s", arguments, run->out);
}

Test(cli_pairs, tells_of_effort_where_nothing_is_planned) {
  expect_accepted("gen chain --ops 40 -o g.json");
  expect_told("simulate --graph g.json --online coop --time-limit 1s", "coop ignores it");
  expect_told("plan " SMALL "--online coop --memory 6MiB --iterations 5", "coop ignores it");
  expect_accepted("plan " SMALL "--planner keep-all -o k.json");
  expect_told("verify " SMALL "--plan k.json --iterations 9", "k.json ignores it");
}

Test(cli_pairs, refuses_a_plan_that_is_above_the_cap) {
  expect_accepted("plan " SMALL "--planner keep-all -o k.json");
  expect_accepted("train " SMALL "--plan k.json --memory 100% --steps 2");
  (void)plim_test_program("train " SMALL "--plan k.json --memory 1MiB --steps 2");
  plim_test_expect(4, "the budget is 1048576");
}

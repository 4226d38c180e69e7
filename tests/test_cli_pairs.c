/* tools/plimsoll/pairs.c: no option is ignored in silence for the sake of another. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/folder.h"
#include "tests/support/program.h"

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
    {"plan --graph g.json --model mlp", "--graph and --model exclude each other"},
    {"plan --graph g.json -b 4", "--graph and --batch exclude each other"},
    {"plan --graph g.json --image 8x8x1", "--graph and --image exclude each other"},
    {"plan --graph g.json --data synthetic", "--graph and --data exclude each other"},
    {"plan --graph g.json --arithmetic fast", "--graph and --arithmetic exclude each other"},
    {"plan --graph g.json --math bf16", "--graph and --math exclude each other"},
    {"plan --graph g.json --layout nhwc", "--graph and --layout exclude each other"},
    {"plan --graph g.json --device cpu", "--graph and --device exclude each other"},
    {"plan --graph g.json --model-costs", "--graph and --model-costs exclude each other"},
    {"plan " SMALL "--curve --memory 50%", "--curve and --memory exclude each other"},
    {"plan " SMALL "--curve --svg c.svg", "--curve and --svg exclude each other"},
    {"plan --graph g.json --curve --print-sequence", "--curve and --print-sequence exclude each other"},
    {"plan " SMALL "--curve --online coop", "--curve and --online exclude each other"},
    {"plan " SMALL "--points 5", "--points is for --curve"},
    {"plan " SMALL "--profile p.json", "--profile is for --graph"},
    {"plan " SMALL "--print-sequence", "--print-sequence is for --graph"},
    {"plan " SMALL "--addresses none", "--addresses is for --graph"},
    {"plan " SMALL "--thrash 2", "--thrash is for --online"},
    {"train " SMALL "--thrash 2", "--thrash is for --online"},
    {"train " SMALL "--plan p.json --planner cut", "--plan and --planner exclude each other"},
    {"train " SMALL "--plan p.json --arithmetic fast", "--plan and --arithmetic exclude each other"},
    {"train " SMALL "--no-cuda-graph", "--no-cuda-graph is for GPUs: device cpu"},
    {"train " SMALL "--data-dir .", "--data-dir is for files: --data synthetic has none"},
    {"compare " SMALL "--memory 50% --minutes 1 --steps 4", "--minutes and --steps exclude each other"},
    {"compare " SMALL "--memory 50% --minutes 1 --epochs 4", "--minutes and --epochs exclude each other"},
    {"profile " SMALL "--repeats 3", "--model-costs and --repeats exclude each other"},
    {"simulate --graph g.json --online dtr --addresses none -o p.json", "--output is for a plan"},
    {"gen chain --width 0.3 -o g.json", "chain has no use for --width"},
    {"gen transformer --skips 0.3 -o g.json", "transformer has no use for --skips"},
    {"pack lives.csv --graph g.json", "--graph is a plan's: the lives of lives.csv need none"},
    {"bench planners --data . --ops 100", "planners has no use for --ops"},
    {"bench pack --planners cut", "pack has no use for --planners"},
    {"bench pack --data . --ops 100", "--data and --ops exclude each other"},
    {"bench online --data . --order fixed", "online has no use for --order"},
    {"bench pack --caps 50%", "pack has no use for --caps"},
    {"bench large --sweep 9%:16%:1%", "large has no use for --sweep"},
    {"bench window --time-limit 1s", "window has no use for --time-limit"},
    {"trace summary t.jsonl --plain", "trace summary has no use for --plain"},
    {"trace step t.jsonl --thrash 2", "--thrash is for --graph"},
};

Test(cli_pairs, says_which_option_would_have_been_ignored) {
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
  expect_accepted("plan --graph g.json --curve --points 3 --iterations 50 --planner cut -o c.csv");
  expect_accepted("plan --graph g.json --print-sequence --memory 95% --iterations 50");
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
  expect_told("simulate --graph g.json --online coop --time-limit 1s", "nothing of coop changes with it");
  expect_told("plan " SMALL "--online coop --memory 6MiB --iterations 5", "nothing of coop changes with it");
  expect_accepted("plan " SMALL "--planner keep-all -o k.json");
  expect_told("verify " SMALL "--plan k.json --iterations 9", "nothing of k.json changes with it");
}

Test(cli_pairs, refuses_a_plan_that_is_above_the_cap) {
  expect_accepted("plan " SMALL "--planner keep-all -o k.json");
  expect_accepted("train " SMALL "--plan k.json --memory 100% --steps 2");
  (void)plim_test_program("train " SMALL "--plan k.json --memory 1MiB --steps 2");
  plim_test_expect(4, "the cap is 1048576");
}

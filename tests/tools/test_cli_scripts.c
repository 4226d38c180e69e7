/* What scripts of others rely on: options of every command, keys of every object, the scripts in tools/. One table
 * each; a row may be added, none may be taken away. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/file.h"
#include "tests/support/child_program.h"
#include "tests/support/folder.h"
#include "tests/support/random_log.h"
#include "tests/support/test_context.h"

static void setup(void) {
  (void)plim_test_folder();
}
static void teardown(void) {
  (void)plim_test_shell("rm -rf plimsoll tools build-release out");
  plim_test_folder_remove();
}
TestSuite(cli_scripts, .init = setup, .fini = teardown);

/* ---- options ---- */

#define NETWORK                                                                                                        \
  "--batch=2 -b2 --image=8x8x1 --model=mlp -mmlp --data=synthetic -dsynthetic --device=cpu --layout=nhwc --math=fp32 " \
  "--model-costs --no-cache --threads=2 -t2 "
#define PLANNING \
  "--copies=2 --iterations=2 --memory=4MiB -M4MiB --online=lru --planner=search -psearch --thrash=1 --time-limit=1s "
#define RUNNING                                                                                          \
  "--data-dir=d --no-augment --addresses=planned --arithmetic=fast -afast --no-graph --last-batch=drop " \
  "--momentum=0.5 "                                                                                      \
  "--rate=0.5 -r0.5 --seed=2 --steps=2 -s2 --weight-decay=0.5 "
#define PRINTING "--json -j --no-progress -q"

static const struct {
  const char *command, *options;
} accepted[] = {
    {"train", NETWORK PLANNING RUNNING "--memory-at=1=4MiB --retime=2 --vram=4MiB --epochs=2 -e2 --load=f --output=f "
                                       "-of --plan=f --save=f --trace=f " PRINTING},
    {"compare", NETWORK PLANNING RUNNING "--epochs=2 -e2 --minutes=2 --svg=f " PRINTING},
    {"verify", NETWORK PLANNING RUNNING "--memory-at=1=4MiB --retime=2 --plan=f " PRINTING},
    {"profile", NETWORK "--ceilings --profile-time=1s --repeats=2 --output=f -of " PRINTING},
    {"plan", NETWORK PLANNING "--addresses=packed --addresses=none --curve --order=free --order=fixed --points=2 "
                              "--arithmetic=small -asmall --seed=2 "
                              "--graph=f --output=f -of --profile=f --svg=f --print-sequence " PRINTING},
    {"check", "--graph=f " PRINTING},
    {"pack", "--capacity=4MiB -c4MiB --time-limit=1s --threads=2 -t2 --graph=f --output=f -of " PRINTING},
    {"import", "--output=f -of " PRINTING},
    {"gen",
     "--edges=0.5 --ops=2 -n2 --skips=0.5 --spread=0.5 --width=0.5 --addresses=packed --seed=2 --output=f "
     "-of " PRINTING},
    {"simulate", PLANNING
     "--addresses=none --addresses=arena --addresses=packed --no-cache --seed=2 --graph=f --output=f -of " PRINTING},
    {"solvers", PRINTING},
    {"bench",
     "--ops=2 -n2 --shapes=chain --data=d -dd --caps=50% --capacity=4MiB -c4MiB --iterations=2 --order=free "
     "--planners=search -psearch --sweep=9%:16%:1% --time-limit=1s --threads=2 -t2 --seed=2 --output=f -of " PRINTING},
    {"trace",
     "--memory=4MiB -M4MiB --online=lru --policy=lru --then-memory=4MiB --thrash=1 --graph=f --output=f -of --with=f "
     "--at=2 --find=v --plain " PRINTING},
};

Test(cli_scripts, the_slowest_of_many_tests_are_named_and_the_script_goes_on) {
  const program_run *run = plim_test_shell(
      "mkdir -p Testing/Temporary && awk 'BEGIN { for (i = 1; i <= 50000; i++) print \"test_\" i, 1, i; print \"---\" "
      "}' "
      ">Testing/Temporary/CTestCostData.txt && bash -c '. " PLIM_SOURCE_DIR "/tools/lib.sh && slowest_tests .'");
  cr_assert_eq(run->status, 0, "%d %s", run->status, run->error);
  cr_assert_not_null(strstr(run->out, "test_50000"));
  cr_assert_not_null(strstr(run->out, "test_49981"));
  cr_assert_null(strstr(run->out, "test_49980"));
}

Test(cli_scripts, every_command_accepts_the_options_that_it_had) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
    char line[2048];
    const char *command = accepted[i].command;
    (void)snprintf(line, sizeof line,
                   "for o in %s; do $PLIMSOLL %s $o --help >help.txt 2>/dev/null || echo $o; done; "
                   "grep -q 'plimsoll %s' help.txt",
                   accepted[i].options, command, command);
    const program_run *run = plim_test_shell(line);
    cr_expect_str_empty(run->out, "%s refuses %s", command, run->out);
    cr_expect_eq(run->status, 0, "%s --help", command);
  }
}

Test(cli_scripts, option_that_no_command_has_is_told_from_the_others) {
  (void)plim_test_program("plan --no-such-option --help");
  plim_test_expect(2, "no-such-option");
}

/* ---- commands and keys ---- */

#define SMALL \
  "--model mlp --data synthetic --image 8x8x1 --batch 32 --model-costs --arithmetic fast --iterations 3000 -q "
#define PLANNED "overhead_percent bound_percent class proved peak_bytes arena_bytes "

/* In this order, in one folder: a command reads what one above it wrote. keys "": no --json. */
static const struct {
  const char *command, *keys;
} done[] = {
    {"gen layered --ops 40 --seed 7 -q -o g.json", "ops fingerprint"},
    {"import nx net.json -o nx.json", "ops"},
    {"import dtr made.log -o dtr.json", "ops"},
    {"plan --graph g.json --memory 90% --order fixed --iterations 100 --threads 1 -q --no-cache --time-limit 5s -o "
     "p.json",
     PLANNED "budget_bytes seconds"},
    {"plan --graph nx.json --print-sequence --memory 99999", ""},
    {"plan " SMALL "--memory 100MiB -o m.json", PLANNED "budget_bytes seconds"},
    {"check p.json --graph g.json", "overhead_percent bound_percent peak_bytes arena_bytes valid seconds"},
    {"check m.json", "overhead_percent bound_percent peak_bytes arena_bytes valid seconds"},
    {"pack m.json --capacity 100MiB --time-limit 1s", "packed_bytes height_bytes bound_bytes proved seconds"},
    {"pack lives.csv --capacity 1048576 -o packed.csv", "packed_bytes height_bytes bound_bytes proved seconds"},
    {"simulate --graph dtr.json --memory 90% --online dtr", "overhead_percent arena_bytes budget_bytes seconds"},
    {"simulate --graph dtr.json --memory 90% --planner search --iterations 100",
     "overhead_percent arena_bytes budget_bytes seconds"},
    {"solvers", "solvers"},
    {"profile "
     "--model mlp --data synthetic --image 8x8x1 --batch 32 --model-costs -q -o pr.json",
     "seconds"},
    {"train " SMALL "--steps 14 --memory 100MiB --trace t.jsonl", PLANNED "budget_bytes seconds images_per_second"},
    {"train " SMALL "--steps 4 --memory 100MiB --retime 2", PLANNED "budget_bytes seconds images_per_second"},
    {"train " SMALL "--steps 3 --memory 110% --memory-at 1=100%", PLANNED "budget_bytes seconds images_per_second"},
    {"train " SMALL "--steps 3 --memory 130% --online coop", "arena_bytes budget_bytes seconds images_per_second"},
    {"verify " SMALL "--steps 2 --memory 100MiB",
     "identical tensors_compared tensors_different values_compared values_different seconds"},
};

static void write_inputs(void) {
  plim_context *ctx = plim_test_context();
  plim_text log = {ctx, NULL, 0, 0, PLIM_OK};
  random_log_write(RANDOM_LOG_RESIDUAL, 2, 5, &log); /* of some others dtr does not fit into 90 % */
  cr_assert_eq(plim_file_save(ctx, plim_test_path("made.log"), log.chars, log.length), PLIM_OK);
  plim_text_free(&log);
  plim_test_context_end(ctx);
  (void)plim_test_shell(
      "printf 'id,lower,upper,size\\na,0,4,512\\nb,2,6,512\\n' >lives.csv; echo '{\"nodes\": [{\"id\": 1, "
      "\"cost_ram\": 2, "
      "\"cost_cpu\": 1}, {\"id\": 2, \"cost_ram\": 1, \"cost_cpu\": 1}], \"links\": [{\"source\": 1, \"target\": 2}]}' "
      ">net.json");
  plim_test_expect(0, "");
}

static void expect_keys(const char *command, const char *keys) {
  char key[64];
  json_t *object = plim_test_json();
  for (int n = 0; sscanf(keys, "%63s%n", key, &n) == 1; keys += n) {
    cr_expect_not_null(json_object_get(object, key), "%s --json has no \"%s\"", command, key);
  }
  json_decref(object);
}

Test(cli_scripts, every_command_runs_and_has_the_keys_that_it_had) {
  write_inputs();
  for (size_t i = 0; i < sizeof done / sizeof *done; i++) {
    const program_run *run = plim_test_program("%s%s", done[i].command, done[i].keys[0] ? " --json" : "");
    cr_expect_eq(run->status, 0, "%s: exit status %d, %s", done[i].command, run->status, run->error);
    if (run->status == 0 && done[i].keys[0]) expect_keys(done[i].command, done[i].keys);
  }
}

/* ---- the scripts in tools/ ---- */

#define SHELL(text) "cd " PLIM_SOURCE_DIR " && " text

Test(cli_scripts, tools_are_there_and_can_be_run) {
  const program_run *run =
      plim_test_shell(SHELL("for name in demo test get_solvers gpu_check; do test -x tools/$name || echo $name; done"));
  cr_expect_str_empty(run->out, "%s", run->out);
}

/* COMMANDS for every file of tools/ that can be run; $tool is its path. demo builds before it knows its options. */
#define EVERY_TOOL(commands) \
  SHELL("for tool in tools/* tools/python/*; do test -f $tool && test -x $tool || continue; " commands "; done")

Test(cli_scripts, every_tool_describes_itself) {
  const program_run *run =
      plim_test_shell(EVERY_TOOL("echo $tool; text=$($tool --help 2>&1) || echo $tool: status $? >&2; "
                                 "case $text in *\"$tool\"*) ;; *) echo $tool: no usage: \"$text\" >&2;; esac"));
  cr_expect_str_empty(run->error, "%s", run->error);
  cr_expect_not_null(strstr(run->out, "tools/bench_limits\n"), "%s", run->out);
  cr_expect_not_null(strstr(run->out, "tools/python/bench\n"), "%s", run->out);
}

Test(cli_scripts, every_tool_refuses_an_option_that_it_does_not_have) {
  const program_run *run =
      plim_test_shell(EVERY_TOOL("test $tool = tools/demo && continue; $tool --no-such-option >/dev/null 2>&1; "
                                 "status=$?; test $status -eq 2 || echo $tool: status $status"));
  cr_expect_str_empty(run->out, "%s", run->out);
}

Test(cli_scripts, solvers_are_got_by_name_and_others_are_refused) {
  (void)plim_test_shell(SHELL("grep -q 'highs)' tools/get_solvers && tools/get_solvers no-such-solver"));
  plim_test_expect(2, "no-such-solver");
}

Test(cli_scripts, shared_script_has_what_others_source_it_for) {
  const program_run *run = plim_test_shell(
      "cd / && bash -c '. " PLIM_SOURCE_DIR
      "/tools/lib.sh; declare -F need build run_tests say die; need; echo ${#build_packages[@]} ${#test_packages[@]} "
      "${#data_packages[@]}; printf \"%s\\n\" \"${build_packages[@]}\" \"${data_packages[@]}\" \"$root\"'");
  plim_test_expect(0, "");
  int build = 0, test = 0, data = 0;
  const char *after = strstr(run->out, "die\n");
  cr_assert_not_null(strstr(run->out, "need\n"), "%s", run->out);
  cr_assert(after && sscanf(after + 4, "%d %d %d", &build, &test, &data) == 3, "%s", run->out);
  cr_assert(build > 5 && test > 0 && data > 0, "%s", run->out);
  cr_assert_not_null(strstr(run->out, "libjansson-dev\n"));
  cr_assert_not_null(strstr(run->out, PLIM_SOURCE_DIR "\n"));
}

/* The script as it is, over a program that is built already. */
#define DEMO                                                                                           \
  "mkdir tools && cp " PLIM_SOURCE_DIR "/tools/demo " PLIM_SOURCE_DIR "/tools/lib.sh " PLIM_SOURCE_DIR \
  "/LICENSE tools/ && cp tools/LICENSE . && echo 'need() { :; }; build() { mkdir -p "                  \
  "\"$1/bin\"; ln -sf \"$PLIMSOLL\" \"$1/bin/plimsoll\"; }' "                                          \
  ">>tools/lib.sh && tools/demo "

/* Of a network that takes no time. */
Test(cli_scripts, demo_ends_with_a_table_that_says_that_weights_are_identical) {
  const program_run *run = plim_test_shell(DEMO
                                           "--model mlp --data synthetic --image 8x8x1 --batch 32 --model-costs "
                                           "--iterations 300 --memory 100% --minutes 0.01 -q | tr -s ' '");
  plim_test_expect(0, "out/demo.svg");
  cr_assert_not_null(strstr(run->out, "weights identical yes"), "%s", run->out);
}

Test(cli_scripts, demo_trains_on_a_text_under_a_budget_and_predicts_it_better_than_at_random) {
  const program_run *run =
      plim_test_shell(DEMO
                      "text --layers 1 --width 32 --context 32 --memory 80% --epochs 1 --model-costs "
                      "--iterations 300 -q | tr -s ' '");
  plim_test_expect(0, "Training a gpt");
  cr_assert_not_null(strstr(run->out, "weights identical yes"), "%s", run->out);
  const char *loss = strstr(run->out, "test loss ");
  cr_assert(loss && strtod(loss + 10, NULL) < 5.5, "%s", run->out);
}

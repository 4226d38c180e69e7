/* tools/plimsoll: "-" is standard input or standard output wherever one stream makes sense. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/child_program.h"
#include "tests/support/folder.h"

#define TINY "--model mlp --data synthetic --model-costs --batch 4 --steps 1 -q "

static void setup(void) {
  (void)plim_test_folder();
  (void)plim_test_program(
      "gen layered --ops 40 -o g.json && $PLIMSOLL plan --graph g.json --memory 90%% --iterations "
      "100 -o p.json && printf 'id,lower,upper,size\\na,0,4,512\\nb,2,6,512\\n' >lives.csv && echo "
      "'{\"nodes\": [{\"id\": 1, \"cost_ram\": 2, \"cost_cpu\": 1}, {\"id\": 2, \"cost_ram\": 1, "
      "\"cost_cpu\": 1}], \"links\": [{\"source\": 1, \"target\": 2}]}' >net.json && sed 's/\"cost_cpu\": 1/\"flops\": "
      "9/g' "
      "net.json >fnet.json && echo '{\"devices\": [{\"name\": \"cpu\", \"flop_per_second\": 2e9, \"flop_per_joule\": "
      "4e7, \"idle_watt\": 0.5, \"spaces\": [\"ram\"]}], \"links\": []}' >platform.json");
  plim_test_expect(0, "");
  (void)plim_test_program("train " TINY "-o tp.json --save t.ckpt");
  plim_test_expect(0, "");
  (void)plim_test_program("profile --model mlp --data synthetic --model-costs --batch 4 -o prof.json");
  plim_test_expect(0, "");
  (void)plim_test_program("import nx fnet.json -o f.json");
  plim_test_expect(0, "");
}
static void teardown(void) {
  (void)plim_test_shell("rm -rf plimsoll");
  plim_test_folder_remove();
}
TestSuite(cli_pipes, .init = setup, .fini = teardown);

/* The same document by a file and through pipes: the first command writes `file`, the second prints it. */
static const struct {
  const char *by_file, *file, *by_pipe;
} same[] = {
    {"gen chain --ops 50 --seed 3 -o c.json", "c.json", "$PLIMSOLL gen chain --ops 50 --seed 3 -o - 2>figures"},
    {"import nx net.json -o n.json", "n.json", "cat net.json | $PLIMSOLL import nx - -o - 2>figures"},
    {"import nx net.json -o n.json", "n.json", "gzip -c net.json | $PLIMSOLL import nx - -o - 2>figures"},
    {"plan --graph g.json --memory 80% --iterations 100 --no-cache -o q.json", "q.json",
     "cat g.json | $PLIMSOLL plan --graph - --memory 80% --iterations 100 --no-cache --output=- 2>figures"},
    {"pack lives.csv -o packed.csv", "packed.csv", "cat lives.csv | $PLIMSOLL pack - -o - 2>figures"},
    {"pack p.json -o lives2.csv", "lives2.csv", "cat p.json | $PLIMSOLL pack - --graph p.graph.json -o - 2>figures"},
    {"plan --graph g.json --front --points 3 --iterations 50 -o v.json", "v.json",
     "$PLIMSOLL plan --graph g.json --front --points 3 --iterations 50 -o - 2>figures"},
    {"simulate --graph g.json --planner keep-all -o k.json", "k.json",
     "$PLIMSOLL simulate --graph - --planner keep-all -o - <g.json 2>figures"},
    {"trace export p.json -o e.json", "e.json", "touch figures; $PLIMSOLL trace export p.json -o - 2>figures"},
};

Test(cli_pipes, documents_through_pipes_are_those_of_files) {
  char line[1024];
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    (void)snprintf(line, sizeof line, "cp p.graph.json g2.json; $PLIMSOLL %s >table && { %s; } | cmp - %s",
                   same[i].by_file, same[i].by_pipe, same[i].file);
    const program_run *run = plim_test_shell(line);
    cr_expect_eq(run->status, 0, "%s: %s %s", same[i].by_pipe, run->out, run->error);
  }
}

Test(cli_pipes, a_document_on_standard_output_may_be_redirected_to_a_file_and_added_to_one) {
  (void)plim_test_program(
      "gen chain --ops 50 -o a.json && $PLIMSOLL gen chain --ops 50 -o - >b.json 2>figures && cmp "
      "a.json b.json && $PLIMSOLL gen chain --ops 50 -o - >>b.json 2>figures && cat a.json a.json | "
      "cmp - b.json && grep -q 'sum of sizes' figures");
  plim_test_expect(0, "");
}

Test(cli_pipes, figures_as_json_go_to_standard_error_beside_a_document) {
  (void)plim_test_shell("$PLIMSOLL plan --graph g.json --memory 90% --iterations 100 -o - --json 2>&1 >document");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_assert_not_null(json_object_get(o, "overhead_percent"));
  json_decref(o);
}

Test(cli_pipes, plans_are_checked_through_a_pipe) {
  (void)plim_test_shell(
      "cat p.json | $PLIMSOLL check - --graph g.json && cat g.json | $PLIMSOLL check p.json --graph -");
  plim_test_expect(0, "");
  (void)plim_test_shell("bash -c '$PLIMSOLL check <(cat p.json) --graph <(cat g.json)'");
  plim_test_expect(0, "");
}

/* Every option and argument that reads a FILE, by its command: "-" is what the file is. */
static const struct {
  const char *files, *command;
} readers[] = {
    {"check -", "check - --graph g.json <p.json"},
    {"check --graph", "check p.json --graph - <g.json"},
    {"import FILE", "import nx - -o - <net.json"},
    {"pack -", "pack - <lives.csv"},
    {"pack --graph", "pack p.json --graph - <g.json"},
    {"plan --graph", "plan --graph - --planner keep-all <g.json"},
    {"plan --profile", "plan --graph tp.graph.json --profile - --planner keep-all <prof.json"},
    {"plan --platform", "plan --graph f.json --platform - --planner search <platform.json"},
    {"simulate --graph", "simulate --graph - --planner keep-all <g.json"},
    {"train --plan", "train " TINY "--plan - <tp.json"},
    {"train --load", "train " TINY "--load - <t.ckpt"},
    {"verify --plan", "verify --model mlp --data synthetic --model-costs --batch 4 --plan - <tp.json"},
    {"train --load and --steps", "train " TINY "--steps 2 --load - <t.ckpt"},
    {"train --numerics, of a plan", "train " TINY "--numerics - <tp.json"},
    {"train --numerics, of a checkpoint", "train " TINY "--numerics - <t.ckpt"},
    {"trace --graph", "trace summary --graph - --online dtr --memory 90% <g.json"},
};

Test(cli_pipes, every_option_that_reads_a_file_reads_standard_input_where_it_is_a_dash) {
  for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
    char line[512];
    (void)snprintf(line, sizeof line, "$PLIMSOLL %s", readers[i].command);
    const program_run *run = plim_test_shell(line);
    cr_expect_eq(run->status, 0, "%s: exit status %d: %s", readers[i].files, run->status, run->error);
  }
}

static const struct {
  const char *command, *words;
  int status;
} refused[] = {
    {"$PLIMSOLL check - <p.json", "check - requires --graph", 2},
    {"$PLIMSOLL check - --graph - <p.json", "--graph and PLAN cannot both be -", 2},
    {"$PLIMSOLL plan --graph g.json -o - --svg -", "--output and --svg cannot both be -", 2},
    {"$PLIMSOLL plan --graph g.json --print-sequence -o -", "--print-sequence and --output - cannot be combined", 2},
    {"$PLIMSOLL plan --graph g.json --front -o c.txt", "c.txt: the name has to end in .json, .csv or .svg", 2},
    {"$PLIMSOLL trace summary - <p.json", "a trace cannot be -", 2},
    {"$PLIMSOLL train --trace -", "--trace cannot be -", 2},
    {"$PLIMSOLL plan --graph - <&-", "is neither a file nor a pipe nor a terminal", 3},
    {"$PLIMSOLL plan --graph - </dev/zero", "is neither a file nor a pipe nor a terminal", 3},
    {"head -c 100 g.json | $PLIMSOLL plan --graph -", "ends in the middle: the file was cut", 3},
    {"$PLIMSOLL gen chain --ops 50 -o - >/dev/full", "plimsoll: standard output: could not write", 5},
    {"$PLIMSOLL import nx - -o n.json <lives.csv", "nx is node-link JSON of networkx, one document a file", 3},
    {"printf '{\"INSTRUCTION\": \"CONSTANT\"}\\n{\"INSTRUCTION\": \"MEMORY\"}\\n' | $PLIMSOLL import nx - -o n.json",
     "this is a log of DTR: import dtr reads it", 3},
};

Test(cli_pipes, streams_that_make_no_sense_are_refused) {
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    const program_run *run = plim_test_shell(refused[i].command);
    cr_expect_eq(run->status, refused[i].status, "%s: exit status %d: %s", refused[i].command, run->status, run->error);
    cr_expect_not_null(strstr(run->error, refused[i].words), "%s: %s", refused[i].command, run->error);
  }
}

Test(cli_pipes, waiting_for_a_pipe_ends_with_the_signal) {
  (void)plim_test_shell("mkfifo f; exec 7<>f; timeout --preserve-status -s INT 0.5 $PLIMSOLL plan --graph - <&7");
  plim_test_expect(130, "stopped by a signal");
}

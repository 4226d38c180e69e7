/* Command lines by chance: options of every command with values of every kind, most of them wrong. Each ends by itself
 * with an exit status of the table, and says one thing or another when that is not 0. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/child_program.h"
#include "tests/support/folder.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { LINES = 250, LINE_BYTES = 1024 };

#define SMALL \
  "--model mlp --data synthetic --image 8x8x1 --batch 16 --model-costs --device sim --steps 1 --threads 1 -q "
#define GRAPH "--graph g.json --iterations 50 -q "

/* What makes each command short, and options of its that take a value; the others are added to all. */
static const struct {
  const char *start, *options;
} commands[] = {
    {"train " SMALL,
     "batch image model data memory memory-at retime planner copies iterations online thrash arithmetic "
     "math layout threads device last-batch steps rate momentum weight-decay seed plan save load trace "
     "output addresses"},
    {"verify " SMALL,
     "batch image model memory planner online arithmetic layout threads steps rate seed plan addresses"},
    {"plan " GRAPH,
     "memory planner order copies iterations addresses thrash threads seed graph profile output svg online "
     "points"},
    {"plan --curve --points 3 " GRAPH, "memory order iterations addresses seed output points"},
    {"simulate " GRAPH "--online dtr ", "memory planner copies iterations addresses online thrash seed graph output"},
    {"check p.json ", "graph"},
    {"pack lives.csv --time-limit 1s ", "capacity threads graph output"},
    {"import nx net.json -o n.json ", "output"},
    {"gen layered --ops 20 -o r.json ", "edges skips spread width addresses seed ops output"},
    {"trace summary p.json ", "memory online policy then-memory thrash at find with graph output"},
    {"trace step p.json ", "at find with memory output"},
    {"profile --model mlp --data synthetic --image 8x8x1 --batch 16 --model-costs -q ",
     "batch image model math layout threads device output"},
    {"solvers ", "json"},
};

static const char *const values[] = {"0",
                                     "1",
                                     "3",
                                     "-1",
                                     "1e999",
                                     "nan",
                                     "99999999999999999999",
                                     "0.5",
                                     "50%",
                                     "101%",
                                     "%",
                                     "1MiB",
                                     "4 KiB",
                                     "-3MiB",
                                     "0x10",
                                     "",
                                     "none",
                                     "packed",
                                     "nope",
                                     "%n%s",
                                     "é",
                                     "a,b,,c",
                                     "1=50%",
                                     "1=",
                                     "8x8x1",
                                     "0x0x0",
                                     "g.json",
                                     "p.json",
                                     "lives.csv",
                                     "out/none.json",
                                     "/dev/null",
                                     ".",
                                     "lru",
                                     "keep-all",
                                     "free",
                                     "fixed",
                                     "--",
                                     "-"};
static const char *const flags[] = {
    "--json",       "-q",    "-j",      "--no-cache", "--print-sequence", "--curve", "--plain", "--ceilings",
    "--no-augment", "extra", "--usage", "-Z",         "--no-such-thing"};
enum { VALUES = sizeof values / sizeof *values, FLAGS = sizeof flags / sizeof *flags };
enum { COMMANDS = sizeof commands / sizeof *commands };

static void pick_option(uint64_t *random, const char *options, char *name) {
  int count = 0, n = 0;
  for (const char *at = options; sscanf(at, "%31s%n", name, &n) == 1; at += n) count++;
  int64_t wanted = test_random_between(random, 0, count - 1);
  const char *at = options;
  for (int64_t i = 0; i <= wanted && sscanf(at, "%31s%n", name, &n) == 1; i++) at += n;
}

static void make_line(uint64_t *random, char *line) {
  int64_t c = test_random_between(random, 0, COMMANDS - 1);
  int used = snprintf(line, LINE_BYTES, "timeout 60 $PLIMSOLL %s", commands[c].start);
  for (int64_t k = test_random_between(random, 1, 3); k > 0; k--) {
    char name[32] = "";
    if (test_random_chance(random, 20)) {
      used +=
          snprintf(line + used, (size_t)(LINE_BYTES - used), " %s", flags[test_random_between(random, 0, FLAGS - 1)]);
      continue;
    }
    pick_option(random, commands[c].options, name);
    used += snprintf(line + used, (size_t)(LINE_BYTES - used), " --%s='%s'", name,
                     values[test_random_between(random, 0, VALUES - 1)]);
  }
  cr_assert_lt(used, LINE_BYTES - 32);
  (void)snprintf(line + used, (size_t)(LINE_BYTES - used), " </dev/null");
}

static void setup(void) {
  (void)plim_test_folder();
  (void)plim_test_shell(
      "$PLIMSOLL gen layered --ops 20 --addresses packed -q -o g.json && "
      "$PLIMSOLL plan --graph g.json --memory 90% --iterations 50 -q -o p.json && "
      "printf 'id,lower,upper,size\\na,0,4,512\\nb,2,6,512\\n' >lives.csv && "
      "echo '{\"nodes\": [{\"id\": 1, \"cost_ram\": 2, \"cost_cpu\": 1}], \"links\": []}' >net.json && mkdir keep && "
      "cp *.json lives.csv keep/");
  plim_test_expect(0, "");
}

static void teardown(void) {
  (void)plim_test_shell("rm -rf ./* ./.[!.]*");
  plim_test_folder_remove();
}
TestSuite(cli_random, .init = setup, .fini = teardown);

Test(cli_random, every_command_line_ends_by_itself_with_a_status_of_the_table_and_a_sentence) {
  uint64_t random = test_seed(7);
  int done = 0;
  for (int i = 0; i < LINES; i++) {
    char line[LINE_BYTES];
    make_line(&random, line);
    const program_run *run = plim_test_shell(line);
    cr_expect(run->status >= 0 && run->status <= 5, "exit status %d: %s: %s", run->status, line, run->error);
    cr_expect(run->status == 0 || run->error[0], "status %d and no word: %s", run->status, line);
    cr_expect(run->status == 0 || strlen(run->error) < 4000, "too many words: %s", line);
    cr_expect(!strstr(run->error, "ssert"), "%s: %s", line, run->error);
    done += run->status == 0;
    (void)plim_test_shell("cp keep/* .");
  }
  cr_assert(done > LINES / 50 && done < LINES, "%d of %d end with status 0", done, LINES);
}

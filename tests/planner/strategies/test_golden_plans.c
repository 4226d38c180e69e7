/* Plans of generated graphs are the ones in tests/golden/plans.txt: equal options give equal plans on every machine.
 *
 * Each row of that file names a graph, options, and what came out: status, time, bound, bytes, and SHA-256 of the
 * plan's decisions. Decisions are commands, variants, pairs and buffers, so a new field of the document changes no row.
 * A change that is meant to alter plans writes the file again: PLIM_TEST_WRITE=1 build/bin/test_golden_plans. With
 * PLIM_TEST_PROGRAM=FILE the plans are those of another build of the program. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/sha256.h"
#include "runtime/base/text.h"
#include "runtime/graph/plan.h"
#include "tests/support/child_program.h"
#include "tests/support/folder.h"
#include "tests/support/test_context.h"

static const char path[] = PLIM_SOURCE_DIR "/tests/golden/plans.txt";

TestSuite(golden_plans, .fini = plim_test_folder_remove);

static void hash_decisions(plim_context *ctx, const plim_plan *plan, char *hex) {
  plim_text text = {ctx, NULL, 0, 0, PLIM_OK};
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *command = &plan->command[j];
    plim_text_format(&text, "run %d as %s on %d", command->op, plan->variant[command->variant].variant.name,
                     command->queue);
    for (int32_t k = 0; k < command->n_pairs; k++) {
      plim_text_format(&text, ", %d over %d", command->pair[k].out, command->pair[k].in);
    }
    plim_text_add(&text, "\n");
  }
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &plan->buffer[i];
    plim_text_format(&text, "storage %d from %d to %d in %d at %lld, %lld bytes\n", buffer->storage, buffer->begin,
                     buffer->end, buffer->space, (long long)buffer->offset, (long long)buffer->bytes);
  }
  cr_assert_eq(text.status, PLIM_OK);
  plim_sha256_hex(text.chars, (size_t)text.length, hex);
  plim_text_free(&text);
}

/* "SHAPE OPS SEED ADDRESSES ORDER MEMORY" -> what the program makes of it. */
static void plan_row(const char *question, char *answer, size_t size) {
  char shape[16], addresses[16], order[16], memory[16], hex[PLIM_SHA256_HEX_BYTES];
  int ops = 0, seed = 0;
  int n = sscanf(question, "%15s %d %d %15s %15s %15s", shape, &ops, &seed, addresses, order, memory);
  cr_assert_eq(n, 6, "not a row: %s", question);
  (void)plim_test_program("gen %s --ops %d --seed %d --addresses %s -q -o g.json", shape, ops, seed, addresses);
  plim_test_expect(0, "");
  const program_run *run = plim_test_program(
      "plan --graph g.json --memory %s --order %s --iterations 20000 --threads 1 --no-cache -q -o p.json", memory,
      order);
  (void)snprintf(answer, size, "%d", run->status);
  if (run->status != 0) return;
  plim_context *ctx = plim_test_context();
  plim_plan *plan = NULL;
  cr_assert_eq(plim_plan_load(ctx, plim_test_path("p.json"), &plan), PLIM_OK, "%s", plim_context_error(ctx));
  hash_decisions(ctx, plan, hex);
  (void)snprintf(answer, size, "0 %lld %lld %lld %s", (long long)plan->time_ns, (long long)plan->bound_ns,
                 (long long)(plan->packed ? plan->arena_bytes : plan->peak_bytes), hex);
  plim_plan_free(plan);
  plim_context_free(ctx);
}

Test(golden_plans, plans_of_twelve_generated_graphs_at_a_few_budgets_are_the_recorded_ones) {
#ifdef PLIM_SANITIZED
  cr_skip_test("minutes of planning; the release build runs it");
#endif
  static char text[1 << 15], again[1 << 15];
  FILE *file = fopen(path, "r");
  cr_assert_not_null(file, "%s is not there", path);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  (void)fclose(file);
  (void)plim_test_folder();
  int rows = 0, different = 0;
  size_t used = 0;
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    char *bar = strchr(line, '|'), answer[192] = "";
    if (line[0] != '#') {
      cr_assert_not_null(bar, "no bar in %s", line);
      plan_row(line, answer, sizeof answer);
      rows++;
      int same = strcmp(bar + 2, answer) == 0;
      different += !same;
      cr_expect(same || getenv("PLIM_TEST_WRITE"), "%s, found %s", line, answer);
      bar[2] = '\0';
    }
    used += (size_t)snprintf(again + used, sizeof again - used, "%s%s\n", line, answer);
    cr_assert_lt(used, sizeof again);
  }
  cr_assert_eq(rows, 48);
  if (!getenv("PLIM_TEST_WRITE") || different == 0) return;
  file = fopen(path, "w");
  cr_assert_not_null(file);
  cr_assert_eq(fwrite(again, 1, used, file), used);
  cr_assert_eq(fclose(file), 0);
}

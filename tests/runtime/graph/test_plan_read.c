/* The plan document: golden text, canonical form, and a sentence with the path for every wrong field. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/graph/plan_text.h"
#include "tests/support/documents.h"
#include "tests/support/folder.h"
#include "tests/support/small_graph.h"

static plim_status parse(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  plim_plan *plan = NULL;
  plim_status status = plim_plan_parse(ctx, "doc.json", text, bytes, &plan);
  if (again && plan) plim_plan_write(again, plan);
  plim_plan_free(plan);
  return status;
}

Test(plan_read, golden_document_is_written_again_byte_for_byte) {
  plim_test_canonical(parse, plim_test_golden("plan.json"));
}

Test(plan_read, file_cut_at_any_byte_is_refused) {
  plim_test_cuts(parse, plim_test_golden("plan.json"));
}

Test(plan_read, refused_allocation_leaves_nothing_after) {
  plim_test_allocations(parse, plim_test_golden("plan.json"));
}

Test(plan_read, changed_byte_never_does_harm) {
  plim_test_bytes(parse, plim_test_golden("plan.json"));
}

Test(plan_read, every_wrong_field_is_named_with_its_path) {
  static const plim_test_fault faults[] = {
      {"\"plan\"", "\"profile\"", "doc.json: the document is a 'profile', not a 'plan'"},
      {"\"version\": 1", "\"version\": 7", "version: version 7 of the format; this program reads version 1"},
      {"\"graph\": \"", "\"graph\": \"F", "graph: is not 64"},
      {"\"hash\": \"", "\"hash\": \"F", "arithmetic.hash: is not 64"},
      {"\"by hand\"", "\"0123456789012345678901234567890123\"", "planner: has 34 characters"},
      {"\"class\": \"fixed\"", "\"class\": \"best\"", "class: 'best' is not a name"},
      {"\"packed\": true", "\"packed\": false", "arena_bytes: is given in a plan without addresses"},
      {"\"arena_bytes\": 58880", "\"arena_bytes\": null", "arena_bytes: is null in a plan with addresses"},
      {"\"budget_bytes\": 1000000", "\"budget_bytes\": -1", "budget_bytes: -1 is not in"},
      {"\"proved\": false", "\"proved\": null", "proved: is null, not true or false"},
      {"\"name\": \"direct\"", "\"name\": \"direct-small\"",
       "variants[2]: is not sorted by op, then name, or is there"},
      {"\"op\": 0", "\"op\": 9", "variants[1]: is not sorted"},
      {"\"variant\": 1", "\"variant\": 5", "command 1: variant 5 is none of op 1"},
      {"\"variant\": 1", "\"variant\": 0", "command 1: variant 0 is none of op 1"},
      {"\"run\": 1", "\"run\": -1", "steps[1].run: -1 is not in"},
      {"\"run\": 1", "\"walk\": 1", "steps[1].run: is missing"},
      {"\"pairs\": [[0, 0]]", "\"pairs\": [[0, -1]]", "steps[1].pairs[0][1]: -1 is not in [0, 2147483647]"},
      {"\"pairs\": [[0, 0]]", "\"pairs\": [0]", "steps[1].pairs[0]: is an integer, not a list"},
      {"\"wait\": [1]", "\"wait\": [2]", "command 2: wait[0] = 2 is not an earlier command"},
      {"\"wait\": [1]", "\"wait\": [1, 0]", "command 2: wait[1] = 0 is not an earlier command, in ascending order"},
      {"\"to\": 1", "\"to\": \"host\"", "steps[2].to: is a text, not an integer"},
      {"\"copy\": 6", "\"copy\": 6, \"run\": 6", "steps[2]: unknown field 'run'"},
      {"\"queue\": 1", "\"queue\": null", "steps[2].queue: is null, not an integer"},
      {"\"storage\": 0, \"begin\": 0, \"end\": 4", "\"storage\": 0, \"begin\": 0, \"end\": 8",
       "buffer 0: [0, 8) is not a part of [0, 7)"},
      {"\"storage\": 0, \"begin\": 0, \"end\": 4", "\"storage\": 0, \"begin\": 4, \"end\": 4",
       "lives[1]: is not sorted"},
      {"\"offset\": 1536", "\"offset\": null", "buffer 0: offset -1 in a plan with addresses"},
      {"\"offset\": 1536", "\"offset\": 9223372036854775807", "buffer 0: offset 9223372036854775807 in a plan"},
      {"\"bytes\": 6656", "\"bytes\": 0", "lives[0].bytes: 0 is not in [1,"},
      {"\"space\": 0,", "", "lives[0].space: is missing"},
      {"\"storage\": null", "\"storage\": -1", "lives[7].storage: -1 is not in"},
  };
  plim_test_faults(parse, plim_test_golden("plan.json"), faults, (int)(sizeof faults / sizeof *faults));
}

Test(plan_read, saved_file_is_loaded_with_its_fingerprint) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = plim_test_small_graph(ctx);
  plim_plan *made = plim_test_small_plan(g), *loaded = NULL;
  char one[PLIM_FINGERPRINT_BYTES], two[PLIM_FINGERPRINT_BYTES];
  (void)plim_test_folder();
  cr_assert_eq(plim_plan_save(made, plim_test_path("p.json")), PLIM_OK);
  cr_assert_eq(plim_plan_load(ctx, plim_test_path("p.json"), &loaded), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_plan_fingerprint(made, one), PLIM_OK);
  cr_assert_eq(plim_plan_fingerprint(loaded, two), PLIM_OK);
  cr_assert_str_eq(one, two);
  cr_assert_str_eq(loaded->fingerprint, g->fingerprint);
  cr_assert_eq(loaded->budget_bytes, INT64_MAX);
  plim_plan_free(loaded);
  plim_plan_free(made);
  plim_graph_free(g);
  plim_test_folder_remove();
  cr_assert_eq(plim_context_memory(ctx).bytes, 0);
  plim_context_free(ctx);
}

/* The program document. */
#include "runtime/graph/plans.h"

#include <criterion/criterion.h>
#include <string.h>

#include "runtime/graph/plans_text.h"
#include "tests/support/documents.h"
#include "tests/support/folder.h"
#include "tests/support/small_graph.h"

static plim_status parse(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  plim_plans *plans = NULL;
  plim_status status = plim_plans_parse(ctx, "doc.json", text, bytes, &plans);
  if (again && plans) {
    const char *name[PLIM_PLANS_MAX];
    const plim_plan *plan[PLIM_PLANS_MAX];
    for (int32_t i = 0; i < plans->n; i++) {
      name[i] = plans->name[i];
      plan[i] = plans->plan[i];
    }
    plim_plans_write(again, plans->n, name, plan);
  }
  plim_plans_free(plans);
  return status;
}

Test(plans, golden_document_is_written_again_byte_for_byte) {
  plim_test_canonical(parse, plim_test_golden("program.json"));
}

Test(plans, file_cut_at_any_byte_is_refused) {
  plim_test_cuts(parse, plim_test_golden("program.json"));
}

Test(plans, refused_allocation_leaves_nothing_after) {
  plim_test_allocations(parse, plim_test_golden("program.json"));
}

Test(plans, every_wrong_field_is_named_with_its_path) {
  static const plim_test_fault faults[] = {
      {"\"program\"", "\"plan\"", "doc.json: the document is a 'plan', not a 'program'"},
      {"\"train\"", "\"\"", "plans[0]: the plan's name is empty"},
      {"\"train\"", "\"0123456789012345678901234567890123\"", "plans[0]: plan '0123"},
      {"\"eval\"", "\"train\"", "plans[1]: two plans are called 'train'"},
      {"\"plimsoll\": \"plan\"", "\"plimsoll\": \"graph\"", "plans[0].plan: the document is a 'graph'"},
      {"\"run\": 1", "\"run\": null", "plans[0].plan.steps[1].run: is null, not an integer"},
      {"\"variant\": 1", "\"variant\": 0", "plans[0].plan: command 1: variant 0 is none of op 1"},
      {"\"name\": \"train\"", "\"name\": \"train\", \"x\": 1", "plans[0]: unknown field 'x'"},
  };
  plim_test_faults(parse, plim_test_golden("program.json"), faults, (int)(sizeof faults / sizeof *faults));
}

Test(plans, saved_by_name_and_found_by_name) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = plim_test_small_graph(ctx);
  plim_plan *plan = plim_test_small_plan(g);
  plim_plans *plans = NULL;
  const char *const name[] = {"train", "again"}, *const twice[] = {"train", "train"};
  const plim_plan *const both[] = {plan, plan};
  (void)plim_test_folder();
  cr_assert_eq(plim_plans_save(ctx, 2, name, both, plim_test_path("p.json")), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_plans_load(ctx, plim_test_path("p.json"), &plans), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plans->n, 2);
  cr_assert_str_eq(plim_plans_find(plans, "again")->fingerprint, g->fingerprint);
  cr_assert_null(plim_plans_find(plans, "eval"));
  plim_plans_free(plans);
  cr_assert_eq(plim_plans_save(ctx, 2, twice, both, plim_test_path("q.json")), PLIM_EDATA);
  cr_assert_eq(plim_plans_save(ctx, 0, name, both, plim_test_path("q.json")), PLIM_EDATA);
  cr_assert_eq(plim_test_folder_count(), 1);
  plim_plan_free(plan);
  plim_graph_free(g);
  plim_test_folder_remove();
  plim_context_free(ctx);
}

/* runtime/graph/space/space_plan*.c: the document of plans over spaces, and figures of a small plan by hand. */
#include <criterion/criterion.h>

#include "runtime/graph/space/space_plan_text.h"
#include "tests/support/documents.h"
#include "tests/support/space_rig.h"

Test(space_plan, figures_of_a_small_plan_are_those_by_hand) {
  space_rig r;
  space_rig_begin(&r, &space_rig_small);
  space_rig_lower(&r, space_rig_sequence, SPACE_RIG_SEQUENCE, 100, 100);
  cr_assert_eq(plim_space_plan_check(r.ctx, r.graph, r.plan), PLIM_OK, "%s", plim_context_error(r.ctx));
  const plim_space_command *c = r.plan->command;
  cr_assert_eq(r.plan->n_commands, 6);
  cr_assert_eq(r.plan->serial_ns, 10 + 5 + 21 + 30 + 7 + 41);
  cr_assert_eq(c[1].begin_ns, 10); /* the copy beside run 2 on d0 */
  cr_assert_eq(c[2].begin_ns, 15);
  cr_assert_eq(c[3].begin_ns, 10);
  cr_assert_eq(c[4].begin_ns, 40);
  cr_assert_eq(c[5].begin_ns, 47);
  cr_assert_eq(r.plan->makespan_ns, 88);
  cr_assert_eq(r.plan->space[0].peak_bytes, 7);
  cr_assert_eq(r.plan->space[1].peak_bytes, 6);
  space_rig_end(&r);
}

static plim_status parse(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  plim_space_plan *plan = NULL;
  plim_status status = plim_space_plan_parse(ctx, "doc.json", text, bytes, &plan);
  if (again && plan) plim_space_plan_write(again, plan);
  plim_space_plan_free(plan);
  return status;
}

Test(space_plan, the_document_is_golden_canonical_and_refused_at_every_cut) {
  space_rig r;
  space_rig_begin(&r, &space_rig_small);
  space_rig_lower(&r, space_rig_sequence, SPACE_RIG_SEQUENCE, 100, 100);
  plim_text text = {.ctx = r.ctx};
  plim_space_plan_write(&text, r.plan);
  cr_assert_str_eq(text.chars, plim_test_golden("space_plan.json"), "%s", text.chars);
  plim_test_canonical(parse, text.chars);
  plim_test_cuts(parse, text.chars);
  plim_test_allocations(parse, text.chars);
  plim_test_bytes(parse, text.chars);
  plim_text_free(&text);
  space_rig_end(&r);
}

Test(space_plan, every_wrong_field_of_the_document_is_named) {
  static const plim_test_fault faults[] = {
      {"\"version\": 2", "\"version\": 3", "version: version 3 of the format; this program reads versions 1 to 2"},
      {"\"run\": 0", "\"collective\": 0", "commands[0].collective: is reserved"},
      {"\"wait\": [0]", "\"wait\": [1]", "command 1: wait[0] = 1 is not below 1"},
      {"\"offset\": null", "\"offset\": 0", "buffers[0].offset: is given"},
      {"\"joule\": null", "\"joule\": 1", "commands[0].joule: is given in a plan without energy"},
      {"\"objective\": \"serial\"", "\"objective\": \"energy\"", "energy_joule: is null"},
      {"\"class\": \"all plans\"", "\"class\": \"none\"", "class: 'none' is not a name"},
      {"\"planner\": \"test\"", "\"planner\": \"\"", "planner: a name has 1 to 31 printable characters"},
      {"\"planner\": \"test\"", "\"planner\": \"a\\nb\"", "planner: a name has 1 to 31 printable characters"},
      {"\"objective\": \"serial\"", "\"objective\": \"speed\"", "objective: 'speed' is not a name"},
      {"\"from\": 0", "\"from\": 1", "command 1: its spaces are not two of the plan's"},
      {"\"device\": 0, \"queue\": 0", "\"device\": 1, \"queue\": 0", "command 0: its queue is not its device's"},
      {"\"end\": ", "\"ends\": ", "buffers[0].end: is missing"},
  };
  plim_test_faults(parse, plim_test_golden("space_plan.json"), faults, (int)(sizeof faults / sizeof *faults));
}

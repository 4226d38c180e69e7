/* runtime/graph/space/space_check.c: times and energies that the graph gives, updates and versions. Mutants of whole
 * plans: test_space_mutants.c. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/space_interpret.h"
#include "tests/support/space_rig.h"
#include "tests/support/test_seed.h"

/* The first copy of the plan in another time: figures are those of the changed plan, so that only the time is wrong. */
Test(space_check, a_copy_takes_the_time_that_the_graph_gives) {
  space_rig r;
  space_rig_begin(&r, &space_rig_small);
  space_rig_lower(&r, space_rig_sequence, SPACE_RIG_SEQUENCE, 100, 100);
  plim_space_plan *changed = NULL;
  plim_space_command command[6];
  plim_space_plan draft = *r.plan;
  (void)memcpy(command, r.plan->command, sizeof command);
  draft.command = command;
  command[1].time_ns = 0;
  draft.bound = 0;
  draft.proved = 0;
  plim_space_figures f = {.begin_ns = (int64_t[6]){0}, .end_ns = (int64_t[6]){0}, .peak_bytes = (int64_t[2]){0}};
  cr_assert_eq(plim_space_plan_simulate(&draft, &f), PLIM_OK);
  for (int c = 0; c < 6; c++) command[c].begin_ns = f.begin_ns[c], command[c].end_ns = f.end_ns[c];
  draft.makespan_ns = f.makespan_ns;
  draft.serial_ns = f.serial_ns;
  cr_assert_eq(plim_space_plan_from_parts(r.ctx, &draft, &changed), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_expect_eq(plim_space_plan_check(r.ctx, r.graph, changed), PLIM_EPLAN);
  cr_expect_str_eq(plim_context_error(r.ctx), "command 1 copies from d0 to d1 in 0 ns, the graph says 5");
  r.graph->costs->copy[plim_costs_copy_at(r.graph->costs, 0, 0, 1)] = -1;
  cr_expect_eq(plim_space_plan_check(r.ctx, r.graph, r.plan), PLIM_EPLAN);
  cr_expect_str_eq(plim_context_error(r.ctx),
                   "command 1 copies storage 0 from d0 to d1, and the graph has no such link");
  plim_space_plan_free(changed);
  space_rig_end(&r);
}

/* ---- keep_all ---- */

/* The base plan with another keep_all; idle devices draw 2 W, and command c 1 + c joule, where it has an energy. */
static plim_status check_keep_all(space_rig *r, int energy, double keep_all) {
  static space_draft d;
  plim_space_device device[2];
  space_draft_copy(&d, r->plan);
  d.plan.keep_all = keep_all;
  memcpy(device, r->plan->device, sizeof device);
  if (energy) {
    d.plan.objective = PLIM_OBJECTIVE_ENERGY;
    d.plan.has_energy = 1;
    d.plan.device = device;
    device[0].idle_watt = device[1].idle_watt = 2;
    for (int32_t c = 0; c < d.plan.n_commands; c++) d.command[c].joule = 1 + c;
  }
  plim_space_plan *plan = space_draft_finish(r->ctx, &d);
  cr_assert_not_null(plan, "%s", plim_context_error(r->ctx));
  plim_status status = plim_space_plan_check(r->ctx, r->graph, plan);
  plim_space_plan_free(plan);
  return status;
}

static void expect_limits(space_rig *r, int energy, double below, double low, double high, double above) {
  cr_expect_eq(check_keep_all(r, energy, below), PLIM_EPLAN, "%g", below);
  cr_expect_not_null(strstr(plim_context_error(r->ctx), "every op once"), "%s", plim_context_error(r->ctx));
  cr_expect_eq(check_keep_all(r, energy, low), PLIM_OK, "%s", plim_context_error(r->ctx));
  cr_expect_eq(check_keep_all(r, energy, high), PLIM_OK, "%s", plim_context_error(r->ctx));
  cr_expect_eq(check_keep_all(r, energy, above), PLIM_EPLAN, "%g", above);
}

Test(space_check, keep_all_is_the_least_that_one_device_takes_for_every_op) {
  space_rig r;
  space_rig_base(&r, 0);
  expect_limits(&r, 0, 99, 100, 100, 101);
  expect_limits(&r, 0, 0, 100, 100, 1);
  space_rig_end(&r);
}

Test(space_check, keep_all_is_of_the_fastest_device_of_each_op_where_none_runs_all) {
  space_rig r;
  space_rig_base(&r, 0);
  r.graph->costs->duration[plim_costs_duration_at(r.graph->costs, 0, 1)] = -1;
  r.graph->costs->duration[plim_costs_duration_at(r.graph->costs, 1, 0)] = -1;
  expect_limits(&r, 0, 100, 101, 101, 102);
  space_rig_end(&r);
}

/* Op 0 has FLOP, and no run on d1: whether it takes any time there is the platform's, which the checker has not. */
Test(space_check, keep_all_has_two_limits_where_a_time_is_known_to_the_platform_alone) {
  space_rig r;
  space_rig_base(&r, 0);
  r.graph->costs->flops[0] = 5;
  r.graph->costs->duration[plim_costs_duration_at(r.graph->costs, 0, 1)] = -1;
  expect_limits(&r, 0, 89, 90, 100, 101);
  space_rig_end(&r);
}

/* The first run of each op is on d0, the fastest device. A second run of one does not count. */
Test(space_check, keep_all_of_energy_is_that_of_every_op_and_of_idle_devices) {
  space_rig r;
  space_rig_base(&r, 1);
  double joule = 0, idle = 4.0 * (100.0 * 1e-9);
  uint32_t seen = 0;
  for (int32_t c = 0; c < r.plan->n_commands; c++) {
    const plim_space_command *m = &r.plan->command[c];
    if (m->kind != PLIM_SPACE_COMMAND_RUN || (seen >> m->op & 1)) continue;
    seen |= 1U << m->op;
    joule += 1 + c;
  }
  cr_assert_eq(seen, 15);
  expect_limits(&r, 1, joule, joule + idle, joule + idle, joule + 2 * idle);
  space_rig_end(&r);
}

/* ---- updates, versions and what runs once ---- */

/* The plan with one command changed. */
static void expect_refused(space_rig *r, int32_t c, const plim_space_command *changed, const char *words) {
  static space_draft d;
  space_draft_copy(&d, r->plan);
  d.command[c] = *changed;
  plim_space_plan *plan = space_draft_finish(r->ctx, &d);
  uint64_t random = test_seed(1);
  cr_assert_not_null(plan, "%s", plim_context_error(r->ctx));
  cr_expect_eq(plim_space_plan_check(r->ctx, r->graph, plan), PLIM_EPLAN);
  cr_expect_not_null(strstr(plim_context_error(r->ctx), words), "%s", plim_context_error(r->ctx));
  cr_expect_not_null(space_interpret(r->graph, plan, &random, 200), "%s", words);
  plim_space_plan_free(plan);
}

Test(space_check, updates_and_what_runs_once_have_rules_of_their_own) {
  space_rig r;
  uint64_t random = test_seed(3);
  space_rig_updates(&r);
  cr_assert_eq(plim_space_plan_check(r.ctx, r.graph, r.plan), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_assert_null(space_interpret(r.graph, r.plan, &random, 200));
  plim_space_command c = r.plan->command[4];
  c.n_wait = 0;
  expect_refused(&r, 4, &c, "a reader of the old contents need not have ended");
  c = r.plan->command[2];
  c.n_wait = 0;
  expect_refused(&r, 2, &c, "what fills its buffer need not have ended");
  c = r.plan->command[4];
  c.op = SPACE_RIG_UPDATE_AGAIN;
  expect_refused(&r, 4, &c, "no buffer has it where it is read");
  c = r.plan->command[6];
  c.op = SPACE_RIG_UPDATE;
  expect_refused(&r, 6, &c, "an effect op runs once");
  space_rig_end(&r);
}

/* Without the wait for it, the copy may begin before the first command has filled what it reads. */
Test(space_check, the_first_command_has_to_have_ended_as_any_other) {
  space_rig r;
  space_rig_base(&r, 0);
  plim_space_command c = r.plan->command[1];
  cr_assert(c.n_wait == 1 && c.wait[0] == 0);
  c.n_wait = 0;
  expect_refused(&r, 1, &c, "what fills its buffer need not have ended");
  space_rig_end(&r);
}

/* Both updates in the other order: each sees a version that is not its own. */
Test(space_check, updates_run_in_program_order) {
  static space_draft d;
  space_rig r;
  uint64_t random = test_seed(1);
  space_rig_updates(&r);
  space_draft_copy(&d, r.plan);
  d.command[4] = r.plan->command[6];
  d.command[6] = r.plan->command[4];
  plim_space_command copy = d.command[5]; /* before both */
  d.command[5] = d.command[4];
  d.command[4] = copy;
  for (int i = 0; i < 7; i++) {
    if (d.buffer[i].begin == 5) d.buffer[i].begin = 4;
  }
  d.command[5].n_wait = 1;
  d.ids[4][1][0] = 4; /* the copy keeps the waits that it had */
  d.command[5].wait = d.ids[4][1];
  plim_space_plan *plan = space_draft_finish(r.ctx, &d);
  cr_assert_not_null(plan, "%s", plim_context_error(r.ctx));
  cr_expect_eq(plim_space_plan_check(r.ctx, r.graph, plan), PLIM_EPLAN);
  cr_expect_not_null(strstr(plim_context_error(r.ctx), "another version than program order reads"), "%s",
                     plim_context_error(r.ctx));
  cr_expect_not_null(space_interpret(r.graph, plan, &random, 100));
  plim_space_plan_free(plan);
  space_rig_end(&r);
}

/* planner/core/emit_plan.c: whatever random changes make of a schedule, the checker accepts the plan and its figures.
 * */
#include "planner/core/evaluation.h"

#include <criterion/criterion.h>

#include "runtime/graph/check/check.h"
#include "tests/support/planner_case.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

static void emit_and_check(planner_case *c, const plim_schedule *schedule, int packed, uint64_t seed) {
  plim_timeline *timeline = NULL;
  plim_placement placement = {.ctx = c->ctx};
  plim_plan *plan = NULL;
  plim_emission emission = {
      .planner = "test", .plan_class = PLIM_CLASS_FREE, .budget_bytes = INT64_MAX, .bound_ns = c->problem->keep_all_ns};
  cr_assert_eq(plim_timeline_new(c->problem, &timeline), PLIM_OK);
  cr_assert_eq(plim_timeline_evaluate(timeline, schedule), PLIM_OK);
  if (packed) cr_assert_eq(plim_place(&placement, timeline, schedule, 0, 0), PLIM_OK);
  cr_assert_eq(plim_emit(timeline, schedule, packed ? &placement : NULL, &emission, &plan), PLIM_OK);
  plim_status status = plim_plan_check(c->ctx, c->graph, plan);
  cr_assert_eq(status, PLIM_OK, "seed %llu: %s", (unsigned long long)seed, plim_context_error(c->ctx));
  cr_assert_eq(plan->peak_bytes, timeline->peak_bytes);
  cr_assert_eq(plan->time_ns, timeline->time_ns);
  if (packed) cr_assert_eq(plan->arena_bytes, placement.packed_bytes);
  plim_plan_free(plan);
  plim_placement_free(&placement);
  plim_timeline_free(timeline);
}

static void run_case(planner_case *c, int packed, uint64_t seed) {
  plim_track *track = NULL;
  plim_schedule schedule = {.ctx = c->ctx};
  uint64_t random = seed;
  cr_assert_eq(plim_track_new(c->problem, 3 * c->problem->n_ops + 40, &track), PLIM_OK);
  cr_assert_eq(plim_schedule_program_order(c->problem, &schedule), PLIM_OK);
  plim_track_load(track, &schedule);
  for (int round = 0; round < 12; round++) {
    for (int i = 0; i < 10; i++) planner_case_change(track, &random);
    plim_track_keep(track);
    cr_assert_eq(plim_track_store(track, &schedule), PLIM_OK);
    emit_and_check(c, &schedule, packed, seed);
  }
  plim_schedule_free(&schedule);
  plim_track_free(track);
}

Test(plan_emit, plans_of_random_schedules_pass_the_checker) {
  for (uint64_t seed = test_seed(1), end = seed + 150; test_seed_at(seed) < end; seed++) {
    planner_case c = planner_case_random(seed, -1);
    run_case(&c, 1, seed);
    planner_case_free(&c);
  }
}

Test(plan_emit, plans_without_addresses_pass_the_checker) {
  for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) {
    planner_case c = planner_case_random(seed, -1);
    plim_problem_free(c.problem);
    c.options.unpacked = 1;
    cr_assert_eq(plim_problem_make(c.ctx, c.graph, c.profile, &c.options, PLIM_CLASS_FREE, &c.problem), PLIM_OK);
    run_case(&c, 0, seed);
    planner_case_free(&c);
  }
}

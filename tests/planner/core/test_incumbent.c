/* planner/core/incumbent.c: what submitting a schedule tells are the figures of that schedule, whatever other choices
 * were tried. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "planner/core/incumbent.h"
#include "planner/one_arena/one_arena_internal.h"
#include "tests/support/planner_case.h"
#include "tests/support/test_seed.h"

enum { CASES = 80, SCHEDULES = 12, PACKING_ROUNDS = 8 };

/* A few random changes further. */
static void draw_schedule(plim_track *track, uint64_t *random, plim_schedule *out) {
  for (int i = 0; i < 6; i++) {
    planner_case_change(track, random);
    plim_track_keep(track);
  }
  cr_assert_eq(plim_track_store(track, out), PLIM_OK);
}

static int64_t whole_peak(const planner_case *c, plim_timeline *t, plim_schedule *s) {
  cr_assert_eq(plim_schedule_program_order(c->problem, s), PLIM_OK);
  cr_assert_eq(plim_timeline_evaluate(t, s), PLIM_OK);
  return t->peak_bytes;
}

typedef struct rig {
  planner_case c;
  plim_incumbent *inc;
  plim_timeline *timeline; /* a second opinion */
  plim_track *track;
  plim_schedule schedule;
  uint64_t random;
} rig;

/* A budget of some percent of program order's peak. In place: the incumbent keeps the address of the case's options. */
static void rig_make(rig *r, planner_case c, uint64_t seed, int min_memory) {
  *r = (rig){.c = c, .random = seed};
  r->schedule.ctx = r->c.ctx;
  r->c.options.unpacked = 0;
  cr_assert_eq(plim_timeline_new(r->c.problem, &r->timeline), PLIM_OK);
  int64_t whole = whole_peak(&r->c, r->timeline, &r->schedule);
  if (!min_memory) r->c.options.budget_bytes = whole / 100 * (70 + (int64_t)(seed % 4) * 10);
  cr_assert_eq(plim_incumbent_begin(r->c.problem, &r->c.options, &r->inc), PLIM_OK);
  if (min_memory) r->inc->task.min_memory = 1;
  cr_assert_eq(plim_track_new(r->c.problem, 4 * r->c.problem->n_ops + 64, &r->track), PLIM_OK);
  plim_track_load(r->track, &r->schedule);
}

static void rig_free(rig *r) {
  plim_incumbent_end(r->inc);
  plim_timeline_free(r->timeline);
  plim_track_free(r->track);
  plim_schedule_free(&r->schedule);
  planner_case_free(&r->c);
}

Test(incumbent, a_call_has_the_time_for_a_small_graph_however_short_its_limit) {
  plim_plan_options options = plim_plan_options_default();
  cr_assert_eq(plim_plan_task_options(&options).time_limit_ns, 0, "no limit stays none");
  options.time_limit_ns = 1;
  cr_assert_eq(plim_plan_task_options(&options).time_limit_ns, INT64_C(50000000));
  options.time_limit_ns = INT64_C(60000000);
  cr_assert_eq(plim_plan_task_options(&options).time_limit_ns, options.time_limit_ns);
}

Test(incumbent, every_part_of_a_time_limit_ends) {
  for (int64_t limit_ns = 1; limit_ns < 200; limit_ns++) {
    planner_case c = planner_case_random(test_seed(1), 0);
    plim_incumbent *inc = NULL;
    c.options.time_limit_ns = limit_ns;
    cr_assert_eq(plim_incumbent_begin(c.problem, &c.options, &inc), PLIM_OK);
    cr_assert_lt(plim_plan_task_deadline(&inc->task, 25), INT64_MAX, "limit %lld", (long long)limit_ns);
    cr_assert_gt(plim_plan_task_left_ns(&inc->task), 0);
    cr_assert_gt(plim_plan_task_part_ns(&inc->task, 1000), 0);
    plim_incumbent_end(inc);
    planner_case_free(&c);
  }
}

Test(incumbent, searches_of_a_child_run_no_op_more_often_than_those_of_its_parent) {
  planner_case c = planner_case_random(1, 0);
  plim_incumbent *inc = NULL;
  cr_assert_eq(plim_incumbent_begin(c.problem, &c.options, &inc), PLIM_OK);
  inc->task.runs_an_op_limit = 3;
  for (int32_t asked = 0; asked <= 2; asked += 2) {
    const plim_child wanted = {.runs_an_op_limit = asked};
    plim_incumbent *child = NULL;
    cr_assert_eq(plim_incumbent_child(inc, &wanted, &child), PLIM_OK);
    cr_assert_eq(child->task.runs_an_op_limit, asked > 0 ? asked : 3);
    plim_incumbent_end(child);
  }
  plim_incumbent_end(inc);
  planner_case_free(&c);
}

Test(incumbent, figures_are_those_of_the_schedule_that_is_told) {
  int32_t others = 0;
  for (uint64_t seed = test_seed(1), end = seed + CASES; test_seed_at(seed) < end; seed++) {
    rig r;
    rig_make(&r, planner_case_random(seed, 25), seed, (int)(seed % 3 == 0));
    for (int i = 0; i < SCHEDULES; i++) {
      plim_submit_result result;
      draw_schedule(r.track, &r.random, &r.schedule);
      cr_assert_eq(plim_incumbent_submit(r.inc, &r.schedule, PACKING_ROUNDS, &result), PLIM_OK);
      cr_assert_eq(plim_timeline_evaluate(r.timeline, result.schedule), PLIM_OK);
      cr_assert_eq(result.time_ns, r.timeline->time_ns, "seed %d", (int)seed);
      cr_assert_eq(result.peak_bytes, r.timeline->peak_bytes, "seed %d", (int)seed);
      cr_assert_geq(result.bytes, result.peak_bytes);
      others += result.schedule != &r.schedule;
    }
    rig_free(&r);
  }
  cr_assert_gt(others, 20, "schedules with other choices were told of %d times", (int)others);
}

/* A refusal names bytes that a plan needs, not a peak that nothing was packed at. */
Test(incumbent, a_refusal_names_the_lowest_plan_of_the_front_though_a_peak_is_lower) {
  int32_t lower = 0;
  for (uint64_t seed = test_seed(1), end = seed + CASES; test_seed_at(seed) < end; seed++) {
    rig r;
    plim_plan_floor floor;
    char number[32];
    rig_make(&r, planner_case_random(seed, 25), seed, 0);
    plim_front front = {.ctx = r.c.ctx};
    plim_incumbent *free_of_budget = NULL;
    plim_plan_options options = r.c.options;
    options.budget_bytes = PLIM_BYTES_UNLIMITED;
    cr_assert_eq(plim_incumbent_begin(r.c.problem, &options, &free_of_budget), PLIM_OK);
    free_of_budget->shared.front = &front;
    cr_assert_eq(plim_incumbent_submit_exact(free_of_budget, &r.schedule, 0), PLIM_OK);
    cr_assert_eq(plim_incumbent_submit_exact(r.inc, &r.schedule, 0), PLIM_OK);
    cr_assert_eq(plim_incumbent_submit_smallest(r.inc, &front), PLIM_OK);
    if (!r.inc->has_best) {
      lower += r.timeline->peak_bytes < front.point[0].bytes;
      cr_assert_eq(plim_refuse(r.inc, "search", &floor), PLIM_ENOFIT);
      (void)snprintf(number, sizeof number, "%lld bytes%s, a", (long long)front.point[0].bytes,
                     front.point[0].bytes < 1024 ? "" : ")");
      cr_assert_not_null(strstr(plim_context_error(r.c.ctx), number), "seed %d: %s of %s", (int)seed,
                         plim_context_error(r.c.ctx), number);
    }
    plim_incumbent_end(free_of_budget);
    plim_front_free(&front);
    rig_free(&r);
  }
  cr_assert_gt(lower, 3, "no peak lay below its packed size");
}

/* Begin an incumbent for packed plans within a budget, and submit program order, packed by first-fit, to it. */
static void submit_order(planner_case *c, int64_t budget_bytes, plim_schedule *order, plim_incumbent **out) {
  c->options.unpacked = 0;
  c->options.budget_bytes = budget_bytes;
  cr_assert_eq(plim_schedule_program_order(c->problem, order), PLIM_OK);
  cr_assert_eq(plim_incumbent_begin(c->problem, &c->options, out), PLIM_OK);
  cr_assert_eq(plim_incumbent_submit_exact(*out, order, 0), PLIM_OK);
}

/* Where packing misses a budget that the peak just meets, it is a conflict of addresses; within a budget below the peak
 * it is none. */
Test(incumbent, a_conflict_is_taken_from_a_child_of_the_same_budget_alone) {
  int32_t conflicts = 0;
  for (uint64_t seed = test_seed(1), end = seed + CASES; test_seed_at(seed) < end; seed++) {
    planner_case c = planner_case_random(seed, 25);
    plim_schedule order = {.ctx = c.ctx};
    plim_timeline *timeline = NULL;
    plim_incumbent *at_peak = NULL, *below = NULL, *child = NULL;
    cr_assert_eq(plim_timeline_new(c.problem, &timeline), PLIM_OK);
    const int64_t peak = whole_peak(&c, timeline, &order);
    submit_order(&c, peak, &order, &at_peak);
    cr_assert_lt(at_peak->least_plan_bytes, INT64_MAX, "seed %d: the peak is within the budget", (int)seed);
    submit_order(&c, peak - 1, &order, &below);
    cr_assert_eq(below->least_plan_bytes, INT64_MAX, "seed %d", (int)seed);
    for (int32_t i = 0; i < 2; i++) {
      plim_incumbent *parent = i ? below : at_peak;
      const plim_child asked = {.budget_bytes = peak};
      parent->task.budget_bytes = peak - i;
      parent->conflict_bytes = INT64_MAX;
      cr_assert_eq(plim_incumbent_child(parent, &asked, &child), PLIM_OK);
      cr_assert_eq(plim_incumbent_submit_exact(child, &order, 0), PLIM_OK);
      const int64_t met = child->conflict_bytes;
      conflicts += met < INT64_MAX;
      cr_assert_eq(plim_incumbent_join(parent, child, PLIM_OK), PLIM_OK);
      cr_assert_eq(parent->conflict_bytes, i ? INT64_MAX : met, "seed %d", (int)seed);
    }
    plim_incumbent_end(below);
    plim_incumbent_end(at_peak);
    plim_timeline_free(timeline);
    plim_schedule_free(&order);
    planner_case_free(&c);
  }
  cr_assert_gt(conflicts, 0, "every packing met its peak");
}

/* Many buffers of many sizes: packings differ. */

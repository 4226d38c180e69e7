/* Coarse problems: their schedules, expanded, against the timeline of the fine problem, on random graphs. */
#include "tools/plimsoll-bench/peers_internal.h"

#include <criterion/criterion.h>

#include "planner/core/evaluation.h"
#include "tests/support/planner_case.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

typedef struct rig {
  plim_coarse *coarse;
  plim_track *track;
  plim_timeline *fine, *grouped;
  plim_schedule schedule, expanded;
} rig;

static rig rig_make(const planner_case *c, int32_t most_readers) {
  rig r = {.schedule = {.ctx = c->ctx}, .expanded = {.ctx = c->ctx}};
  plim_status status = plim_coarse_make(c->problem, most_readers, &r.coarse);
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(c->ctx));
  const plim_problem *p = r.coarse->problem;
  cr_assert_eq(plim_timeline_new(c->problem, &r.fine), PLIM_OK);
  cr_assert_eq(plim_timeline_new(p, &r.grouped), PLIM_OK);
  cr_assert_eq(plim_track_new(p, 3 * p->n_ops + 40, &r.track), PLIM_OK);
  cr_assert_eq(plim_schedule_program_order(p, &r.schedule), PLIM_OK);
  plim_track_load(r.track, &r.schedule);
  return r;
}

static void rig_free(rig *r) {
  plim_track_free(r->track);
  plim_timeline_free(r->fine);
  plim_timeline_free(r->grouped);
  plim_schedule_free(&r->schedule);
  plim_schedule_free(&r->expanded);
  plim_coarse_free(r->coarse);
}

static void compare(rig *r, plim_context *ctx, uint64_t seed) {
  cr_assert_eq(plim_track_store(r->track, &r->schedule), PLIM_OK);
  cr_assert_eq(plim_coarse_expand(r->coarse, &r->schedule, &r->expanded), PLIM_OK);
  cr_assert_eq(plim_timeline_evaluate(r->grouped, &r->schedule), PLIM_OK);
  plim_status status = plim_timeline_evaluate(r->fine, &r->expanded);
  cr_assert_eq(status, PLIM_OK, "seed %llu: %s", (unsigned long long)seed, plim_context_error(ctx));
  cr_assert_eq(r->fine->time_ns, r->grouped->time_ns, "seed %llu", (unsigned long long)seed);
  cr_assert_leq(r->fine->peak_bytes, r->grouped->peak_bytes, "seed %llu", (unsigned long long)seed);
}

Test(coarse, expanded_schedules_are_valid_take_as_long_and_need_no_more_bytes) {
  int32_t fused = 0;
  for (uint64_t seed = test_seed(1), end = seed + 200; test_seed_at(seed) < end; seed++) {
    planner_case c = planner_case_random(seed, -1);
    uint64_t random = seed;
    rig r = rig_make(&c, seed % 3 == 0 ? 1 : INT32_MAX);
    fused += c.problem->n_ops - r.coarse->problem->n_ops;
    compare(&r, c.ctx, seed);
    for (int step = 0; step < 60; step++) {
      planner_case_change(r.track, &random);
      plim_track_keep(r.track);
      compare(&r, c.ctx, seed);
    }
    rig_free(&r);
    planner_case_free(&c);
  }
  cr_assert_gt(fused, 400);
}

/* planner/track/track.c: a schedule under change against the full evaluation of the same schedule, on random graphs and
 * random changes. */
#include "planner/track/memory_profile.h"
#include "planner/track/track.h"

#include <criterion/criterion.h>

#include "planner/core/evaluation.h"
#include "tests/support/planner_case.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

typedef struct rig {
  planner_case c;
  plim_track *track;
  plim_timeline *timeline;
  plim_schedule schedule;
  uint64_t random;
} rig;

static rig rig_make(uint64_t seed) {
  rig r = {.c = planner_case_random(seed, -1), .random = seed};
  r.schedule.ctx = r.c.ctx;
  cr_assert_eq(plim_timeline_new(r.c.problem, &r.timeline), PLIM_OK);
  cr_assert_eq(plim_track_new(r.c.problem, 3 * r.c.problem->n_ops + 40, &r.track), PLIM_OK);
  cr_assert_eq(plim_schedule_program_order(r.c.problem, &r.schedule), PLIM_OK);
  plim_track_load(r.track, &r.schedule);
  return r;
}

static void rig_free(rig *r) {
  plim_track_free(r->track);
  plim_timeline_free(r->timeline);
  plim_schedule_free(&r->schedule);
  planner_case_free(&r->c);
}

static int64_t excess(const plim_timeline *t, int64_t limit) {
  int64_t sum = 0;
  for (int32_t j = 0; j < t->n_runs; j++) sum += t->level[j] > limit ? t->level[j] - limit : 0;
  return sum;
}

/* Live bytes at the run in a slot. */
static int64_t live_bytes(const plim_track *t, int32_t slot) {
  const plim_memory_slot *at = t->memory_profile->slot;
  int64_t bytes = t->base_bytes;
  for (int32_t i = 0; i < slot; i++) bytes += at[i].up - at[i].down;
  return bytes + at[slot].up;
}

static void compare(rig *r, uint64_t seed, int step) {
  plim_track *t = r->track;
  plim_track_settle(t);
  cr_assert_eq(plim_track_store(t, &r->schedule), PLIM_OK);
  plim_status status = plim_timeline_evaluate(r->timeline, &r->schedule);
  cr_assert_eq(status, PLIM_OK, "seed %llu step %d: %s", (unsigned long long)seed, step, plim_context_error(r->c.ctx));
  cr_assert_eq(plim_track_peak(t), r->timeline->peak_bytes, "seed %llu step %d: peak %lld, not %lld",
               (unsigned long long)seed, step, (long long)plim_track_peak(t), (long long)r->timeline->peak_bytes);
  cr_assert_eq(t->time_ns, r->timeline->time_ns);
  int64_t limit = r->timeline->peak_bytes * test_random_between(&r->random, 40, 100) / 100;
  cr_assert_eq(plim_track_excess(t, limit), excess(r->timeline, limit), "seed %llu step %d", (unsigned long long)seed,
               step);
  int32_t above = plim_memory_profile_find_above(t->memory_profile, t->base_bytes, limit, test_random(&r->random));
  if (r->timeline->peak_bytes > limit) cr_assert_geq(above, 0);
  if (above >= 0) cr_assert_gt(live_bytes(t, above), limit);
}

Test(track_changes, agrees_with_the_full_evaluation_after_every_random_change) {
  for (uint64_t seed = test_seed(1), end = seed + 80; test_seed_at(seed) < end; seed++) {
    rig r = rig_make(seed);
    compare(&r, seed, -1);
    for (int step = 0; step < 250; step++) {
      planner_case_change(r.track, &r.random);
      plim_track_keep(r.track);
      compare(&r, seed, step);
    }
    rig_free(&r);
  }
}

Test(track_changes, undoes_several_changes_exactly) {
  for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) {
    rig r = rig_make(seed);
    plim_schedule before = {.ctx = r.c.ctx};
    for (int step = 0; step < 120; step++) {
      plim_track_settle(r.track);
      int64_t peak = plim_track_peak(r.track), time_ns = r.track->time_ns;
      cr_assert_eq(plim_track_store(r.track, &before), PLIM_OK);
      for (int64_t n = test_random_between(&r.random, 1, 6); n > 0; n--) planner_case_change(r.track, &r.random);
      if (test_random_chance(&r.random, 30)) {
        plim_track_keep(r.track);
        continue;
      }
      plim_track_undo(r.track);
      compare(&r, seed, step);
      cr_assert_eq(r.schedule.n, before.n);
      for (int32_t j = 0; j < before.n; j++) {
        cr_assert_eq(r.schedule.op[j], before.op[j]);
        cr_assert_eq(r.schedule.choice[j], before.choice[j]);
      }
      cr_assert_eq(plim_track_peak(r.track), peak);
      cr_assert_eq(r.track->time_ns, time_ns);
    }
    plim_schedule_free(&before);
    rig_free(&r);
  }
}

Test(track_changes, a_sum_of_excess_that_does_not_fit_is_capped) {
  const int64_t high = INT64_C(1) << 60;
  plim_context *ctx = NULL;
  plim_memory_profile *memory_profile = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  cr_assert_eq(plim_memory_profile_new(ctx, 64, &memory_profile), PLIM_OK);
  for (int32_t slot = 0; slot < 40; slot++) {
    memory_profile->used[slot] = 1;
    plim_memory_profile_add(memory_profile, slot, high, high);
  }
  plim_memory_profile_settle(memory_profile);
  cr_assert_eq(plim_memory_profile_peak(memory_profile, 5), high + 5);
  cr_assert_eq(plim_memory_profile_excess(memory_profile, 5, 4), INT64_MAX, "40 runs of 2^60 bytes");
  cr_assert_eq(plim_memory_profile_excess(memory_profile, 5, high + 3), 2 * 40, "what fits is exact");
  plim_memory_profile_free(memory_profile);
  plim_context_free(ctx);
}

/* Every kind of move, on random graphs: the schedule stays valid, its figures are those of the full evaluation, and a
 * refused move can be undone. */
#include "planner/search/moves.h"

#include <criterion/criterion.h>

#include "planner/timeline.h"
#include "tests/support/planner_case.h"

typedef struct rig {
  planner_case c;
  plim_mover mover;
  plim_alike *alike;
  plim_timeline *timeline;
  plim_schedule schedule;
} rig;

static rig rig_make(uint64_t seed) {
  rig r = {.c = planner_case_random(seed, -1), .mover = {.random = {seed}, .choosy = 60, .most_ns = INT64_MAX}};
  r.schedule.ctx = r.c.ctx;
  cr_assert_eq(plim_alike_new(r.c.problem, &r.alike), PLIM_OK);
  r.mover.alike = r.alike;
  cr_assert_eq(plim_timeline_new(r.c.problem, &r.timeline), PLIM_OK);
  cr_assert_eq(plim_track_new(r.c.problem, 3 * r.c.problem->n_ops + 40, &r.mover.track), PLIM_OK);
  cr_assert_eq(plim_schedule_program_order(r.c.problem, &r.schedule), PLIM_OK);
  plim_track_load(r.mover.track, &r.schedule);
  plim_track_settle(r.mover.track);
  r.mover.limit = plim_track_peak(r.mover.track) * 3 / 4;
  return r;
}

static void rig_free(rig *r) {
  plim_track_free(r->mover.track);
  plim_alike_free(r->alike);
  plim_timeline_free(r->timeline);
  plim_schedule_free(&r->schedule);
  planner_case_free(&r->c);
}

static void compare(rig *r, uint64_t seed, int step, plim_move move) {
  plim_track *t = r->mover.track;
  plim_track_settle(t);
  cr_assert_eq(plim_track_store(t, &r->schedule), PLIM_OK);
  cr_assert_eq(plim_timeline_evaluate(r->timeline, &r->schedule), PLIM_OK, "seed %llu step %d move %d: %s",
               (unsigned long long)seed, step, (int)move, plim_context_error(r->c.ctx));
  cr_assert_eq(plim_track_peak(t), r->timeline->peak_bytes, "seed %llu step %d move %d", (unsigned long long)seed, step,
               (int)move);
  cr_assert_eq(t->time_ns, r->timeline->time_ns);
}

Test(moves, keep_schedules_valid_and_figures_right) {
  int32_t made[PLIM_MOVES] = {0};
  for (uint64_t seed = 1; seed <= 60; seed++) {
    rig r = rig_make(seed);
    for (int step = 0; step < 400; step++) {
      plim_move move = (plim_move)plim_random_below(&r.mover.random, PLIM_MOVES);
      made[move] += plim_move_make(&r.mover, move);
      if (step % 3 == 0) {
        plim_track_undo(r.mover.track);
      } else {
        plim_track_keep(r.mover.track);
      }
      compare(&r, seed, step, move);
    }
    rig_free(&r);
  }
  for (int move = 0; move < PLIM_MOVES; move++) cr_assert_gt(made[move], 50, "move %d: %d made", move, made[move]);
}

/* planner/search/neighbourhood.c: what comes out is the fastest of all choices of the intervals, by brute force with
 * the full evaluation; a schedule that is not improved stays as it was. */
#include "planner/search/moves.h"

#include <criterion/criterion.h>

#include "planner/core/evaluation.h"
#include "tests/support/planner_case.h"
#include "tests/support/test_seed.h"

enum { GAPS = 9 /* of brute force */, ENOUGH = 1 << 20 };

typedef struct rig {
  planner_case c;
  plim_mover mover;
  plim_timeline *timeline;
  plim_schedule before, after, trial;
} rig;

/* A schedule with repeats: random changes of program order. */
static rig rig_make(uint64_t seed) {
  rig r = {.c = planner_case_random(seed, -1), .mover = {.random = {seed}, .limit_ns = INT64_MAX}};
  uint64_t random = seed;
  r.before.ctx = r.after.ctx = r.trial.ctx = r.c.ctx;
  cr_assert_eq(plim_timeline_new(r.c.problem, &r.timeline), PLIM_OK);
  cr_assert_eq(plim_track_new(r.c.problem, 3 * r.c.problem->n_ops + 60, &r.mover.track), PLIM_OK);
  cr_assert_eq(plim_schedule_program_order(r.c.problem, &r.trial), PLIM_OK);
  plim_track_load(r.mover.track, &r.trial);
  for (int i = 0; i < 40; i++) {
    planner_case_change(r.mover.track, &random);
    plim_track_keep(r.mover.track);
  }
  plim_track_settle(r.mover.track);
  cr_assert_eq(plim_track_store(r.mover.track, &r.before), PLIM_OK);
  return r;
}

static void rig_free(rig *r) {
  plim_track_free(r->mover.track);
  plim_timeline_free(r->timeline);
  plim_schedule_free(&r->before);
  plim_schedule_free(&r->after);
  plim_schedule_free(&r->trial);
  planner_case_free(&r->c);
}

/* Few enough intervals to try all choices: no more kept copies than that. The repeats stay, since others' places were
 * chosen as if they might go. 0: still too many. */
static int cut_down(plim_neighbourhood *a) {
  int32_t n = 0;
  for (int32_t k = 0; k < a->n; k++) {
    if (a->interval[k].repeat >= 0 || n < GAPS) a->interval[n++] = a->interval[k];
  }
  a->n = n;
  return n <= GAPS + 2;
}

/* A interval's place in the schedule `before`, doubled: a repeat's own, or just before that of its use. */
static int32_t place_of(const plim_track *t, const plim_interval *g) {
  if (g->repeat < 0 && g->anchor < 0 && g->rank == 0) return INT32_MAX;
  int32_t slot = (g->rank + (g->repeat < 0)) / 2, at = 0;
  for (int32_t r = t->head; r >= 0 && t->run[r].slot != slot; r = t->run[r].next) at++;
  return 2 * at - (g->repeat < 0);
}

/* The schedule with the intervals of `again` recomputed, built from the one before run by run. */
static void build(rig *r, const plim_neighbourhood *a, const int32_t *place, uint32_t again) {
  r->trial.n = 0;
  for (int32_t at = 0; at <= r->before.n; at++) {
    for (int32_t op = 0; op < r->c.problem->n_ops; op++) {
      for (int32_t k = 0; k < a->n; k++) { /* kept copies recomputed before this run, by op */
        int here = place[k] == 2 * at - 1 || (place[k] == INT32_MAX && at == r->before.n);
        if (a->interval[k].repeat >= 0 || !here || a->interval[k].op != op || !(again >> k & 1)) continue;
        cr_assert_eq(plim_schedule_add(&r->trial, op, a->interval[k].choice), PLIM_OK);
      }
    }
    if (at == r->before.n) return;
    int gone = 0;
    for (int32_t k = 0; k < a->n; k++) {
      gone |= a->interval[k].repeat >= 0 && place[k] == 2 * at && !(again >> k & 1);
    }
    if (!gone) cr_assert_eq(plim_schedule_add(&r->trial, r->before.op[at], r->before.choice[at]), PLIM_OK);
  }
}

/* Least time of all choices within the limit, INT64_MAX: none is. */
static int64_t brute_force(rig *r, const plim_neighbourhood *a, int64_t limit) {
  int32_t place[PLIM_NEIGHBOURHOOD_MAX];
  int64_t best = INT64_MAX;
  for (int32_t k = 0; k < a->n; k++) place[k] = place_of(r->mover.track, &a->interval[k]);
  for (uint32_t again = 0; again < 1U << a->n; again++) {
    build(r, a, place, again);
    if (plim_timeline_evaluate(r->timeline, &r->trial) != PLIM_OK) continue; /* after an update */
    if (r->timeline->peak_bytes <= limit && r->timeline->time_ns < best) best = r->timeline->time_ns;
  }
  return best;
}

static void check_schedule(rig *r, int64_t time_ns, int64_t limit, uint64_t seed) {
  plim_track_settle(r->mover.track);
  cr_assert_eq(plim_track_store(r->mover.track, &r->after), PLIM_OK);
  cr_assert_eq(plim_timeline_evaluate(r->timeline, &r->after), PLIM_OK, "seed %llu: %s", (unsigned long long)seed,
               plim_context_error(r->c.ctx));
  cr_assert_eq(r->timeline->time_ns, time_ns, "seed %llu", (unsigned long long)seed);
  cr_assert_leq(r->timeline->peak_bytes, limit, "seed %llu", (unsigned long long)seed);
}

static void check_unchanged(rig *r) {
  cr_assert_eq(plim_track_store(r->mover.track, &r->after), PLIM_OK);
  cr_assert_eq(r->after.n, r->before.n);
  for (int32_t j = 0; j < r->before.n; j++) cr_assert_eq(r->after.op[j], r->before.op[j]);
}

typedef struct tally {
  int faster, none, together;
} tally;

static void compare(uint64_t seed, int percent, tally *score) {
  rig r = rig_make(seed);
  plim_track *t = r.mover.track;
  plim_neighbourhood a;
  int64_t nodes = ENOUGH, peak = plim_track_peak(t), before_ns = t->time_ns;
  r.mover.limit = peak / 100 * percent;
  plim_neighbourhood_gather(&r.mover, t->run[plim_move_random_run(&r.mover)].slot, &a);
  if (a.n > 0 && cut_down(&a)) {
    int64_t best = brute_force(&r, &a, r.mover.limit), most = percent < 100 ? INT64_MAX : before_ns;
    int found = plim_neighbourhood_solve(&r.mover, &a, most, &nodes);
    cr_assert_gt(nodes, 0);
    cr_assert_eq(found, best < most, "seed %llu at %d %%: %d, %lld", (unsigned long long)seed, percent, found,
                 (long long)best);
    if (found) check_schedule(&r, best, r.mover.limit, seed);
    if (!found) check_unchanged(&r);
    score->faster += found && best < before_ns;
    score->none += !found;
    score->together += a.n > 3;
  }
  rig_free(&r);
}

Test(neighbourhood, finds_the_fastest_of_all_choices) {
  tally score = {0};
  for (uint64_t seed = test_seed(1), end = seed + 200; test_seed_at(seed) < end; seed++) {
    compare(seed, 100, &score);
    compare(seed, 92, &score);
  }
  cr_log_info("%d faster, %d without one, %d of more than three intervals", score.faster, score.none, score.together);
  cr_assert(score.faster > 30 && score.none > 50 && score.together > 50, "%d faster, %d none, %d together",
            score.faster, score.none, score.together);
}

Test(neighbourhood, improving_keeps_the_limit_and_never_gets_slower) {
  for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) {
    rig r = rig_make(seed);
    int64_t before_ns = r.mover.track->time_ns;
    r.mover.limit = plim_track_peak(r.mover.track);
    plim_neighbourhood_improve(&r.mover, 30);
    cr_assert_leq(r.mover.track->time_ns, before_ns);
    check_schedule(&r, r.mover.track->time_ns, r.mover.limit, seed);
    rig_free(&r);
  }
}

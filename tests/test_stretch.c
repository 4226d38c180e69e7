/* Stretches: one that is the whole sequence gives the optimum of exhaustive search, in both orders; one inside a
 * schedule keeps the limit, never makes it slower, and leaves what is outside alone. */
#include "planner/search/stretch.h"

#include <criterion/criterion.h>

#include "planner/timeline.h"
#include "tests/support/plan_oracle.h"
#include "tests/support/planner_case.h"
#include "tests/support/random_graph.h"

enum { BUDGETS = 6, ENOUGH = 1 << 24 };

typedef struct rig {
  planner_case c;
  plim_mover mover;
  plim_stretch *stretch;
  plim_timeline *timeline;
  plim_schedule before, after;
} rig;

static void rig_begin(rig *r, uint64_t seed) {
  const plim_problem *p = r->c.problem;
  r->before.ctx = r->after.ctx = r->c.ctx;
  r->mover.random = (plim_random){seed};
  cr_assert_eq(plim_timeline_new(p, &r->timeline), PLIM_OK);
  cr_assert_eq(plim_stretch_new(p, &r->stretch), PLIM_OK);
  cr_assert_eq(plim_track_new(p, 6 * p->n_ops + 60, &r->mover.track), PLIM_OK);
  cr_assert_eq(plim_schedule_program_order(p, &r->before), PLIM_OK);
  plim_track_load(r->mover.track, &r->before);
}

static void rig_end(rig *r) {
  plim_stretch_free(r->stretch);
  plim_track_free(r->mover.track);
  plim_timeline_free(r->timeline);
  plim_schedule_free(&r->before);
  plim_schedule_free(&r->after);
  planner_case_free(&r->c);
}

static void check_schedule(rig *r, int64_t time_ns, int64_t limit, uint64_t seed) {
  plim_track_settle(r->mover.track);
  cr_assert_eq(plim_track_store(r->mover.track, &r->after), PLIM_OK);
  cr_assert_eq(plim_timeline_evaluate(r->timeline, &r->after), PLIM_OK, "seed %llu: %s", (unsigned long long)seed,
               plim_context_error(r->c.ctx));
  cr_assert_eq(r->timeline->time_ns, time_ns, "seed %llu: %lld, not %lld", (unsigned long long)seed,
               (long long)r->timeline->time_ns, (long long)time_ns);
  cr_assert_leq(r->timeline->peak_bytes, limit, "seed %llu", (unsigned long long)seed);
}

/* A step graph of up to 8 ops, one variant each, without rounding. */
static void begin_small(rig *r, uint64_t seed, plim_plan_order order) {
  plim_context *ctx;
  plim_graph *graph = NULL;
  random_graph_options options = random_graph_options_default(seed);
  plim_plan_options plan = plim_plan_options_default();
  options.n_ops = 4 + (int32_t)(seed % 5);
  options.n_params = (int32_t)(seed % 2);
  options.n_stats = 0;
  options.two_out_percent = 15;
  plan.order = order;
  plan.unpacked = 1;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  if (seed % 3 == 0) {
    cr_assert_eq(random_chain_make(ctx, 1, seed, &graph), PLIM_OK);
  } else {
    cr_assert_eq(random_graph_make(ctx, &options, &graph), PLIM_OK);
  }
  r->c = planner_case_make(ctx, graph, NULL, &plan);
  rig_begin(r, seed);
}

typedef struct tally {
  int cases, slower, none;
} tally;

static void compare(rig *r, int64_t limit, uint64_t seed, tally *score) {
  const plim_problem *p = r->c.problem;
  plim_track *t = r->mover.track;
  int64_t keep_ns = t->time_ns, optimum;
  optimum = (p->fixed_order ? plan_oracle_fixed : plan_oracle)(r->c.graph, r->c.profile, 1, limit);
  r->mover.limit = limit;
  int found = plim_stretch_solve(r->stretch, &r->mover, t->head, p->n_ops, INT64_MAX / 2, ENOUGH);
  cr_assert_gt(r->stretch->work, 0, "seed %llu: not enough", (unsigned long long)seed);
  cr_assert_eq(found, optimum >= 0, "seed %llu at %lld: found %d, optimum %lld", (unsigned long long)seed,
               (long long)limit, found, (long long)optimum);
  if (found) check_schedule(r, optimum, limit, seed);
  score->cases++;
  score->slower += found && optimum > keep_ns;
  score->none += !found;
  plim_track_undo(t);
}

static tally compare_all(plim_plan_order order) {
  tally score = {0};
  for (uint64_t seed = 1; seed <= 150; seed++) {
    rig r = {.mover.most_ns = INT64_MAX};
    begin_small(&r, seed, order);
    int64_t peak = plim_track_peak(r.mover.track), always = r.c.problem->persistent_bytes;
    for (int64_t k = 0; k < BUDGETS; k++) compare(&r, peak - k * (peak - always) / (10 * BUDGETS), seed, &score);
    rig_end(&r);
  }
  cr_log_info("%d cases, %d with repeats, %d without a plan", score.cases, score.slower, score.none);
  return score;
}

Test(stretch, of_the_whole_sequence_gives_the_optimum_in_free_order) {
  tally score = compare_all(PLIM_ORDER_FREE);
  cr_assert(score.slower > 30 && score.none > 50, "%d slower, %d none", score.slower, score.none);
}

Test(stretch, of_the_whole_sequence_gives_the_optimum_in_program_order) {
  tally score = compare_all(PLIM_ORDER_FIXED);
  cr_assert(score.slower > 30 && score.none > 50, "%d slower, %d none", score.slower, score.none);
}

/* A schedule with repeats: random changes of program order. */
static void begin_changed(rig *r, uint64_t seed) {
  uint64_t random = seed;
  r->c = planner_case_random(seed, -1);
  rig_begin(r, seed);
  for (int i = 0; i < 40; i++) {
    planner_case_change(r->mover.track, &random);
    plim_track_keep(r->mover.track);
  }
  plim_track_settle(r->mover.track);
  cr_assert_eq(plim_track_store(r->mover.track, &r->before), PLIM_OK);
}

static void check_outside(rig *r, int32_t at, int32_t length, uint64_t seed) {
  const plim_schedule *x = &r->before, *y = &r->after;
  int32_t behind = x->n - at - length;
  for (int32_t j = 0; j < at; j++) cr_assert_eq(x->op[j], y->op[j], "seed %llu", (unsigned long long)seed);
  for (int32_t j = 1; j <= behind; j++) {
    cr_assert_eq(x->op[x->n - j], y->op[y->n - j], "seed %llu", (unsigned long long)seed);
  }
}

Test(stretch, inside_a_schedule_is_all_that_changes) {
  int faster = 0;
  for (uint64_t seed = 1; seed <= 300; seed++) {
    rig r = {.mover.most_ns = INT64_MAX};
    begin_changed(&r, seed);
    plim_track *t = r.mover.track;
    int64_t before_ns = t->time_ns;
    int32_t length = 2 + (int32_t)(seed % 8), at = plim_random_below(&r.mover.random, r.before.n - 1), begin = t->head;
    r.mover.limit = plim_track_peak(t);
    if (length > r.before.n - at) length = r.before.n - at;
    for (int32_t i = 0; i < at; i++) begin = t->run[begin].next;
    int found = plim_stretch_solve(r.stretch, &r.mover, begin, length, before_ns, ENOUGH);
    cr_assert_eq(found, t->time_ns < before_ns);
    check_schedule(&r, t->time_ns, r.mover.limit, seed);
    check_outside(&r, at, length, seed);
    plim_track_undo(t);
    check_schedule(&r, before_ns, r.mover.limit, seed);
    faster += found;
    rig_end(&r);
  }
  cr_log_info("%d faster", faster);
  cr_assert_gt(faster, 30, "%d faster", faster);
}

Test(stretch, improving_keeps_the_limit_and_never_gets_slower) {
  int faster = 0;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    rig r = {.mover.most_ns = INT64_MAX};
    begin_changed(&r, seed);
    int64_t before_ns = r.mover.track->time_ns;
    r.mover.limit = plim_track_peak(r.mover.track);
    plim_stretch_improve(r.stretch, &r.mover, 8, INT32_MAX);
    cr_assert_leq(r.mover.track->time_ns, before_ns);
    check_schedule(&r, r.mover.track->time_ns, r.mover.limit, seed);
    faster += r.mover.track->time_ns < before_ns;
    rig_end(&r);
  }
  cr_assert_gt(faster, 30, "%d faster", faster);
}

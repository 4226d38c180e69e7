/* planner/search/moves.c, moves_evict.c, moves_first.c: every kind of move on random graphs. The schedule stays valid,
 * its figures are those of the full evaluation, and a refused move can be undone. */
#include "planner/search/moves.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "planner/core/evaluation.h"
#include "tests/support/planner_case.h"
#include "tests/support/test_seed.h"

typedef struct rig {
  planner_case c;
  plim_mover mover;
  plim_timeline *timeline;
  plim_schedule schedule;
} rig;

static rig rig_make(uint64_t seed) {
  rig r = {.c = planner_case_random(seed, -1),
           .mover = {.random = {seed}, .compare_percent = 60, .limit_ns = INT64_MAX}};
  r.schedule.ctx = r.c.ctx;
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
  for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) {
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

Test(moves, return_1_where_they_changed_the_schedule_and_0_elsewhere) {
  for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) {
    rig r = rig_make(seed);
    for (int step = 0; step < 400; step++) {
      plim_move move = (plim_move)plim_random_below(&r.mover.random, PLIM_MOVES);
      const int made = plim_move_make(&r.mover, move);
      cr_assert_eq(made, r.mover.track->n_journal > 0, "seed %llu step %d move %d returns %d with %d changes",
                   (unsigned long long)seed, step, (int)move, made, (int)r.mover.track->n_journal);
      plim_track_keep(r.mover.track);
    }
    rig_free(&r);
  }
}

/* ---- the journal ---- */

enum { TRUNK = 500, HEADS = 3 };

static void add_op(plim_graph_builder *b, const char *kind, int32_t k, plim_role role, int32_t in, int32_t *out) {
  const int64_t bytes = 1000;
  char name[32];
  plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &bytes);
  int32_t storage, op;
  (void)snprintf(name, sizeof name, "%s%d", kind, (int)k);
  cr_assert_eq(plim_graph_add_storage(b, role, bytes, &storage), PLIM_OK);
  cr_assert_eq(plim_graph_add_value(b, name, storage, 0, &shape, out), PLIM_OK);
  if (in < 0) return;
  plim_op_spec spec = {.name = name, .kind = PLIM_OP_CUSTOM, .cls = PLIM_OP_PURE, .time_ns = 1, .n_in = 1, .n_out = 1};
  spec.in[0] = in;
  spec.out[0] = *out;
  cr_assert_eq(plim_graph_add_op(b, &spec, &op), PLIM_OK);
}

/* A chain of ops, and heads that read its end. */
static planner_case make_trunk(void) {
  plim_context *ctx = NULL;
  plim_graph_builder *b = NULL;
  plim_graph *graph = NULL;
  plim_plan_options options = plim_plan_options_default();
  int32_t value, head;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  cr_assert_eq(plim_graph_begin(ctx, "trunk", 1, &b), PLIM_OK);
  add_op(b, "input", 0, PLIM_ROLE_INPUT, -1, &value);
  for (int32_t k = 0; k < TRUNK; k++) add_op(b, "op", k, PLIM_ROLE_ACTIVATION, value, &value);
  for (int32_t k = 0; k < HEADS; k++) add_op(b, "head", k, PLIM_ROLE_OUTPUT, value, &head);
  cr_assert_eq(plim_graph_end(b, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  return planner_case_make(ctx, graph, NULL, &options);
}

/* The trunk runs again for every head. */
static void repeat_trunk(const planner_case *c, plim_schedule *s) {
  for (int32_t head = 0; head < HEADS; head++) {
    for (int32_t v = 0; v < TRUNK; v++) cr_assert_eq(plim_schedule_add(s, v, 0), PLIM_OK);
    cr_assert_eq(plim_schedule_add(s, TRUNK + head, 0), PLIM_OK);
  }
  cr_assert_eq(s->n, c->problem->n_ops + (HEADS - 1) * TRUNK);
}

Test(moves, a_chain_of_hundreds_of_repeats_does_not_overflow_the_journal) {
  planner_case c = make_trunk();
  plim_schedule s = {.ctx = c.ctx};
  plim_track *track = NULL;
  int32_t most = 0;
  repeat_trunk(&c, &s);
  cr_assert_eq(plim_track_new(c.problem, 2 * s.n, &track), PLIM_OK);
  plim_track_load(track, &s);
  plim_mover mover = {.track = track, .random = {3}, .limit_ns = INT64_MAX, .limit = plim_track_peak(track) - 1};
  for (int step = 0; step < 6000; step++) {
    (void)plim_move_make(&mover, PLIM_MOVE_EXCHANGE);
    most = track->n_journal > most ? track->n_journal : most;
    plim_track_undo(track);
  }
  cr_assert_gt(most, 480, "the moves came near the end of the journal: %d", (int)most);
  cr_assert_leq(most, track->journal_capacity);
  plim_track_free(track);
  plim_schedule_free(&s);
  planner_case_free(&c);
}

Test(moves, marks_of_groups_begin_anew_before_they_overflow) {
  rig r = rig_make(2);
  plim_track *t = r.mover.track;
  t->last_stamp = INT32_MAX - 3;
  for (int32_t v = 0; v < t->problem->n_ops; v++) t->stamp[v] = v % 2; /* older than any mark that is made here */
  for (int step = 0; step < 200; step++) {
    (void)plim_move_make(&r.mover, PLIM_MOVE_GROUP);
    cr_assert_gt(t->last_stamp, 0);
    plim_track_keep(t);
    compare(&r, 2, step, PLIM_MOVE_GROUP);
  }
  rig_free(&r);
}

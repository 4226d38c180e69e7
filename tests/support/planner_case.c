#include "tests/support/planner_case.h"

#include <criterion/criterion.h>

#include "tests/support/random_graph.h"
#include "tests/support/test_random.h"

planner_case planner_case_make(plim_context *ctx, plim_graph *graph, plim_profile *profile,
                               const plim_plan_options *options) {
  planner_case c = {.ctx = ctx, .graph = graph, .profile = profile, .options = *options};
  if (!profile) cr_assert_eq(plim_profile_from_graph(graph, &c.profile), PLIM_OK);
  plim_status status =
      plim_problem_make(ctx, graph, c.profile, &c.options,
                        c.options.order == PLIM_ORDER_FIXED ? PLIM_CLASS_FIXED : PLIM_CLASS_FREE, &c.problem);
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(ctx));
  return c;
}

static planner_case make_random(uint64_t seed, int32_t n_ops, int32_t once_percent) {
  plim_context *ctx = NULL;
  plim_graph *graph = NULL;
  plim_profile *profile = NULL;
  random_graph_options options = random_graph_options_default(seed);
  options.n_ops = n_ops;
  options.once_percent = once_percent;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  int32_t layers = n_ops < 0 ? 1 + (int32_t)(seed % 12) : (n_ops - 1) / 4;
  if (seed % 2 == 0 || layers < 1 || once_percent > 0) {
    cr_assert_eq(random_graph_make(ctx, &options, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  } else {
    cr_assert_eq(random_chain_make(ctx, layers, seed, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  }
  cr_assert_eq(random_profile_make(graph, seed, 3, &profile), PLIM_OK);
  plim_plan_options plan_options = plim_plan_options_default();
  if (seed % 5 == 0) plan_options.order = PLIM_ORDER_FIXED;
  return planner_case_make(ctx, graph, profile, &plan_options);
}

planner_case planner_case_random(uint64_t seed, int32_t n_ops) {
  return make_random(seed, n_ops, 0);
}

planner_case planner_case_once(uint64_t seed, int32_t n_ops) {
  return make_random(seed, n_ops, 20);
}

void planner_case_free(planner_case *c) {
  plim_problem_free(c->problem);
  plim_profile_free(c->profile);
  plim_graph_free(c->graph);
  plim_context_free(c->ctx);
}

static int32_t any_run(const plim_track *t, uint64_t *random) {
  return t->alive[test_random_between(random, 0, t->n_runs - 1)];
}

/* Move a run that is the first of its op before another place of its window. */
static void move_first(plim_track *t, uint64_t *random, int32_t run) {
  int32_t low, high, to = any_run(t, random);
  run = t->first[t->run[run].op];
  plim_track_window(t, run, &low, &high);
  if (t->run[to].slot <= low || t->run[to].slot > high || to == run) return;
  if (t->run[to].prev >= 0 && t->run[t->run[to].prev].slot < low) return;
  int32_t op = t->run[run].op, choice = t->run[run].choice;
  if (t->run[run].op_next >= 0 && t->run[to].slot > t->run[t->run[run].op_next].slot) return;
  plim_track_remove(t, run);
  (void)plim_track_insert(t, op, choice, to);
}

/* A random choice that runs of this op may have: all runs of an op have one numerics key. */
static int32_t any_choice(const plim_track *t, uint64_t *random, int32_t op, int alone) {
  const plim_planned_op *v = &t->problem->op[op];
  int32_t now = t->run[t->first[op]].choice;
  int32_t drawn = (int32_t)test_random_between(random, 0, v->n_choices - 1);
  return alone || v->choice[drawn].numerics_key == v->choice[now].numerics_key ? drawn : now;
}

void planner_case_change(plim_track *t, uint64_t *random) {
  int32_t run = any_run(t, random), op = t->run[run].op;
  switch (test_random_between(random, 0, 4)) {
    case 0:
    case 1: {
      int32_t next = test_random_chance(random, 5) ? -1 : any_run(t, random);
      int32_t choice = any_choice(t, random, op, 0);
      if (!plim_track_full(t) && plim_track_may_repeat(t, op, next)) (void)plim_track_insert(t, op, choice, next);
      break;
    }
    case 2:
      if (t->n_repeats > 0) run = t->repeat[test_random_between(random, 0, t->n_repeats - 1)];
      if (plim_track_may_remove(t, run)) plim_track_remove(t, run);
      break;
    case 3:
      move_first(t, random, run);
      break;
    default:
      plim_track_set_choice(t, run, any_choice(t, random, op, t->n_of[op] == 1));
  }
}

void planner_case_sequence(const planner_case *c, uint64_t seed, int changes, int32_t runs_an_op, plim_schedule *out) {
  plim_track *track = NULL;
  uint64_t random = seed;
  cr_assert_eq(plim_schedule_program_order(c->problem, out), PLIM_OK);
  cr_assert_eq(plim_track_new(c->problem, runs_an_op * c->problem->n_ops + 64, &track), PLIM_OK);
  plim_track_load(track, out);
  for (int i = 0; i < changes; i++) {
    planner_case_change(track, &random);
    plim_track_keep(track);
  }
  cr_assert_eq(plim_track_store(track, out), PLIM_OK);
  plim_track_free(track);
}

plim_plan *planner_case_plan(planner_case *c, plim_status expected) {
  plim_plan *plan = NULL;
  plim_status status = plim_plan_make(c->ctx, c->graph, c->profile, &c->options, &plan);
  cr_assert_eq(status, expected, "%s", plim_context_error(c->ctx));
  return plan;
}

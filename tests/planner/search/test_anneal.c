/* planner/search/anneal.c: limits on an annealing run, and the cost of a schedule. */
#include "planner/search/moves.h"

#include <criterion/criterion.h>
#include <math.h>

#include "tests/support/planner_case.h"
#include "tests/support/test_seed.h"

static plim_status ignore(void *user, plim_anneal *a) {
  (void)user;
  (void)a;
  return PLIM_OK;
}

static int64_t moves_until(const planner_case *c, int64_t iterations, int64_t deadline_ns) {
  plim_track *track = NULL;
  plim_schedule order = {.ctx = c->ctx};
  cr_assert_eq(plim_schedule_program_order(c->problem, &order), PLIM_OK);
  cr_assert_eq(plim_track_new(c->problem, c->problem->n_ops + 64, &track), PLIM_OK);
  plim_track_load(track, &order);
  plim_anneal a = {.mover = {.track = track, .random = {1}, .limit = plim_track_peak(track) - 1},
                   .hot = 2,
                   .cold = 0.01,
                   .weight = 1,
                   .iterations = iterations,
                   .deadline_ns = deadline_ns,
                   .share = {[PLIM_MOVE_FIRST] = 1},
                   .on_fit = ignore,
                   .faster_than_ns = INT64_MAX};
  cr_assert_eq(plim_anneal_run(&a), PLIM_OK);
  plim_track_free(track);
  plim_schedule_free(&order);
  return a.done;
}

Test(anneal, a_annealing_whose_deadline_was_over_before_it_began_makes_no_move) {
  planner_case c = planner_case_random(test_seed(4), 20);
  cr_assert_eq(moves_until(&c, 5000, INT64_MAX), 5000);
  cr_assert_eq(moves_until(&c, 5000, plim_now_ns() - 1000000), 0);
  planner_case_free(&c);
}

/* The cost of program order, whose peak is `excess` bytes above the limit. */
static double cost_of(const planner_case *c, double weight, int64_t excess) {
  plim_track *track = NULL;
  plim_schedule order = {.ctx = c->ctx};
  cr_assert_eq(plim_schedule_program_order(c->problem, &order), PLIM_OK);
  cr_assert_eq(plim_track_new(c->problem, c->problem->n_ops + 64, &track), PLIM_OK);
  plim_track_load(track, &order);
  plim_anneal a = {.mover = {.track = track, .random = {1}, .limit = plim_track_peak(track) - excess},
                   .weight = weight,
                   .time_weight = 1,
                   .share = {[PLIM_MOVE_FIRST] = 1},
                   .on_fit = ignore,
                   .faster_than_ns = INT64_MAX};
  cr_assert_eq(plim_anneal_run(&a), PLIM_OK);
  plim_track_free(track);
  plim_schedule_free(&order);
  return a.cost;
}

Test(anneal, bytes_above_the_limit_cost_in_proportion_to_their_weight) {
  planner_case c = planner_case_random(4, 20);
  const double within = cost_of(&c, 1, 0), light = cost_of(&c, 1, 1000), heavy = cost_of(&c, 3, 1000);
  cr_assert_eq(cost_of(&c, 3, 0), within);
  cr_assert_eq(cost_of(&c, 0, 1000), within);
  cr_assert_gt(light, within);
  cr_assert_lt(fabs((heavy - within) - 3 * (light - within)), 1e-9 * heavy);
  cr_assert_gt(cost_of(&c, 1, 2000), light);
  planner_case_free(&c);
}

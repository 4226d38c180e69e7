/* planner/search/greedy_covering.c and greedy_covering_run.c: what a walk leaves is valid whatever the rate, and random
 * layers come within budgets that are deep for them. */
#include "planner/search/search_internal.h"
#include "planner/search/searches.h"

#include <criterion/criterion.h>
#include <string.h>

#include "planner/core/incumbent.h"
#include "runtime/import/generate.h"
#include "tests/support/dag_cases.h"
#include "tests/support/failing_memory.h"
#include "tests/support/planner_case.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

/* `packed` 1: bytes are rounded and need addresses. */
static planner_case layers_packed(plim_context *ctx, int32_t n, uint64_t seed, int32_t percent, int32_t packed) {
  plim_generate_options generate = plim_generate_options_default("layered");
  plim_plan_options options = plim_plan_options_default();
  plim_graph *graph = NULL;
  generate.n = n;
  generate.seed = seed;
  generate.packed = packed;
  options.unpacked = !packed;
  cr_assert_eq(plim_graph_generate(ctx, &generate, &graph), PLIM_OK);
  planner_case c = planner_case_make(ctx, graph, NULL, &options);
  plim_schedule order = {.ctx = ctx};
  plim_timeline *timeline = NULL;
  cr_assert_eq(plim_timeline_new(c.problem, &timeline), PLIM_OK);
  cr_assert_eq(plim_schedule_program_order(c.problem, &order), PLIM_OK);
  cr_assert_eq(plim_timeline_evaluate(timeline, &order), PLIM_OK);
  c.options.budget_bytes = timeline->peak_bytes / 100 * percent;
  plim_timeline_free(timeline);
  plim_schedule_free(&order);
  return c;
}

static planner_case layers(plim_context *ctx, int32_t n, uint64_t seed, int32_t percent) {
  return layers_packed(ctx, n, seed, percent, 0);
}

static plim_context *new_context(void) {
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  return ctx;
}

/* Time of the best after so many rounds from program order; *schedule is what came out. */
static int64_t covering(const planner_case *c, int32_t rounds, plim_schedule *schedule) {
  plim_incumbent *inc = NULL;
  cr_assert_eq(plim_incumbent_begin(c->problem, &c->options, &inc), PLIM_OK);
  cr_assert_eq(plim_schedule_program_order(c->problem, schedule), PLIM_OK);
  plim_status status = plim_greedy_covering_run(inc, inc->task.budget_bytes, rounds, INT64_MAX, schedule);
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(c->ctx));
  const plim_timeline *timeline = NULL;
  cr_assert_eq(plim_incumbent_evaluate(inc, schedule, &timeline), PLIM_OK);
  cr_assert(inc->has_best, "the peak is %lld bytes, the limit %lld", (long long)timeline->peak_bytes,
            (long long)inc->task.budget_bytes);
  cr_assert_leq(timeline->peak_bytes, inc->task.budget_bytes);
  cr_assert_eq(timeline->time_ns, inc->best_ns);
  int64_t time_ns = inc->best_ns;
  plim_incumbent_end(inc);
  return time_ns;
}

Test(greedy_covering, every_walk_leaves_a_valid_schedule_with_the_figures_of_the_timeline) {
  int64_t changes = 0;
  for (uint64_t seed = test_seed(1), end = seed + 200; test_seed_at(seed) < end; seed++) {
    planner_case c = planner_case_random(seed, -1);
    uint64_t random = seed;
    plim_schedule schedule = {.ctx = c.ctx};
    plim_timeline *timeline = NULL;
    plim_track *track = NULL;
    plim_greedy_covering *covering = NULL;
    cr_assert_eq(plim_timeline_new(c.problem, &timeline), PLIM_OK);
    cr_assert_eq(plim_track_new(c.problem, 12 * c.problem->n_ops + 400, &track), PLIM_OK);
    cr_assert_eq(plim_schedule_program_order(c.problem, &schedule), PLIM_OK);
    plim_track_load(track, &schedule);
    cr_assert_eq(plim_greedy_covering_new(track, plim_track_peak(track) / 10 * 7, &covering), PLIM_OK);
    covering->random = (plim_random){seed};
    for (int walk = 0; walk < 30; walk++) {
      covering->rate =
          (double)test_random_between(&random, 1, 1 << 20) / (double)(1 << test_random_between(&random, 0, 20));
      covering->keep_share = (double)test_random_between(&random, 0, 2) / 2;
      covering->noise = covering->keep_share / 2;
      plim_greedy_covering_walk(covering);
      changes += covering->changes;
      cr_assert_eq(plim_track_store(track, &schedule), PLIM_OK);
      plim_status status = plim_timeline_evaluate(timeline, &schedule);
      cr_assert_eq(status, PLIM_OK, "seed %llu: %s", (unsigned long long)seed, plim_context_error(c.ctx));
      cr_assert_eq(timeline->peak_bytes, plim_track_peak(track), "seed %llu", (unsigned long long)seed);
      cr_assert_eq(timeline->time_ns, track->time_ns, "seed %llu", (unsigned long long)seed);
    }
    plim_greedy_covering_free(covering);
    plim_track_free(track);
    plim_timeline_free(timeline);
    plim_schedule_free(&schedule);
    planner_case_free(&c);
  }
  cr_assert_gt(changes, 2000);
}

Test(greedy_covering, a_thousand_random_ops_in_layers_fit_in_70_percent_after_one_round) {
  for (uint64_t seed = test_seed(1), end = seed + 3; test_seed_at(seed) < end; seed++) {
    planner_case c = layers(new_context(), 1000, seed, 70);
    plim_schedule schedule = {.ctx = c.ctx};
    int64_t keep = c.problem->keep_all_ns;
    cr_assert_lt(covering(&c, 1, &schedule), keep + keep / 2, "seed %llu", (unsigned long long)seed);
    plim_schedule_free(&schedule);
    planner_case_free(&c);
  }
}

/* What is left above a deep limit when the bulk is covered is not paid for at ever worse rates: those ran away, and the
 * rounds found a plan that was a third slower, or none. */
Test(greedy_covering, rounds_come_down_to_a_deep_budget_by_aiming_below_it) {
  planner_case c = layers(new_context(), 2000, 2, 70);
  plim_schedule schedule = {.ctx = c.ctx};
  int64_t keep = c.problem->keep_all_ns;
  cr_assert_lt(covering(&c, 3, &schedule), keep + keep / 4);
  plim_schedule_free(&schedule);
  planner_case_free(&c);
}

Test(greedy_covering, later_rounds_are_never_slower_and_usually_faster) {
  for (uint64_t seed = test_seed(1), end = seed + 3; test_seed_at(seed) < end; seed++) {
    planner_case c = layers(new_context(), 600, seed, 75);
    plim_schedule schedule = {.ctx = c.ctx};
    int64_t one = covering(&c, 1, &schedule), six = covering(&c, 6, &schedule);
    cr_assert_lt(six, one, "seed %llu", (unsigned long long)seed);
    cr_assert_eq(covering(&c, 6, &schedule), six, "not deterministic");
    plim_schedule_free(&schedule);
    planner_case_free(&c);
  }
}

Test(greedy_covering, where_addresses_need_more_than_the_peak_the_limit_follows) {
  for (uint64_t seed = test_seed(1), end = seed + 3; test_seed_at(seed) < end; seed++) {
    planner_case c = layers_packed(new_context(), 300, seed, 80, 1);
    plim_incumbent *inc = NULL;
    plim_schedule schedule = {.ctx = c.ctx};
    cr_assert_eq(plim_incumbent_begin(c.problem, &c.options, &inc), PLIM_OK);
    cr_assert_eq(plim_schedule_program_order(c.problem, &schedule), PLIM_OK);
    cr_assert_eq(plim_greedy_covering_run(inc, inc->task.budget_bytes, 8, INT64_MAX, &schedule), PLIM_OK);
    cr_assert(inc->has_best, "seed %llu: %lld bytes", (unsigned long long)seed, (long long)inc->least_bytes);
    cr_assert_leq(inc->best_bytes, inc->task.budget_bytes);
    plim_incumbent_end(inc);
    plim_schedule_free(&schedule);
    planner_case_free(&c);
  }
}

static void count_walk(void *user, const plim_progress *progress) {
  *(int *)user += strcmp(progress->stage, "cover") == 0;
}

/* Where a goal cannot be met repeats of repeats take all the room there is; from then on walks change nothing. */
Test(greedy_covering, round_that_has_used_up_its_room_ends) {
  plim_context *ctx = new_context();
  planner_case c = layers(ctx, 300, 1, 20);
  plim_incumbent *inc = NULL;
  plim_schedule schedule = {.ctx = ctx};
  int walks = 0;
  plim_context_set_progress(ctx, count_walk, &walks);
  cr_assert_eq(plim_incumbent_begin(c.problem, &c.options, &inc), PLIM_OK);
  cr_assert_eq(plim_schedule_program_order(c.problem, &schedule), PLIM_OK);
  cr_assert_eq(plim_greedy_covering_run(inc, inc->task.budget_bytes, 1, INT64_MAX, &schedule), PLIM_OK);
  cr_assert_not(inc->has_best);
  cr_assert_gt(walks, 10);
  cr_assert_lt(walks, 50, "%d walks", walks);
  plim_incumbent_end(inc);
  plim_schedule_free(&schedule);
  planner_case_free(&c);
}

Test(greedy_covering, repeats_that_gain_nothing_go_when_they_are_not_held) {
  plim_context *ctx = new_context();
  planner_case c = layers(ctx, 60, 5, 100);
  plim_schedule schedule = {.ctx = ctx};
  plim_track *track = NULL;
  plim_greedy_covering *covering = NULL;
  uint64_t random = test_seed(7);
  cr_assert_eq(plim_schedule_program_order(c.problem, &schedule), PLIM_OK);
  cr_assert_eq(plim_track_new(c.problem, 600, &track), PLIM_OK);
  plim_track_load(track, &schedule);
  for (int i = 0; i < 40; i++) {
    int32_t op = (int32_t)test_random_between(&random, 0, 59), next = track->alive[i];
    if (plim_track_may_repeat(track, op, next)) (void)plim_track_insert(track, op, 0, next);
    plim_track_keep(track);
  }
  plim_track_settle(track);
  cr_assert_gt(track->n_repeats, 10);
  cr_assert_eq(plim_greedy_covering_new(track, INT64_MAX / 4, &covering), PLIM_OK);
  covering->rate = covering->keep_share = 1;
  plim_greedy_covering_walk(covering);
  cr_assert_eq(track->n_repeats, 0);
  plim_greedy_covering_free(covering);
  plim_track_free(track);
  plim_schedule_free(&schedule);
  planner_case_free(&c);
}

static plim_status covering_once(plim_context *ctx, void *user) {
  const planner_case *c = user;
  plim_problem *problem = NULL;
  plim_incumbent *inc = NULL;
  plim_schedule schedule = {.ctx = ctx};
  plim_status status = plim_problem_make(ctx, c->graph, c->profile, &c->options, PLIM_CLASS_FREE, &problem);
  if (status == PLIM_OK) status = plim_incumbent_begin(problem, &c->options, &inc);
  if (status == PLIM_OK) status = plim_schedule_program_order(problem, &schedule);
  if (status == PLIM_OK) status = plim_greedy_covering_run(inc, inc->task.budget_bytes, 2, INT64_MAX, &schedule);
  plim_schedule_free(&schedule);
  plim_incumbent_end(inc);
  plim_problem_free(problem);
  return status;
}

Test(greedy_covering, any_allocation_may_fail) {
  planner_case c = layers(new_context(), 40, 2, 80);
  cr_assert_gt(plim_test_each_allocation(covering_once, &c), 20);
  planner_case_free(&c);
}

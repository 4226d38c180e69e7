/* Lives of a plan for packers: the same bytes at every step, copies written over each other as one, names that a row
 * can hold. */
#include "planner/pack/plan_lives.h"

#include <criterion/criterion.h>
#include <string.h>

#include "planner/planner.h"
#include "tests/support/failing_memory.h"
#include "tests/support/planner_case.h"

static int64_t bytes_at(const plim_lives *lives, int64_t step) {
  int64_t sum = 0;
  for (int32_t i = 0; i < lives->n; i++) {
    if (lives->box[i].begin <= step && step < lives->box[i].end) sum += lives->box[i].bytes;
  }
  return sum;
}

Test(plan_lives, hold_the_bytes_of_the_plan_at_every_step_and_join_what_is_written_over) {
  int joined = 0;
  for (uint64_t seed = 1; seed <= 30; seed++) {
    planner_case c = planner_case_random(seed, -1);
    plim_plan_options options = plim_plan_options_default();
    plim_plan *plan;
    plim_lives *lives;
    cr_assert_eq(plim_plan_keep_all(c.ctx, c.graph, c.profile, &options, &plan), PLIM_OK);
    cr_assert_eq(plim_lives_of_plan(c.ctx, c.graph, plan, &lives), PLIM_OK, "%s", plim_context_error(c.ctx));
    int32_t pairs = 0;
    for (int32_t j = 0; j < plan->n_steps; j++) {
      int64_t sum = 0;
      for (int32_t i = 0; i < plan->n_lives; i++) {
        if (plan->life[i].begin <= j && j < plan->life[i].end) sum += plan->life[i].bytes;
      }
      cr_assert_eq(bytes_at(lives, j), sum, "seed %llu, step %d", (unsigned long long)seed, j);
      pairs += plan->step[j].n_pairs;
    }
    cr_assert_leq(lives->n, plan->n_lives);
    cr_assert_geq(lives->n, plan->n_lives - pairs);
    joined += plan->n_lives - lives->n;
    for (int32_t i = 0; i < lives->n; i++) cr_assert_eq(lives->box[i].fixed, -1);
    plim_lives_free(lives);
    plim_plan_free(plan);
    planner_case_free(&c);
  }
  cr_assert_gt(joined, 10, "%d", joined);
}

typedef struct small_case {
  plim_graph *graph;
  plim_plan *plan;
} small_case;

static plim_status collect(plim_context *ctx, void *user) {
  const small_case *c = user;
  plim_lives *lives;
  PLIM_TRY(plim_lives_of_plan(ctx, c->graph, c->plan, &lives));
  plim_lives_free(lives);
  return PLIM_OK;
}

Test(plan_lives, a_refused_allocation_leaves_nothing_behind_and_another_graph_is_refused) {
  planner_case c = planner_case_random(2, 6), other = planner_case_random(4, 8);
  plim_plan_options options = plim_plan_options_default();
  small_case small = {c.graph, NULL};
  plim_lives *lives = NULL;
  cr_assert_eq(plim_plan_keep_all(c.ctx, c.graph, c.profile, &options, &small.plan), PLIM_OK);
  cr_assert_geq(plim_test_each_allocation(collect, &small), 8);
  cr_assert_eq(plim_lives_of_plan(c.ctx, other.graph, small.plan, &lives), PLIM_EDATA);
  cr_assert_null(lives);
  plim_plan_free(small.plan);
  planner_case_free(&c);
  planner_case_free(&other);
}

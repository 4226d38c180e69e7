/* planner/front/front.c: nondominated points against a list searched by hand, merging, giving up points, tries and
 * bounds. */
#include "planner/front/front.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/support/failing_memory.h"
#include "tests/support/small_graph.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { POINTS = 300 };

/* A point whose one step and offset tell which it is. */
typedef struct sample {
  int64_t bytes, time_ns, offset;
  int32_t op, choice;
} sample;

static plim_front_point point_of(const sample *s) {
  return (plim_front_point){.bytes = s->bytes,
                            .time_ns = s->time_ns,
                            .n_commands = 1,
                            .n_offsets = 1,
                            .op = &s->op,
                            .choice = &s->choice,
                            .offset = &s->offset};
}

static void insert(plim_front *front, const sample *s) {
  plim_front_point point = point_of(s);
  cr_assert_eq(plim_front_insert(front, &point, NULL), PLIM_OK);
}

static void check_sorted(const plim_front *front) {
  for (int32_t i = 1; i < front->n; i++) {
    cr_assert_gt(front->point[i].bytes, front->point[i - 1].bytes);
    cr_assert_lt(front->point[i].time_ns, front->point[i - 1].time_ns);
  }
}

static int64_t fastest_within(const sample *s, int32_t n, int64_t budget) {
  int64_t best = INT64_MAX;
  for (int32_t i = 0; i < n; i++) {
    if (s[i].bytes <= budget && s[i].time_ns < best) best = s[i].time_ns;
  }
  return best;
}

static sample draw(uint64_t *random, int32_t i) {
  return (sample){.bytes = (int64_t)(test_random(random) % 200),
                  .time_ns = (int64_t)(test_random(random) % 200),
                  .offset = 1000 + i,
                  .op = i,
                  .choice = 2 * i};
}

Test(plan_front, finds_the_fastest_point_within_every_budget) {
  plim_context *ctx = plim_test_context();
  for (uint64_t seed = test_seed(1), end = seed + 30; test_seed_at(seed) < end; seed++) {
    plim_front front = {.ctx = ctx};
    uint64_t random = seed;
    static sample s[POINTS];
    for (int32_t i = 0; i < POINTS; i++) {
      s[i] = draw(&random, i);
      insert(&front, &s[i]);
      check_sorted(&front);
    }
    for (int64_t budget = -1; budget <= 200; budget++) {
      const plim_front_point *found = plim_front_find(&front, budget);
      int64_t expected = fastest_within(s, POINTS, budget);
      cr_assert_eq(found ? found->time_ns : INT64_MAX, expected, "seed %d budget %d", (int)seed, (int)budget);
      if (!found) continue;
      const sample *from = &s[found->op[0]];
      cr_assert_eq(found->bytes, from->bytes);
      cr_assert_eq(found->choice[0], from->choice);
      cr_assert_eq(found->offset[0], from->offset);
    }
    cr_assert_eq(plim_front_smallest(&front), &front.point[0]);
    plim_front_free(&front);
  }
  cr_assert_eq(plim_context_memory(ctx).bytes, 0);
  plim_context_free(ctx);
}

Test(plan_front, order_of_insertion_and_merging_change_nothing) {
  plim_context *ctx = plim_test_context();
  plim_front forward = {.ctx = ctx}, backward = {.ctx = ctx}, odd = {.ctx = ctx};
  uint64_t random = test_seed(9);
  static sample s[POINTS];
  for (int32_t i = 0; i < POINTS; i++) s[i] = draw(&random, i);
  for (int32_t i = 0; i < POINTS; i++) insert(i % 2 ? &odd : &forward, &s[i]);
  for (int32_t i = POINTS - 1; i >= 0; i--) insert(&backward, &s[i]);
  cr_assert_eq(plim_front_merge(&forward, &odd), PLIM_OK);
  cr_assert_eq(forward.n, backward.n);
  for (int32_t i = 0; i < forward.n; i++) {
    cr_assert_eq(forward.point[i].bytes, backward.point[i].bytes);
    cr_assert_eq(forward.point[i].time_ns, backward.point[i].time_ns);
  }
  plim_front_free(&forward);
  plim_front_free(&backward);
  plim_front_free(&odd);
  plim_context_free(ctx);
}

Test(plan_front, a_curve_that_is_too_heavy_keeps_both_ends) {
  plim_context *ctx = plim_test_context();
  plim_front front = {.ctx = ctx};
  enum { STEPS = 100000, MANY = 50 };
  int32_t *op = calloc(STEPS, sizeof *op);
  for (int32_t i = 0; i < MANY; i++) {
    plim_front_point point = {
        .bytes = i, .time_ns = (int64_t)MANY * MANY - (int64_t)i * i, .n_commands = STEPS, .op = op, .choice = op};
    cr_assert_eq(plim_front_insert(&front, &point, NULL), PLIM_OK);
  }
  cr_assert_leq(front.weight, PLIM_FRONT_WEIGHT);
  cr_assert_eq(front.n, PLIM_FRONT_WEIGHT / STEPS);
  cr_assert_eq(front.point[0].bytes, 0);
  cr_assert_eq(front.point[front.n - 1].bytes, MANY - 1);
  check_sorted(&front);
  free(op);
  plim_front_free(&front);
  plim_context_free(ctx);
}

Test(plan_front, a_bound_holds_for_smaller_budgets_and_a_try_for_equal_effort) {
  plim_context *ctx = plim_test_context();
  plim_front front = {.ctx = ctx};
  plim_front_try a = {.budget_bytes = 100, .iterations = 5, .bound_ns = 70, .seed = 1, .threads = 1}, b = a;
  b.budget_bytes = 200;
  b.bound_ns = 60;
  cr_assert_eq(plim_front_note(&front, &a), PLIM_OK);
  cr_assert_eq(plim_front_note(&front, &b), PLIM_OK);
  cr_assert_eq(plim_front_bound(&front, 100), 70);
  cr_assert_eq(plim_front_bound(&front, 101), 60);
  cr_assert_eq(plim_front_bound(&front, 201), 0);
  cr_assert(plim_front_tried(&front, &a));
  a.bound_ns = 75;
  cr_assert_eq(plim_front_note(&front, &a), PLIM_OK);
  cr_assert_eq(plim_front_bound(&front, 50), 75);
  cr_assert_eq(front.n_tries, 2);
  a.seed = 2;
  cr_assert_not(plim_front_tried(&front, &a));
  for (int32_t i = 0; i < 2 * PLIM_FRONT_TRIES; i++) {
    a.budget_bytes = i;
    cr_assert_eq(plim_front_note(&front, &a), PLIM_OK);
  }
  cr_assert_eq(front.n_tries, PLIM_FRONT_TRIES);
  plim_front_free(&front);
  plim_context_free(ctx);
}

static plim_status insert_some(plim_context *ctx, void *user) {
  plim_front front = {.ctx = ctx};
  plim_status status = PLIM_OK;
  uint64_t random = *(uint64_t *)user;
  for (int32_t i = 0; i < 20 && status == PLIM_OK; i++) {
    sample s = draw(&random, i);
    plim_front_point point = point_of(&s);
    status = plim_front_insert(&front, &point, NULL);
    check_sorted(&front);
  }
  plim_front_free(&front);
  return status;
}

Test(plan_front, refused_allocation_leaves_the_curve_as_it_was) {
  uint64_t seed = test_seed(3);
  cr_assert_gt(plim_test_each_allocation(insert_some, &seed), 0);
}

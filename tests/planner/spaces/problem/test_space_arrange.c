/* planner/spaces/problem/space_arrange.c: the totals of an arranged sequence are those of its plan. */
#include "planner/spaces/problem/space_sequence.h"

#include <criterion/criterion.h>

#include "tests/support/space_draws.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"
#include "tools/plimsoll-bench/joint_case.h"

enum { SEQUENCES = 6 };

typedef struct arranged_case {
  joint_case c;
  plim_space_problem *problem;
  plim_random random; /* of coverings */
  uint64_t draws;
} arranged_case;

/* 1: there was a sequence that fits, and its totals are those of its plan. */
static int expect_totals(arranged_case *a, int spread, uint64_t seed) {
  plim_context *ctx = a->problem->ctx;
  const plim_space_plan draft = {.planner = "test", .deadline_ns = INT64_MAX};
  plim_space_events events = {.ctx = ctx};
  plim_space_sequence s;
  plim_space_plan *plan = NULL;
  plim_space_totals t;
  cr_assert_eq(plim_space_sequence_init(&s, a->problem), PLIM_OK);
  int fits = space_draw_sequence(a->c.budget, &a->draws, &a->random, &s);
  if (fits) {
    cr_assert_eq(plim_space_arrange(&s, a->c.budget, spread, &t, &events), PLIM_OK);
    cr_assert_eq(plim_space_lower(a->problem, &events, &draft, a->c.budget, 0, &plan), PLIM_OK, "%s",
                 plim_context_error(ctx));
    cr_expect_eq(t.makespan_ns, plan->makespan_ns, "seed %llu: %lld ns, the plan takes %lld", (unsigned long long)seed,
                 (long long)t.makespan_ns, (long long)plan->makespan_ns);
    cr_expect_eq(t.serial_ns, plan->serial_ns, "seed %llu", (unsigned long long)seed);
    cr_expect_eq(t.energy_joule, plan->energy_joule, "seed %llu", (unsigned long long)seed);
    for (int32_t space = 0; space < plan->n_spaces; space++) {
      cr_expect_leq(plan->space[space].peak_bytes, a->c.budget[space]);
    }
  }
  plim_space_plan_free(plan);
  plim_space_events_free(&events);
  plim_space_sequence_free(&s);
  return fits;
}

Test(space_arrange, totals_without_a_plan_are_those_of_the_plan) {
  plim_context *ctx = plim_test_context();
  int sequences = 0;
  for (uint64_t seed = test_seed(1), end = seed + 200; test_seed_at(seed) < end; seed++) {
    arranged_case a = {.random = {seed}, .draws = seed};
    space_draw_case(ctx, seed, &a.draws, &a.c, &a.problem);
    for (int i = 0; i < SEQUENCES; i++) sequences += expect_totals(&a, i % 2, seed);
    plim_space_problem_free(a.problem);
    joint_case_free(&a.c);
  }
  cr_expect_gt(sequences, 400, "%d sequences", sequences);
  plim_test_context_end(ctx);
}

/* planner/spaces/problem/space_arrange.c: the totals of an arranged sequence are those of its plan. */
#include "planner/spaces/problem/space_sequence.h"

#include <criterion/criterion.h>

#include "planner/spaces/search/space_search_internal.h"
#include "tests/support/test_context.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"
#include "tools/plimsoll-bench/joint_case.h"

enum { SEQUENCES = 6 };

typedef struct arranged_case {
  joint_case c;
  plim_space_problem *problem;
  plim_random random; /* of coverings */
  uint64_t draws;
} arranged_case;

/* Program order on drawn devices, repaired and covered with drawn weights. 0: it does not fit. */
static int draw_sequence(arranged_case *a, plim_space_sequence *s) {
  static const uint8_t taken[] = {1, 1};
  static const double copies[] = {0.02, 0.2, 1};
  const plim_space_rules rules = {.budget = a->c.budget,
                                  .link_taken = taken,
                                  .recompute = test_random_chance(&a->draws, 70),
                                  .devices = a->problem->platform->n_devices};
  plim_space_weights w = {.run_ns = 1,
                          .copy_ns = copies[test_random_between(&a->draws, 0, 2)],
                          .by_bytes = 1,
                          .by_time = 1,
                          .noise = 1,
                          .hidden_share = (double)test_random_between(&a->draws, 0, 1)};
  int32_t fits = 0, device = 0;
  cr_assert_eq(plim_space_sequence_reserve(s, a->problem->n), PLIM_OK);
  s->n = a->problem->n;
  for (int32_t i = 0; i < s->n; i++) {
    if (test_random_chance(&a->draws, 30)) device = (int32_t)test_random_between(&a->draws, 0, rules.devices - 1);
    s->event[i] = (plim_space_event){PLIM_SPACE_RUN, i, device};
  }
  cr_assert_eq(plim_space_repair(s, &rules, &w, &fits), PLIM_OK);
  if (fits) cr_assert_eq(plim_space_cover(s, &rules, &w, &a->random, &fits), PLIM_OK);
  return fits;
}

/* 1: there was a sequence that fits, and its totals are those of its plan. */
static int expect_totals(arranged_case *a, int spread, uint64_t seed) {
  plim_context *ctx = a->problem->ctx;
  const plim_space_plan draft = {.planner = "test", .deadline_ns = INT64_MAX};
  plim_space_events events = {.ctx = ctx};
  plim_space_sequence s;
  plim_space_plan *plan = NULL;
  plim_space_totals t;
  cr_assert_eq(plim_space_sequence_init(&s, a->problem), PLIM_OK);
  int fits = draw_sequence(a, &s);
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
    cr_assert_eq(joint_case_make(ctx, seed, JOINT_OPS, &a.c), PLIM_OK, "%s", plim_context_error(ctx));
    for (int32_t i = 0; i < a.c.graph->n_ops && seed % 3 == 0; i++) {
      a.c.graph->costs->workspace[i] = test_random_between(&a.draws, 0, 2000000);
    }
    for (int32_t d = 0; d < a.c.platform->n_devices; d++) {
      a.c.platform->device[d].flop_per_joule = 1e9;
      a.c.platform->device[d].idle_watt = (double)test_random_between(&a.draws, 0, 2);
    }
    for (int32_t l = 0; l < a.c.platform->n_links; l++) a.c.platform->link[l].duplex = seed % 4 < 2;
    cr_assert_eq(plim_space_problem_make(a.c.graph, a.c.platform, 1, &a.problem), PLIM_OK, "%s",
                 plim_context_error(ctx));
    for (int i = 0; i < SEQUENCES; i++) sequences += expect_totals(&a, i % 2, seed);
    plim_space_problem_free(a.problem);
    joint_case_free(&a.c);
  }
  cr_expect_gt(sequences, 400, "%d sequences", sequences);
  plim_test_context_end(ctx);
}

/* planner/spaces/search/space_worth.c: the bound that saves a simulation decides as the simulation does. */
#include <criterion/criterion.h>
#include <math.h>

#include "planner/spaces/search/space_search_internal.h"
#include "tests/support/space_draws.h"
#include "tests/support/test_context.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { SEQUENCES = 6, LIMITS = 8, LOADS = 4 /* devices and links of a joint case */ };

/* The worth of an analysed sequence, without a limit and with drawn ones. Returns how many the bound decided. */
static int expect_same_decisions(plim_space_search_state *search, const plim_space_sequence *s, uint64_t *draws) {
  plim_space_worth whole, found;
  int bounded = 0;
  cr_assert_eq(plim_space_weigh(search, s, NULL, &whole), PLIM_OK);
  for (int i = 0; i < LIMITS; i++) {
    const plim_space_worth limit = {whole.late * (double)test_random_between(draws, 0, 2),
                                    whole.value * (double)test_random_between(draws, 60, 110) / 100};
    cr_assert_eq(plim_space_weigh(search, s, &limit, &found), PLIM_OK);
    cr_expect(!plim_space_worth_is_better(whole, found), "%.9g, %.9g late: the bound is %.9g, %.9g", whole.value,
              whole.late, found.value, found.late);
    if (plim_space_worth_is_better(whole, limit)) {
      cr_expect(found.value == whole.value && found.late == whole.late, "%.9g for %.9g", found.value, whole.value);
    }
    bounded += found.value < whole.value;
    cr_expect(!plim_space_worth_is_better(found, limit) || plim_space_worth_is_better(whole, limit),
              "%.9g is above %.9g, and was taken", whole.value, limit.value);
  }
  return bounded;
}

static int expect_case(plim_context *ctx, uint64_t seed) {
  joint_case c;
  uint64_t draws = seed;
  plim_random random = {seed};
  int64_t busy_ns[LOADS];
  uint8_t taken[LOADS], places[LOADS];
  plim_space_problem *problem = NULL;
  int bounded = 0;
  space_draw_case(ctx, seed, &draws, &c, &problem);
  cr_assert_leq(problem->platform->n_devices + problem->platform->n_links, LOADS);
  plim_space_search_options options = {
      .objective = test_random_chance(&draws, 70) ? PLIM_OBJECTIVE_TIME : PLIM_OBJECTIVE_ENERGY,
      .page = 1,
      .recompute = 1,
      .place = 1,
      .budget = c.budget,
      .deadline_ns = test_random_chance(&draws, 50) ? problem->fastest_ns : INT64_MAX,
      .page_delay_share = (double)test_random_between(&draws, 0, 1) / 4};
  plim_space_search_state search = {.problem = problem,
                                    .options = &options,
                                    .link_taken = taken,
                                    .link_places = places,
                                    .busy_ns = busy_ns,
                                    .events = {.ctx = ctx}};
  plim_space_sequence s;
  plim_space_set_rules(&search);
  cr_assert_eq(plim_space_sequence_init(&s, problem), PLIM_OK);
  cr_assert_eq(plim_space_sequence_init(&search.arranged, problem), PLIM_OK);
  for (int i = 0; i < SEQUENCES; i++) {
    if (space_draw_sequence(c.budget, &draws, &random, &s)) bounded += expect_same_decisions(&search, &s, &draws);
  }
  plim_release(ctx, search.end_ns, search.end_capacity, sizeof *search.end_ns);
  plim_space_events_free(&search.events);
  plim_space_sequence_free(&search.arranged);
  plim_space_sequence_free(&s);
  plim_space_problem_free(problem);
  joint_case_free(&c);
  return bounded;
}

Test(space_worth, a_bound_decides_as_the_simulation_does) {
  plim_context *ctx = plim_test_context();
  int bounded = 0;
  for (uint64_t seed = test_seed(1), end = seed + 200; test_seed_at(seed) < end; seed++) {
    bounded += expect_case(ctx, seed);
  }
  cr_expect_gt(bounded, 200, "%d bounds", bounded);
  plim_test_context_end(ctx);
}

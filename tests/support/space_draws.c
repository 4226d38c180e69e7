#include "tests/support/space_draws.h"

#include <criterion/criterion.h>

#include "planner/spaces/search/space_search_internal.h"
#include "tests/support/test_random.h"

void space_draw_case(plim_context *ctx, uint64_t seed, uint64_t *draws, joint_case *c, plim_space_problem **problem) {
  cr_assert_eq(joint_case_make(ctx, seed, JOINT_OPS, c), PLIM_OK, "%s", plim_context_error(ctx));
  for (int32_t i = 0; i < c->graph->n_ops && seed % 3 == 0; i++) {
    c->graph->costs->workspace[i] = test_random_between(draws, 0, 2000000);
  }
  for (int32_t d = 0; d < c->platform->n_devices; d++) {
    c->platform->device[d].flop_per_joule = 1e9;
    c->platform->device[d].idle_watt = (double)test_random_between(draws, 0, 2);
  }
  for (int32_t l = 0; l < c->platform->n_links; l++) c->platform->link[l].duplex = seed % 4 < 2;
  cr_assert_eq(plim_space_problem_make(c->graph, c->platform, 1, problem), PLIM_OK, "%s", plim_context_error(ctx));
}

int space_draw_sequence(const int64_t *budget, uint64_t *draws, plim_random *random, plim_space_sequence *s) {
  static const uint8_t taken[] = {1, 1};
  static const double copies[] = {0.02, 0.2, 1};
  const plim_space_rules rules = {.budget = budget,
                                  .link_taken = taken,
                                  .recompute = test_random_chance(draws, 70),
                                  .devices = s->problem->platform->n_devices};
  plim_space_weights w = {.run_ns = 1,
                          .copy_ns = copies[test_random_between(draws, 0, 2)],
                          .by_bytes = 1,
                          .by_time = 1,
                          .noise = 1,
                          .hidden_share = (double)test_random_between(draws, 0, 1)};
  int32_t fits = 0, device = 0;
  cr_assert_eq(plim_space_sequence_reserve(s, s->problem->n), PLIM_OK);
  s->n = s->problem->n;
  for (int32_t i = 0; i < s->n; i++) {
    if (test_random_chance(draws, 30)) device = (int32_t)test_random_between(draws, 0, rules.devices - 1);
    s->event[i] = (plim_space_event){PLIM_SPACE_RUN, i, device};
  }
  cr_assert_eq(plim_space_repair(s, &rules, &w, &fits), PLIM_OK);
  if (fits) cr_assert_eq(plim_space_cover(s, &rules, &w, random, &fits), PLIM_OK);
  return fits;
}

/* planner/spaces/search/space_repair.c, space_cover.c: a sequence that is legal and fits comes back as it is. So a
 * search may leave out both where a move has changed nothing. */
#include <criterion/criterion.h>
#include <string.h>

#include "planner/spaces/search/space_search_internal.h"
#include "tests/support/space_draws.h"
#include "tests/support/test_context.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { SEQUENCES = 4 };

static int is_equal(const plim_space_sequence *a, const plim_space_sequence *b) {
  return a->n == b->n && memcmp(a->event, b->event, (size_t)a->n * sizeof *a->event) == 0;
}

/* `s` fits. */
static void expect_unchanged(plim_space_sequence *s, plim_space_sequence *next, const int64_t *budget,
                             uint64_t *draws) {
  static const uint8_t taken[] = {1, 1};
  const plim_space_rules rules = {
      .budget = budget, .link_taken = taken, .recompute = 1, .devices = s->problem->platform->n_devices};
  const plim_space_weights w = {.run_ns = 1,
                                .copy_ns = (double)test_random_between(draws, 1, 9) / 9,
                                .by_bytes = 1,
                                .by_time = 1,
                                .noise = 1,
                                .first = test_random_chance(draws, 50),
                                .stay = test_random_chance(draws, 50)};
  plim_random random = {7};
  const plim_random before = random;
  int32_t fits = 0;
  cr_assert_eq(plim_space_sequence_copy(next, s), PLIM_OK);
  cr_assert_eq(plim_space_repair(next, &rules, &w, &fits), PLIM_OK);
  cr_assert(fits && is_equal(next, s), "repair changes a legal sequence");
  cr_assert_eq(plim_space_cover(next, &rules, &w, &random, &fits), PLIM_OK);
  cr_assert(fits && is_equal(next, s), "covering changes a sequence that fits");
  cr_assert_eq(memcmp(&random, &before, sizeof random), 0, "covering draws where nothing is short");
  cr_assert_eq(plim_space_prune(s, &rules), PLIM_OK);
  cr_assert_eq(plim_space_sequence_copy_analysed(next, s), PLIM_OK);
  cr_assert_eq(plim_space_prune(next, &rules), PLIM_OK);
  cr_assert(is_equal(next, s), "pruning goes on where it ended");
}

Test(space_repair, what_is_legal_and_fits_comes_back_as_it_is) {
  plim_context *ctx = plim_test_context();
  int sequences = 0;
  for (uint64_t seed = test_seed(1), end = seed + 200; test_seed_at(seed) < end; seed++) {
    joint_case c;
    uint64_t draws = seed;
    plim_random random = {seed};
    plim_space_problem *problem = NULL;
    plim_space_sequence s, next;
    space_draw_case(ctx, seed, &draws, &c, &problem);
    cr_assert_eq(plim_space_sequence_init(&s, problem), PLIM_OK);
    cr_assert_eq(plim_space_sequence_init(&next, problem), PLIM_OK);
    for (int i = 0; i < SEQUENCES; i++) {
      if (!space_draw_sequence(c.budget, &draws, &random, &s)) continue;
      expect_unchanged(&s, &next, c.budget, &draws);
      sequences++;
    }
    plim_space_sequence_free(&next);
    plim_space_sequence_free(&s);
    plim_space_problem_free(problem);
    joint_case_free(&c);
  }
  cr_expect_gt(sequences, 300, "%d sequences", sequences);
  plim_test_context_end(ctx);
}

/* Conflicts: what is marked does not fit, and without any one of it the rest does. */
#include "planner/pack/conflict.h"

#include <criterion/criterion.h>

#include "planner/pack/solve.h"
#include "tests/support/failing_memory.h"
#include "tests/support/random.h"

enum { MOST = 12 };

static plim_context *ctx;
static void make_context(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
}
static void free_context(void) {
  cr_assert_eq(plim_context_memory(ctx).bytes, 0);
  plim_context_free(ctx);
}
TestSuite(conflict, .init = make_context, .fini = free_context);

/* Do the marked boxes but `without` fit? */
static int fits(const plim_boxes *boxes, const uint8_t *member, int32_t without, int64_t capacity) {
  plim_box box[MOST];
  int64_t align[MOST], offset[MOST];
  plim_solution found;
  plim_boxes some = {.align = 1, .box = box, .own_align = align};
  plim_solve_options options = {sizeof options, capacity, 0, 1};
  for (int32_t i = 0; i < boxes->n; i++) {
    if (!member[i] || i == without) continue;
    align[some.n] = boxes->own_align[i];
    box[some.n++] = boxes->box[i];
  }
  return plim_pack_solve(ctx, &some, &options, offset, &found) == PLIM_OK;
}

Test(conflict, is_irreducible_on_random_boxes) {
  int by_search = 0;
  for (uint64_t seed = 1; seed <= 150; seed++) {
    uint64_t r = seed;
    plim_box box[MOST];
    int64_t align[MOST], offset[MOST];
    uint8_t member[MOST];
    plim_conflict why;
    plim_solution lowest;
    plim_boxes boxes = {.n = (int32_t)test_random_between(&r, 6, MOST), .align = 1, .box = box, .own_align = align};
    for (int32_t i = 0; i < boxes.n; i++) {
      int64_t begin = test_random_between(&r, 0, 5);
      align[i] = test_random_chance(&r, 30) ? 4 : 1; /* holes, so that the load says little */
      box[i] = (plim_box){begin, begin + test_random_between(&r, 1, 3), test_random_between(&r, 3, 9), -1};
    }
    plim_solve_options options = {sizeof options, INT64_MAX, 0, 1};
    cr_assert_eq(plim_pack_solve(ctx, &boxes, &options, offset, &lowest), PLIM_OK);
    int64_t capacity = lowest.height - 1;
    cr_assert_eq(plim_boxes_conflict(ctx, &boxes, capacity, 1000000, member, &why), PLIM_OK);
    cr_assert(why.n > 0 && why.irreducible, "seed %llu", (unsigned long long)seed);
    cr_assert(!fits(&boxes, member, -1, capacity));
    for (int32_t i = 0; i < boxes.n; i++) {
      if (member[i]) cr_assert(fits(&boxes, member, i, capacity), "seed %llu: box %d", (unsigned long long)seed, i);
    }
    by_search += !why.at_once;
    cr_assert_eq(plim_boxes_conflict(ctx, &boxes, lowest.height, 1000000, member, &why), PLIM_OK);
    cr_assert_eq(why.n, 0);
  }
  cr_assert_gt(by_search, 3, "%d", by_search);
}

Test(conflict, nothing_is_claimed_when_the_nodes_are_spent) {
  static const plim_box box[] = {{4, 5, 3, -1}, {3, 5, 2, -1}, {0, 4, 1, -1}, {2, 3, 2, -1}, {1, 4, 2, -1}};
  plim_boxes boxes = {.n = 5, .align = 1, .box = box};
  uint8_t member[5];
  plim_conflict why;
  cr_assert_eq(plim_boxes_conflict(ctx, &boxes, 5, 0, member, &why), PLIM_OK);
  cr_assert(why.n == 0 && member[0] == 0);
}

static plim_status mark_some(plim_context *c, void *user) {
  static const plim_box box[] = {{4, 5, 3, -1}, {3, 5, 2, -1}, {0, 4, 1, -1}, {2, 3, 2, -1}, {1, 4, 1, -1}};
  plim_boxes boxes = {.n = 5, .align = 1, .box = box};
  uint8_t member[5];
  (void)user;
  plim_conflict why;
  return plim_boxes_conflict(c, &boxes, 5, 1000, member, &why);
}

Test(conflict, a_refused_allocation_leaves_nothing_behind) {
  cr_assert_geq(plim_test_each_allocation(mark_some, NULL), 10);
}

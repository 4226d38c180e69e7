/* planner/pack/niche_restart.c: what niche search keeps from restart to restart, which is where boxes lay at the
 * deepest node. */
#include <criterion/criterion.h>

#include "planner/pack/niche_internal.h"
#include "tests/support/test_context.h"

enum { BOXES = 3, PAIRS = 4, FIRST_NOISY = 100, USES_SAVED = 3 /* of four restarts, the last two */ };
static const plim_box box[BOXES] = {{0, 2, 4, -1}, {0, 1, 3, -1}, {1, 2, 2, -1}};
static const plim_box pair[PAIRS] = {{0, 2, 4, -1}, {0, 2, 2, -1}, {0, 1, 3, -1}, {1, 2, 3, -1}};

static plim_context *ctx;
static plim_units units;
static plim_niche *niche;

static void begin(int32_t n, const plim_box *of) {
  static plim_boxes boxes;
  boxes = (plim_boxes){.n = n, .align = 1, .box = of};
  ctx = plim_test_context();
  cr_assert_eq(plim_units_make(ctx, &boxes, &units), PLIM_OK);
  cr_assert_eq(plim_niche_new(&units, &niche), PLIM_OK);
  niche->capacity = 9;
}

static void end(void) {
  plim_niche_free(niche);
  plim_units_free(&units);
  plim_test_context_end(ctx);
}

/* A restart whose deepest node leaves the first n of the boxes unplaced. The others lie at 10 and more. */
static void restart_that_leaves(int32_t n) {
  const int64_t offset[BOXES] = {10 + n, 20 + n, 30 + n};
  (void)plim_niche_prepare(niche, 0);
  plim_niche_waiting_box items[BOXES];
  for (int32_t i = 0; i < n; i++) items[i] = (plim_niche_waiting_box){.box = (int16_t)i};
  const plim_niche_frame node = {.waiting = items, .n_waiting = n};
  plim_niche_keep(niche, &node, offset);
  plim_niche_save(niche);
}

Test(niche_restart, the_deepest_node_of_a_restart_is_saved_and_used_by_some_of_the_later_ones) {
  begin(BOXES, box);
  (void)plim_niche_prepare(niche, FIRST_NOISY + USES_SAVED);
  cr_assert_not(niche->best.use_saved);
  restart_that_leaves(1);
  cr_assert_eq(niche->best.saved[0], -1);
  cr_assert_eq(niche->best.saved[1], 21);
  cr_assert_eq(niche->best.saved[2], 31);
  int32_t used = 0;
  for (int32_t restart = 0; restart < 4; restart++) {
    (void)plim_niche_prepare(niche, FIRST_NOISY + restart);
    used += niche->best.use_saved;
  }
  cr_assert_eq(used, 2);
  (void)plim_niche_prepare(niche, 0);
  cr_assert_not(niche->best.use_saved);
  end();
}

Test(niche_restart, a_restart_that_leaves_more_open_is_saved_only_after_many_others) {
  begin(BOXES, box);
  restart_that_leaves(1);
  restart_that_leaves(2);
  cr_assert_eq(niche->best.saved[1], 21);
  for (int32_t i = 0; i < 100; i++) restart_that_leaves(2);
  cr_assert_eq(niche->best.saved[1], -1);
  cr_assert_eq(niche->best.saved[2], 32);
  restart_that_leaves(1);
  cr_assert_eq(niche->best.saved[1], 21);
  end();
}

/* The first two boxes may be stacked, of the others one may follow the other. A restart may do both, and then stack
 * what it has. */
Test(niche_restart, some_restarts_join_boxes_and_none_loses_one) {
  int32_t n_with[PAIRS + 1] = {0};
  begin(PAIRS, pair);
  for (int32_t restart = 0; restart < 200; restart++) {
    int64_t area = 0;
    (void)plim_niche_prepare(niche, restart);
    const int32_t n = niche->stack.frame[0].n_waiting;
    for (int32_t i = 0; i < n; i++) {
      const plim_niche_shape *whole = &niche->shape[niche->stack.frame[0].waiting[i].box];
      area += (int64_t)whole->size * (whole->last - whole->first);
    }
    cr_assert_eq(area, 2 * 9, "restart %d", (int)restart);
    n_with[n]++;
  }
  cr_assert_eq(n_with[0], 0);
  for (int32_t n = 1; n <= PAIRS; n++) cr_assert_gt(n_with[n], 0, "%d compounds", (int)n);
  end();
}

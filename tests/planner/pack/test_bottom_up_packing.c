/* planner/pack/bottom_up.c: the rules on random boxes, what it declines, and that it learns. */
#include "planner/pack/packers.h"

#include <criterion/criterion.h>

#include "tests/support/test_context.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { MOST = 120 };

static plim_context *ctx;

/* Short buffers of very different bytes, as recomputation makes them. */
static int32_t make_boxes(uint64_t *state, plim_box *box) {
  int32_t n = (int32_t)test_random_between(state, 1, MOST);
  for (int32_t b = 0; b < n; b++) {
    int64_t begin = test_random_between(state, 0, 60), bytes = test_random_between(state, 1, 30);
    box[b] = (plim_box){begin, begin + test_random_between(state, 1, 12), bytes * bytes, -1};
  }
  return n;
}

static void check(int32_t n, const plim_box *box, const int64_t *offset, int64_t packed_bytes) {
  int64_t top = 0;
  for (int32_t i = 0; i < n; i++) {
    cr_assert_geq(offset[i], 0);
    if (offset[i] + box[i].bytes > top) top = offset[i] + box[i].bytes;
    for (int32_t j = 0; j < i; j++) {
      int together = box[i].begin < box[j].end && box[j].begin < box[i].end;
      int apart = offset[i] + box[i].bytes <= offset[j] || offset[j] + box[j].bytes <= offset[i];
      cr_assert(!together || apart, "boxes %d and %d", i, j);
    }
  }
  cr_assert_eq(packed_bytes, top);
}

Test(bottom_up_packing, every_packing_keeps_the_rules_and_is_no_higher_or_given_up) {
  ctx = plim_test_context();
  for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) {
    uint64_t state = seed;
    plim_box box[MOST];
    int64_t offset[MOST], again[MOST];
    plim_boxes boxes = {.n = make_boxes(&state, box), .align = 1, .box = box};
    plim_units units;
    plim_bottom_up *first = NULL, *second = NULL;
    cr_assert_eq(plim_units_make(ctx, &boxes, &units), PLIM_OK);
    cr_assert(plim_bottom_up_can(&units));
    cr_assert_eq(plim_bottom_up_new(&units, &first), PLIM_OK);
    cr_assert_eq(plim_bottom_up_new(&units, &second), PLIM_OK);
    int64_t best = INT64_MAX - 1; /* the first run is finished */
    for (int run = 0; run < 20; run++) {
      if (run > 0) cr_assert_lt(best, INT64_MAX - 1);
      int64_t packed_bytes = plim_bottom_up_run(first, units.peak_units, offset);
      cr_assert_eq(plim_bottom_up_run(second, units.peak_units, again), packed_bytes, "seed %d", (int)seed);
      if (packed_bytes == INT64_MAX) continue;
      check(boxes.n, box, offset, packed_bytes);
      cr_assert_geq(packed_bytes, units.peak_units);
      cr_assert_leq(packed_bytes, best, "seed %d", (int)seed);
      best = packed_bytes;
      cr_assert_arr_eq(again, offset, (size_t)boxes.n * sizeof *offset);
    }
    plim_bottom_up_free(first);
    plim_bottom_up_free(second);
    plim_units_free(&units);
  }
  plim_test_context_end(ctx);
}

Test(bottom_up_packing, learning_lowers_what_the_first_priorities_found) {
  ctx = plim_test_context();
  enum { STARTS = 6, RUNS = 200 };
  int64_t before = 0, after = 0;
  for (uint64_t seed = test_seed(1), end = seed + 20; test_seed_at(seed) < end; seed++) {
    uint64_t state = seed;
    plim_box box[MOST];
    int64_t offset[MOST], best = INT64_MAX, start = 0;
    plim_boxes boxes = {.n = make_boxes(&state, box), .align = 1, .box = box};
    plim_units units;
    plim_bottom_up *bottom_up = NULL;
    cr_assert_eq(plim_units_make(ctx, &boxes, &units), PLIM_OK);
    cr_assert_eq(plim_bottom_up_new(&units, &bottom_up), PLIM_OK);
    for (int run = 0; run < RUNS; run++) {
      int64_t packed_bytes = plim_bottom_up_run(bottom_up, units.peak_units, offset);
      best = packed_bytes < best ? packed_bytes : best;
      if (run + 1 == STARTS) start = best;
    }
    cr_assert_leq(best, start);
    before += start - units.peak_units;
    after += best - units.peak_units;
    plim_bottom_up_free(bottom_up);
    plim_units_free(&units);
  }
  cr_assert_lt(3 * after, 2 * before, "%lld of %lld are left above the load", (long long)after, (long long)before);
  plim_test_context_end(ctx);
}

Test(bottom_up_packing, fixed_boxes_alignments_and_nothing_at_all_are_left_to_first_fit) {
  ctx = plim_test_context();
  const int64_t own_align[] = {1, 4};
  plim_box box[] = {{0, 2, 3, -1}, {1, 3, 3, 8}};
  plim_boxes boxes = {.n = 2, .align = 1, .box = box};
  plim_units units;
  cr_assert_eq(plim_units_make(ctx, &boxes, &units), PLIM_OK);
  cr_assert_not(plim_bottom_up_can(&units));
  plim_units_free(&units);
  box[1].fixed = -1;
  cr_assert_eq(plim_units_make(ctx, &boxes, &units), PLIM_OK);
  cr_assert(plim_bottom_up_can(&units));
  plim_units_free(&units);
  boxes.own_align = own_align;
  cr_assert_eq(plim_units_make(ctx, &boxes, &units), PLIM_OK);
  cr_assert_not(plim_bottom_up_can(&units));
  plim_units_free(&units);
  boxes = (plim_boxes){.n = 0, .align = 1, .box = box};
  cr_assert_eq(plim_units_make(ctx, &boxes, &units), PLIM_OK);
  cr_assert_not(plim_bottom_up_can(&units));
  plim_units_free(&units);
  plim_test_context_end(ctx);
}

Test(bottom_up_packing, many_boxes_keep_the_rules_and_change_near_what_sticks_out) {
  ctx = plim_test_context();
  enum { MANY = 1600, TRIES = 120 };
  static plim_box box[MANY];
  static int64_t offset[MANY];
  uint64_t state = test_seed(5);
  int64_t start = INT64_MAX, best = INT64_MAX;
  for (int32_t b = 0; b < MANY; b++) {
    int64_t begin = test_random_between(&state, 0, 400), bytes = test_random_between(&state, 1, 30);
    box[b] = (plim_box){begin, begin + test_random_between(&state, 1, 30), bytes * bytes, -1};
  }
  plim_boxes boxes = {.n = MANY, .align = 1, .box = box};
  plim_units units;
  plim_bottom_up *bottom_up = NULL;
  cr_assert_eq(plim_units_make(ctx, &boxes, &units), PLIM_OK);
  cr_assert(plim_bottom_up_can(&units));
  cr_assert_eq(plim_bottom_up_new(&units, &bottom_up), PLIM_OK);
  for (int run = 0; run < TRIES; run++) {
    int64_t packed_bytes = plim_bottom_up_run(bottom_up, units.peak_units, offset);
    if (packed_bytes == INT64_MAX) continue;
    check(MANY, box, offset, packed_bytes);
    best = packed_bytes < best ? packed_bytes : best;
    if (run < 6) start = best;
  }
  cr_assert_lt(best, start, "%lld, to begin with %lld, load %lld", (long long)best, (long long)start,
               (long long)units.peak_units);
  plim_bottom_up_free(bottom_up);
  plim_units_free(&units);
  plim_test_context_end(ctx);
}

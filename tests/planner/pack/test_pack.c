/* planner/pack/pack.c: golden cases, the rules on random boxes, and what more rounds and a target do. */
#include "planner/pack/pack.h"

#include <criterion/criterion.h>

#include "tests/support/failing_memory.h"
#include "tests/support/test_context.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { MOST = 300 };

static plim_context *ctx;

static int overlap(const plim_box *a, const plim_box *b) {
  return a->begin < b->end && b->begin < a->end;
}

/* Pack, check every rule by the O(n^2) form, and return the packed size. */
static int64_t pack(int32_t n, const plim_box *box, int64_t align, int64_t target, int32_t rounds,
                    int64_t *peak_bytes) {
  int64_t offset[MOST], packed_bytes = -1, top = 0, lower;
  const plim_boxes boxes = {.n = n, .align = align, .box = box};
  const plim_pack_goal goal = {.target_bytes = target, .rounds = rounds};
  cr_assert_eq(plim_pack(ctx, &boxes, goal, offset, &packed_bytes, &lower), PLIM_OK);
  for (int32_t i = 0; i < n; i++) {
    cr_assert(offset[i] >= 0 && offset[i] % align == 0);
    cr_assert(box[i].fixed < 0 || box[i].fixed == offset[i]);
    int64_t end = offset[i] + plim_align_up(box[i].bytes, align);
    if (end > top) top = end;
    for (int32_t j = 0; j < i; j++) {
      if (!overlap(&box[i], &box[j])) continue;
      cr_assert(offset[i] + box[i].bytes <= offset[j] || offset[j] + box[j].bytes <= offset[i], "boxes %d and %d", i,
                j);
    }
  }
  cr_assert_eq(packed_bytes, top);
  cr_assert_geq(packed_bytes, lower);
  if (peak_bytes) *peak_bytes = lower;
  return packed_bytes;
}

/* Largest sum of rounded bytes alive at a step. */
static int64_t load_of(int32_t n, const plim_box *box, int64_t align) {
  int64_t most = 0;
  for (int32_t i = 0; i < n; i++) {
    int64_t sum = 0;
    for (int32_t j = 0; j < n; j++) {
      int alive = box[j].begin <= box[i].begin && box[i].begin < box[j].end;
      if (alive) sum += plim_align_up(box[j].bytes, align);
    }
    if (sum > most) most = sum;
  }
  return most;
}

Test(pack, five_buffers_of_four_bytes_need_twelve_in_every_first_fit_order) {
  ctx = plim_test_context();
  const plim_box box[] = {{0, 3, 4, -1}, {3, 9, 4, -1}, {0, 9, 4, -1}, {9, 21, 4, -1}, {0, 21, 4, -1}};
  int64_t peak_bytes;
  cr_assert_eq(pack(5, box, 1, 0, 0, &peak_bytes), 12);
  cr_assert_eq(peak_bytes, 12);
  plim_test_context_end(ctx);
}

Test(pack, rounds_find_what_no_first_fit_order_finds) {
  ctx = plim_test_context();
  const plim_box box[] = {{4, 5, 3, -1}, {3, 5, 2, -1}, {0, 4, 1, -1}, {2, 3, 2, -1}, {1, 4, 1, -1}};
  cr_assert_eq(pack(5, box, 1, 0, 0, NULL), 6);
  cr_assert_eq(pack(5, box, 1, 0, 8, NULL), 5);
  plim_test_context_end(ctx);
}

Test(pack, nothing_has_no_height) {
  ctx = plim_test_context();
  cr_assert_eq(pack(0, NULL, 512, 0, 4, NULL), 0);
  plim_test_context_end(ctx);
}

Test(pack, equal_buffers_stack_and_touching_ones_share) {
  ctx = plim_test_context();
  plim_box box[20];
  for (int32_t i = 0; i < 20; i++) box[i] = (plim_box){2, 5, 7, -1};
  cr_assert_eq(pack(1, box, 1, 0, 0, NULL), 7);
  cr_assert_eq(pack(20, box, 1, 0, 0, NULL), 140);
  for (int32_t i = 0; i < 20; i++) box[i] = (plim_box){3 * i, 3 * i + 3, 7, -1};
  cr_assert_eq(pack(20, box, 1, 0, 0, NULL), 7);
  plim_test_context_end(ctx);
}

Test(pack, bytes_are_rounded_up_to_the_alignment) {
  ctx = plim_test_context();
  const plim_box box[] = {{0, 1, 3, -1}, {0, 1, 3, -1}};
  cr_assert_eq(pack(2, box, 4, 0, 0, NULL), 8);
  plim_test_context_end(ctx);
}

Test(pack, fixed_boxes_stay_and_others_go_around_them) {
  ctx = plim_test_context();
  const plim_box box[] = {{0, 10, 512, 1024}, {0, 10, 1024, -1}, {4, 6, 512, -1}};
  cr_assert_eq(pack(3, box, 512, 0, 0, NULL), 2048);
  plim_test_context_end(ctx);
}

Test(pack, refuses_boxes_without_lifetime_bytes_or_alignment) {
  ctx = plim_test_context();
  const plim_box bad[] = {{3, 3, 8, -1}, {0, 1, 0, -1}, {0, 1, 8, 4}, {0, 1, 8, -2}};
  for (int32_t i = 0; i < 4; i++) {
    int64_t offset = -7, packed_bytes = -7;
    const plim_boxes boxes = {.n = 1, .align = 8, .box = &bad[i]};
    cr_assert_eq(plim_pack(ctx, &boxes, (plim_pack_goal){0}, &offset, &packed_bytes, NULL), PLIM_EUSAGE);
    cr_assert(offset == -7 && packed_bytes == -7);
  }
  plim_test_context_end(ctx);
}

static int32_t random_boxes(uint64_t *random, plim_box *box) {
  int32_t n = (int32_t)test_random_between(random, 1, 120), fixed = 0;
  for (int32_t i = 0; i < n; i++) {
    int32_t begin = (int32_t)test_random_between(random, 0, 60);
    int32_t length = (int32_t)test_random_between(random, 1, test_random_chance(random, 20) ? 60 : 6);
    box[i] = (plim_box){begin, begin + length, test_random_between(random, 1, 5000), -1};
    if (!test_random_chance(random, 3)) continue;
    box[i].fixed = 512 * fixed; /* fixed ones stand one above the other */
    fixed += (int32_t)(plim_align_up(box[i].bytes, 512) / 512);
  }
  return n;
}

Test(pack, random_boxes_keep_every_rule_and_more_rounds_are_never_higher) {
  ctx = plim_test_context();
  for (uint64_t seed = test_seed(1), end = seed + 150; test_seed_at(seed) < end; seed++) {
    uint64_t random = seed;
    plim_box box[MOST];
    int32_t n = random_boxes(&random, box);
    int64_t peak_bytes, quick = pack(n, box, 512, 0, 0, &peak_bytes);
    cr_assert_eq(peak_bytes, load_of(n, box, 512), "seed %llu", (unsigned long long)seed);
    cr_assert_leq(pack(n, box, 512, 0, 4, NULL), quick, "seed %llu", (unsigned long long)seed);
  }
  plim_test_context_end(ctx);
}

Test(pack, a_target_within_reach_of_first_fit_is_reached) {
  ctx = plim_test_context();
  for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) {
    uint64_t random = seed;
    plim_box box[MOST];
    int32_t n = random_boxes(&random, box);
    int64_t packed_bytes = pack(n, box, 512, 0, 0, NULL);
    cr_assert_leq(pack(n, box, 512, packed_bytes, 0, NULL), packed_bytes, "seed %llu", (unsigned long long)seed);
  }
  plim_test_context_end(ctx);
}

/* Cut the rectangle of `steps` by `bytes` into boxes by random guillotine cuts: its packed size is their peak. */
static int32_t cut_boxes(uint64_t *random, int32_t n, int64_t steps, int64_t bytes, plim_box *box) {
  int32_t made = 1;
  box[0] = (plim_box){0, steps, bytes, -1};
  while (made < n) {
    int32_t i = (int32_t)test_random_between(random, 0, made - 1);
    int64_t length = box[i].end - box[i].begin;
    int upright = test_random_chance(random, 50);
    if (upright ? length < 2 : box[i].bytes < 2) continue;
    int64_t at = test_random_between(random, 1, (upright ? length : box[i].bytes) - 1);
    box[made] = box[i];
    if (upright) {
      box[i].end = box[made].begin = box[i].begin + at;
    } else {
      box[made].bytes -= at;
      box[i].bytes = at;
    }
    made++;
  }
  return made;
}

Test(pack, a_target_gets_the_rounds_that_heights_above_it_would_get) {
  ctx = plim_test_context();
  int32_t reached = 0, reached_as_load = 0;
  for (uint64_t seed = test_seed(1), end = seed + 40; test_seed_at(seed) < end; seed++) {
    uint64_t random = seed;
    plim_box box[MOST];
    int32_t n = cut_boxes(&random, 80, 40, 1000, box);
    reached += pack(n, box, 1, 1000, 4, NULL) == 1000;
    reached_as_load += pack(n, box, 1, 0, 4, NULL) == 1000;
  }
  cr_assert_gt(reached, reached_as_load, "%d and %d of 40", reached, reached_as_load);
  plim_test_context_end(ctx);
}

/* Boxes of a few bytes in 200 commands; the peak is a target that first-fit and packing from the bottom up miss. */
static int reaches_peak(int32_t n, uint64_t random) {
  enum { MANY = 1300, COMMANDS = 200 };
  static plim_box box[MANY];
  static int64_t offset[MANY];
  int64_t packed_bytes, peak_bytes;
  cr_assert_leq(n, MANY);
  for (int32_t i = 0; i < n; i++) {
    const int64_t begin = test_random_between(&random, 0, COMMANDS - 1);
    const int64_t length = 1 + test_random_between(&random, 0, 60) * test_random_between(&random, 0, 60) / 60;
    box[i] = (plim_box){begin, begin + length, test_random_between(&random, 1, 12), -1};
  }
  const plim_boxes boxes = {.n = n, .align = 1, .box = box};
  cr_assert_eq(plim_pack(ctx, &boxes, (plim_pack_goal){0}, offset, &packed_bytes, &peak_bytes), PLIM_OK);
  if (packed_bytes == peak_bytes) return 0; /* without exact search */
  const plim_pack_goal goal = {.target_bytes = peak_bytes, .rounds = 180};
  cr_assert_eq(plim_pack(ctx, &boxes, goal, offset, &packed_bytes, NULL), PLIM_OK);
  cr_assert_eq(plim_boxes_check(ctx, &boxes, offset, packed_bytes, packed_bytes), PLIM_OK);
  return packed_bytes == peak_bytes;
}

Test(pack, more_than_a_thousand_boxes_are_searched_exactly_too) {
  enum { CASES = 6 };
  ctx = plim_test_context();
  for (int32_t n = 1150; n <= 1300; n += 150) {
    int reached = 0;
    for (uint64_t seed = test_seed(1), end = seed + CASES; test_seed_at(seed) < end; seed++)
      reached += reaches_peak(n, seed);
    cr_expect_geq(reached, CASES / 3, "%d boxes: %d of %d peaks are reached", n, reached, CASES);
  }
  plim_test_context_end(ctx);
}

static plim_status pack_some(plim_context *c, void *user) {
  const plim_box box[] = {{4, 5, 3, -1}, {3, 5, 2, -1}, {0, 4, 1, -1}, {2, 3, 2, -1}, {1, 4, 1, -1}};
  int64_t offset[5], packed_bytes;
  (void)user;
  const plim_boxes boxes = {.n = 5, .align = 1, .box = box};
  return plim_pack(c, &boxes, (plim_pack_goal){.rounds = 4}, offset, &packed_bytes, NULL);
}

Test(pack, a_refused_allocation_leaves_nothing_after) {
  cr_assert_geq(plim_test_each_allocation(pack_some, NULL), 8);
}

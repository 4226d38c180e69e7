/* planner/pack/conflict.c: what is marked does not fit, and without any one of it the rest does. */
#include "planner/pack/pack.h"

#include <criterion/criterion.h>

#include "tests/support/failing_memory.h"
#include "tests/support/test_context.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { MOST = 12, FEW = 7 };

static plim_context *ctx;

/* Do the marked boxes but `without` fit? */
static int fits(const plim_boxes *boxes, const uint8_t *member, int32_t without, int64_t capacity) {
  plim_box box[MOST];
  int64_t align[MOST], offset[MOST];
  plim_pack_solution found;
  plim_boxes some = {.align = 1, .box = box, .own_align = align};
  plim_pack_options options = {sizeof options, capacity, 0, 1};
  for (int32_t i = 0; i < boxes->n; i++) {
    if (!member[i] || i == without) continue;
    align[some.n] = boxes->own_align[i];
    box[some.n++] = boxes->box[i];
  }
  return plim_pack_solve(ctx, &some, &options, offset, &found) == PLIM_OK;
}

Test(pack_conflict, is_irreducible_on_random_boxes) {
  ctx = plim_test_context();
  int by_search = 0;
  for (uint64_t seed = test_seed(1), end = seed + 150; test_seed_at(seed) < end; seed++) {
    uint64_t r = seed;
    plim_box box[MOST];
    int64_t align[MOST], offset[MOST];
    uint8_t member[MOST];
    plim_conflict why;
    plim_pack_solution lowest;
    plim_boxes boxes = {.n = (int32_t)test_random_between(&r, 6, MOST), .align = 1, .box = box, .own_align = align};
    for (int32_t i = 0; i < boxes.n; i++) {
      int64_t begin = test_random_between(&r, 0, 5);
      align[i] = test_random_chance(&r, 30) ? 4 : 1; /* holes, so that the peak says little */
      box[i] = (plim_box){begin, begin + test_random_between(&r, 1, 3), test_random_between(&r, 3, 9), -1};
    }
    plim_pack_options options = {sizeof options, INT64_MAX, 0, 1};
    cr_assert_eq(plim_pack_solve(ctx, &boxes, &options, offset, &lowest), PLIM_OK);
    int64_t capacity = lowest.packed_bytes - 1;
    cr_assert_eq(plim_boxes_conflict(ctx, &boxes, capacity, 1000000, member, &why), PLIM_OK);
    cr_assert(why.n > 0 && why.irreducible, "seed %llu", (unsigned long long)seed);
    cr_assert(!fits(&boxes, member, -1, capacity));
    for (int32_t i = 0; i < boxes.n; i++) {
      if (member[i]) cr_assert(fits(&boxes, member, i, capacity), "seed %llu: box %d", (unsigned long long)seed, i);
    }
    by_search += !why.at_once;
    cr_assert_eq(plim_boxes_conflict(ctx, &boxes, lowest.packed_bytes, 1000000, member, &why), PLIM_OK);
    cr_assert_eq(why.n, 0);
  }
  cr_assert_gt(by_search, 3, "%d", by_search);
  plim_test_context_end(ctx);
}

/* Is there a packing of the marked boxes from x on, those before being where `offset` says? Tries all offsets. */
static int packs(const plim_boxes *boxes, const uint8_t *member, int64_t capacity, int64_t *offset, int32_t x) {
  if (x == MOST || x == boxes->n) return 1;
  if (!member[x]) return packs(boxes, member, capacity, offset, x + 1);
  for (int64_t o = 0; o + boxes->box[x].bytes <= capacity; o += boxes->own_align[x]) {
    int fits = boxes->box[x].fixed < 0 || boxes->box[x].fixed == o;
    for (int32_t y = 0; y < x && fits; y++) {
      int64_t under = member[y] ? plim_boxes_separation(boxes, x, y) : PLIM_NO_SEPARATION;
      fits =
          under == PLIM_NO_SEPARATION || o + under <= offset[y] || offset[y] + plim_boxes_separation(boxes, y, x) <= o;
    }
    offset[x] = o;
    if (fits && packs(boxes, member, capacity, offset, x + 1)) return 1;
  }
  return 0;
}

/* A few boxes with alignments, gaps and sometimes a fixed one. */
static void draw_uneven(uint64_t seed, plim_boxes *boxes, plim_box *box, int64_t *align, int32_t *first,
                        plim_pack_gap *gap) {
  uint64_t r = seed;
  boxes->n = (int32_t)test_random_between(&r, 3, FEW);
  first[0] = 0;
  for (int32_t x = 0; x < boxes->n; x++) {
    int64_t begin = test_random_between(&r, 0, 3), end = begin + test_random_between(&r, 1, 4);
    box[x] = (plim_box){begin, end, test_random_between(&r, 2, 6), -1};
    align[x] = test_random_chance(&r, 25) ? 3 : 1;
    first[x + 1] = first[x];
    if (end - begin < 2 || !test_random_chance(&r, 40)) continue;
    int64_t low = test_random_between(&r, 0, box[x].bytes - 1);
    gap[first[x + 1]++] = (plim_pack_gap){begin, begin + 1, low, test_random_between(&r, low + 1, box[x].bytes)};
  }
  if (test_random_chance(&r, 40)) box[0].fixed = 3 * test_random_between(&r, 0, 1);
}

Test(pack_conflict, is_irreducible_by_all_offsets_with_gaps_alignments_and_fixed_boxes) {
#ifdef PLIM_SANITIZED
  const uint64_t cases = 100;
#else
  const uint64_t cases = 400;
#endif
  ctx = plim_test_context();
  int at_once = 0, searched = 0;
  for (uint64_t seed = test_seed(1), end = seed + cases; test_seed_at(seed) < end; seed++) {
    plim_box box[MOST];
    int64_t align[MOST], offset[MOST], capacity = 0;
    int32_t first[MOST + 1];
    plim_pack_gap gap[MOST];
    uint8_t member[MOST], all[MOST] = {1, 1, 1, 1, 1, 1, 1};
    plim_conflict why;
    plim_boxes boxes = {.align = 1, .box = box, .own_align = align, .gap_first = first, .gap = gap};
    draw_uneven(seed, &boxes, box, align, first, gap);
    while (!packs(&boxes, all, capacity, offset, 0)) capacity++;
    capacity -= 1 + (int64_t)(seed % 3);
    if (capacity < 0) continue;
    cr_assert_eq(plim_boxes_conflict(ctx, &boxes, capacity, 1000000, member, &why), PLIM_OK);
    cr_assert(why.n > 0 && why.irreducible, "seed %llu", (unsigned long long)seed);
    cr_assert(!packs(&boxes, member, capacity, offset, 0), "seed %llu", (unsigned long long)seed);
    int64_t sum = 0;
    for (int32_t x = 0; x < boxes.n; x++) {
      if (!member[x]) continue;
      sum += plim_boxes_bytes_at(&boxes, x, why.time);
      member[x] = 0;
      cr_assert(packs(&boxes, member, capacity, offset, 0), "seed %llu: box %d", (unsigned long long)seed, x);
      member[x] = 1;
    }
    cr_assert(!why.at_once || sum > capacity, "seed %llu", (unsigned long long)seed);
    at_once += why.at_once;
    searched += !why.at_once;
  }
  cr_assert(at_once > (int)cases / 8 && searched > (int)cases / 20, "%d and %d", at_once, searched);
  plim_test_context_end(ctx);
}

Test(pack_conflict, nothing_is_claimed_when_the_nodes_are_spent) {
  ctx = plim_test_context();
  static const plim_box box[] = {{4, 5, 3, -1}, {3, 5, 2, -1}, {0, 4, 1, -1}, {2, 3, 2, -1}, {1, 4, 2, -1}};
  plim_boxes boxes = {.n = 5, .align = 1, .box = box};
  uint8_t member[5];
  plim_conflict why;
  cr_assert_eq(plim_boxes_conflict(ctx, &boxes, 5, 0, member, &why), PLIM_OK);
  cr_assert(why.n == 0 && member[0] == 0);
  static const int64_t align[] = {1, 1, 1, 1, 2};
  boxes.own_align = align;
  cr_assert_eq(plim_boxes_conflict(ctx, &boxes, 4, 0, member, &why), PLIM_OK);
  cr_assert(why.n > 0 && why.at_once && !why.irreducible); /* a sum needs no search */
  plim_test_context_end(ctx);
}

static plim_status mark_some(plim_context *c, void *user) {
  static const plim_box box[] = {{4, 5, 3, -1}, {3, 5, 2, -1}, {0, 4, 1, -1}, {2, 3, 2, -1}, {1, 4, 1, -1}};
  plim_boxes boxes = {.n = 5, .align = 1, .box = box};
  uint8_t member[5];
  (void)user;
  plim_conflict why;
  return plim_boxes_conflict(c, &boxes, 5, 1000, member, &why);
}

Test(pack_conflict, a_refused_allocation_leaves_nothing_after) {
  cr_assert_geq(plim_test_each_allocation(mark_some, NULL), 10);
}

/* Blocks of the arena: placement at two ends, merging, and a random walk against a map of every unit. */
#include "runtime/arena/arena_blocks.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/failing_memory.h"
#include "tests/support/small_graph.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

static int32_t take_on(plim_arena_blocks *p, int64_t bytes, int32_t owner, plim_side side, plim_end end) {
  int32_t block = -2;
  cr_assert_eq(plim_arena_blocks_take(p, bytes, owner, side, end, &block), PLIM_OK);
  cr_assert(plim_arena_blocks_valid(p));
  return block;
}

static int32_t take(plim_arena_blocks *p, int64_t bytes, int32_t owner, plim_end end) {
  return take_on(p, bytes, owner, PLIM_SIDE_MAIN, end);
}

static plim_arena_blocks *make_blocks(plim_context *ctx, int64_t bytes) {
  plim_arena_blocks *p = NULL;
  cr_assert_eq(plim_arena_blocks_new(ctx, bytes, &p), PLIM_OK);
  cr_assert(plim_arena_blocks_valid(p));
  return p;
}

Test(blocks, rounds_requests_up_and_places_them_at_either_end) {
  plim_context *ctx = plim_test_context();
  plim_arena_blocks *p = make_blocks(ctx, 4096 + 511);
  cr_assert_eq(p->bytes, 4096);
  int32_t low = take(p, 1, 1, PLIM_END_LOW), high = take(p, 513, 2, PLIM_END_HIGH);
  cr_expect_eq(p->block[low].offset, 0);
  cr_expect_eq(p->block[low].bytes, 512);
  cr_expect_eq(p->block[high].offset, 3072);
  cr_expect_eq(p->block[high].bytes, 1024);
  cr_expect_eq(p->free_bytes, 2560);
  cr_expect_eq(take(p, 2561, 3, PLIM_END_LOW), -1);
  cr_expect_eq(take(p, INT64_MAX, 3, PLIM_END_LOW), -1);
  cr_expect_geq(take(p, 2560, 3, PLIM_END_LOW), 0);
  cr_expect_eq(plim_arena_blocks_largest_free(p), 0);
  plim_arena_blocks_free(p);
  plim_context_free(ctx);
}

Test(blocks, takes_the_smallest_block_that_is_large_enough) {
  plim_context *ctx = plim_test_context();
  plim_arena_blocks *p = make_blocks(ctx, 10 * 512);
  int32_t held[10];
  for (int i = 0; i < 10; i++) held[i] = take(p, 512, i, PLIM_END_LOW);
  for (int i = 1; i <= 3; i++) (void)plim_arena_blocks_give(p, held[i]); /* three units at 512 */
  (void)plim_arena_blocks_give(p, held[5]);                              /* one at 2560 */
  for (int i = 7; i <= 8; i++) (void)plim_arena_blocks_give(p, held[i]); /* two at 3584 */
  cr_expect_eq(p->block[take(p, 600, 20, PLIM_END_LOW)].offset, 3584);
  cr_expect_eq(p->block[take(p, 1, 21, PLIM_END_HIGH)].offset, 2560);
  cr_expect_eq(p->block[take(p, 1, 22, PLIM_END_HIGH)].offset, 3 * 512);
  plim_arena_blocks_free(p);
  plim_context_free(ctx);
}

Test(blocks, of_equal_blocks_the_low_end_takes_the_lowest_and_the_high_end_the_highest) {
  plim_context *ctx = plim_test_context();
  plim_arena_blocks *p = make_blocks(ctx, 9 * 512);
  int32_t held[9];
  for (int i = 0; i < 9; i++) held[i] = take(p, 512, i, PLIM_END_LOW);
  for (int i = 1; i < 9; i += 2) (void)plim_arena_blocks_give(p, held[i]);
  cr_expect_eq(p->block[take(p, 512, 20, PLIM_END_HIGH)].offset, 7 * 512);
  cr_expect_eq(p->block[take(p, 512, 21, PLIM_END_LOW)].offset, 512);
  plim_arena_blocks_free(p);
  plim_context_free(ctx);
}

Test(blocks, merge_with_both_neighbours_and_pinned_ones_at_one_end_leave_one_hole) {
  plim_context *ctx = plim_test_context();
  plim_arena_blocks *p = make_blocks(ctx, 30 * 512);
  (void)take(p, 10 * 512, 0, PLIM_END_LOW); /* pinned; in the middle it would be a wall for a request of 20 */
  int32_t a = take(p, 512, 1, PLIM_END_LOW), b = take(p, 512, 2, PLIM_END_LOW), c = take(p, 512, 3, PLIM_END_LOW);
  (void)plim_arena_blocks_give(p, a);
  (void)plim_arena_blocks_give(p, c);
  int32_t hole = plim_arena_blocks_give(p, b);
  cr_assert(plim_arena_blocks_valid(p));
  cr_expect_eq(p->n_blocks, 2);
  cr_expect_eq(p->block[hole].bytes, 20 * 512);
  cr_expect_geq(take(p, 20 * 512, 4, PLIM_END_HIGH), 0);
  plim_arena_blocks_free(p);
  plim_context_free(ctx);
}

Test(blocks, pass_from_owner_to_owner_in_place) {
  plim_context *ctx = plim_test_context();
  plim_arena_blocks *p = make_blocks(ctx, 4096);
  int32_t a = take(p, 1000, 1, PLIM_END_LOW);
  plim_arena_blocks_hand_over(p, a, 7);
  cr_expect_eq(p->block[a].owner, 7);
  cr_expect(plim_arena_blocks_valid(p));
  plim_arena_blocks_free(p);
  plim_context_free(ctx);
}

Test(blocks, an_arena_smaller_than_one_unit_is_refused_with_both_numbers) {
  plim_context *ctx = plim_test_context();
  plim_arena_blocks *p = NULL;
  cr_expect_eq(plim_arena_blocks_new(ctx, 511, &p), PLIM_ENOFIT);
  cr_expect_null(p);
  cr_expect(strstr(plim_context_error(ctx), "511") && strstr(plim_context_error(ctx), "512"));
  plim_arena_blocks_free(p);
  plim_context_free(ctx);
}

Test(blocks, no_request_crosses_the_wall_and_free_blocks_there_join_when_it_falls) {
  plim_context *ctx = plim_test_context();
  plim_arena_blocks *p = make_blocks(ctx, 10 * 512);
  cr_assert_eq(plim_arena_blocks_wall_off(p, 3 * 512 - 1), PLIM_OK);
  cr_assert(plim_arena_blocks_valid(p));
  cr_expect_eq(p->wall, 7 * 512);
  cr_expect_eq(plim_arena_blocks_largest_free(p), 7 * 512);
  int32_t large = take(p, 6 * 512, 0, PLIM_END_LOW), small = take_on(p, 512, 1, PLIM_SIDE_SMALL, PLIM_END_LOW);
  cr_expect_eq(p->block[small].offset, 7 * 512);
  cr_expect_eq(take(p, 2 * 512, 2, PLIM_END_LOW), -1, "two units are free behind the wall alone");
  cr_expect_eq(take_on(p, 3 * 512, 2, PLIM_SIDE_SMALL, PLIM_END_LOW), -1);
  (void)plim_arena_blocks_give(p, small);
  cr_assert(plim_arena_blocks_valid(p));
  cr_expect_eq(p->n_blocks, 3);
  plim_arena_blocks_join(p);
  cr_assert(plim_arena_blocks_valid(p));
  cr_expect_eq(p->n_blocks, 2);
  cr_expect_eq(plim_arena_blocks_largest_free(p), 4 * 512);
  (void)plim_arena_blocks_give(p, large);
  cr_expect_eq(plim_arena_blocks_largest_free(p), 10 * 512);
  plim_arena_blocks_free(p);
  plim_context_free(ctx);
}

Test(blocks, an_area_that_would_leave_nothing_in_front_of_it_is_not_walled_off) {
  plim_context *ctx = plim_test_context();
  plim_arena_blocks *p = make_blocks(ctx, 4 * 512);
  (void)take(p, 2 * 512, 0, PLIM_END_LOW);
  cr_assert_eq(plim_arena_blocks_wall_off(p, 2 * 512), PLIM_OK);
  cr_expect_eq(p->wall, p->bytes);
  cr_assert_eq(plim_arena_blocks_wall_off(p, INT64_MAX), PLIM_OK);
  cr_expect_eq(p->wall, p->bytes);
  (void)take(p, 2 * 512, 1, PLIM_END_LOW);
  cr_assert_eq(plim_arena_blocks_wall_off(p, 512), PLIM_OK);
  cr_expect_eq(p->wall, p->bytes, "the arena is full");
  cr_expect(plim_arena_blocks_valid(p));
  plim_arena_blocks_free(p);
  plim_context_free(ctx);
}

/* A free list in a row would be looked at from end to end, and a check of all blocks would look at all of them. */
Test(blocks, of_ten_thousand_free_ones_a_request_looks_at_a_few_dozen) {
  enum { BLOCKS = 10000, ROUNDS = 1000 };
  plim_context *ctx = plim_test_context();
  plim_arena_blocks *p = make_blocks(ctx, (int64_t)4 * BLOCKS * PLIM_ALIGN);
  static int32_t held[2 * BLOCKS];
  uint64_t random = test_seed(1);
  for (int32_t i = 0; i < 2 * BLOCKS; i++) {
    cr_assert_eq(plim_arena_blocks_take(p, 2 * PLIM_ALIGN, i, PLIM_SIDE_MAIN, PLIM_END_LOW, &held[i]), PLIM_OK);
  }
  for (int32_t i = 0; i < 2 * BLOCKS; i += 2) (void)plim_arena_blocks_give(p, held[i]);
  cr_assert_eq(p->n_blocks, 2 * BLOCKS);
  int64_t before = p->free[PLIM_SIDE_MAIN].compared;
  for (int round = 0; round < ROUNDS; round++) {
    int32_t i = (int32_t)test_random_between(&random, 0, BLOCKS - 1) * 2 + 1;
    (void)plim_arena_blocks_give(p, held[i]);
    cr_assert_eq(plim_arena_blocks_take(p, 2 * PLIM_ALIGN, i, PLIM_SIDE_MAIN, PLIM_END_LOW, &held[i]), PLIM_OK);
    cr_assert_geq(held[i], 0);
  }
  /* a give may merge three blocks and a take may leave a rest: four changes and a search */
  cr_expect_lt(p->free[PLIM_SIDE_MAIN].compared - before, (int64_t)ROUNDS * 100, "%lld entries in %d rounds",
               (long long)(p->free[PLIM_SIDE_MAIN].compared - before), ROUNDS);
  plim_arena_blocks_free(p);
  plim_context_free(ctx);
}

/* ---- a random walk against a map that has one cell a unit ---- */

enum { UNITS = 200, HOLDERS = 64 };

typedef struct unit_map {
  int32_t owner[UNITS]; /* -1: free */
} unit_map;

/* Units of the smallest free run in [first, last) that is large enough; 0: none. */
static int best_run(const unit_map *map, int need, int first, int last) {
  int best = 0;
  for (int begin = first; begin < last;) {
    int end = begin;
    while (end < last && map->owner[end] == map->owner[begin]) end++;
    if (map->owner[begin] < 0 && end - begin >= need && (best == 0 || end - begin < best)) best = end - begin;
    begin = end;
  }
  return best;
}

static int free_run_around(const unit_map *map, int begin, int end, int first, int last) {
  while (begin > first && map->owner[begin - 1] < 0) begin--;
  while (end < last && map->owner[end] < 0) end++;
  return end - begin;
}

/* A take on one side of the wall; returns the block, -1 where the map has no room either. */
static int32_t take_beside(plim_arena_blocks *p, unit_map *map, int32_t owner, uint64_t *random) {
  int need = (int)test_random_between(random, 1, 12), wall = (int)(p->wall / PLIM_ALIGN);
  plim_side side = wall < UNITS && test_random_chance(random, 30) ? PLIM_SIDE_SMALL : PLIM_SIDE_MAIN;
  int first = side == PLIM_SIDE_MAIN ? 0 : wall, last = side == PLIM_SIDE_MAIN ? wall : UNITS;
  int best = best_run(map, need, first, last);
  plim_end end = test_random_chance(random, 50) ? PLIM_END_LOW : PLIM_END_HIGH;
  int32_t block = take_on(p, need * PLIM_ALIGN - 7, owner, side, end);
  cr_assert_eq(block >= 0, best > 0);
  if (block < 0) return block;
  int begin = (int)(p->block[block].offset / PLIM_ALIGN);
  cr_assert(begin >= first && begin + need <= last, "it crosses the wall");
  cr_assert_eq(free_run_around(map, begin, begin + need, first, last), best, "not the best fit");
  for (int u = begin; u < begin + need; u++) {
    cr_assert_eq(map->owner[u], -1, "unit %d", u);
    map->owner[u] = owner;
  }
  return block;
}

Test(blocks, follow_a_map_of_units_through_random_takes_and_gives) {
  plim_context *ctx = plim_test_context();
  for (uint64_t seed = test_seed(1), end = seed + 20; test_seed_at(seed) < end; seed++) {
    uint64_t random = seed;
    plim_arena_blocks *p = make_blocks(ctx, UNITS * PLIM_ALIGN);
    unit_map map;
    int32_t held[HOLDERS];
    memset(&map, 0xff, sizeof map);
    memset(held, 0xff, sizeof held);
    if (seed % 2) cr_assert_eq(plim_arena_blocks_wall_off(p, (int64_t)seed * 3 * PLIM_ALIGN), PLIM_OK);
    for (int round = 0; round < 500; round++) {
      if (round == 300) plim_arena_blocks_join(p);
      int32_t owner = (int32_t)test_random_between(&random, 0, HOLDERS - 1);
      if (held[owner] >= 0) {
        (void)plim_arena_blocks_give(p, held[owner]);
        for (int u = 0; u < UNITS; u++) map.owner[u] = map.owner[u] == owner ? -1 : map.owner[u];
        held[owner] = -1;
      } else {
        held[owner] = take_beside(p, &map, owner, &random);
      }
      cr_assert(plim_arena_blocks_valid(p), "seed %d", (int)seed);
    }
    plim_arena_blocks_free(p);
  }
  plim_context_free(ctx);
}

static plim_status fill_arena(plim_context *ctx, void *user) {
  (void)user;
  plim_arena_blocks *p = NULL;
  int32_t block;
  plim_status status = plim_arena_blocks_new(ctx, 1000 * PLIM_ALIGN, &p);
  if (status == PLIM_OK) status = plim_arena_blocks_wall_off(p, 100 * PLIM_ALIGN);
  for (int i = 0; i < 1000 && status == PLIM_OK; i++)
    status = plim_arena_blocks_take(p, 1, i, PLIM_SIDE_MAIN, PLIM_END_LOW, &block);
  plim_arena_blocks_free(p);
  return status;
}

Test(blocks, give_back_their_memory_when_any_allocation_fails) {
  cr_assert_gt(plim_test_each_allocation(fill_arena, NULL), 4);
}

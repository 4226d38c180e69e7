/* planner/pack/box_pairs.c against all offsets there are, with gaps that leave parts, alignments and fixed offsets. */
#include "planner/pack/exact_internal.h"
#include "planner/pack/packers.h"

#include <criterion/criterion.h>

#include "planner/pack/pack.h"
#include "tests/support/failing_memory.h"
#include "tests/support/test_context.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { MOST = 5 };

static plim_context *ctx;

typedef struct gaps_case {
  plim_box box[MOST];
  int64_t align[MOST];
  int32_t gap_first[MOST + 1];
  plim_pack_gap gap[2 * MOST];
  plim_boxes boxes;
} gaps_case;

static void add_gaps(gaps_case *c, uint64_t *r, int32_t x) {
  const plim_box *b = &c->box[x];
  int32_t g = c->gap_first[x];
  for (int64_t at = b->begin; at < b->end; at++) {
    if (g == c->gap_first[x] + 2 || !test_random_chance(r, 40)) continue;
    int64_t end = test_random_between(r, at + 1, b->end), low = test_random_between(r, 0, b->bytes - 1);
    c->gap[g++] = test_random_chance(r, 25) ? (plim_pack_gap){at, end, 0, 0}
                                            : (plim_pack_gap){at, end, low, test_random_between(r, low + 1, b->bytes)};
    at = end - 1;
  }
  c->gap_first[x + 1] = g;
}

static void draw(gaps_case *c, uint64_t seed) {
  uint64_t r = seed;
  *c = (gaps_case){.boxes = {.n = (int32_t)test_random_between(&r, 2, MOST), .align = 1}};
  c->boxes.box = c->box;
  c->boxes.own_align = c->align;
  c->boxes.gap_first = c->gap_first;
  c->boxes.gap = c->gap;
  for (int32_t x = 0; x < c->boxes.n; x++) {
    int64_t begin = test_random_between(&r, 0, 4);
    c->box[x] = (plim_box){begin, begin + test_random_between(&r, 1, 5), test_random_between(&r, 1, 6), -1};
    c->align[x] = test_random_chance(&r, 20) ? test_random_between(&r, 2, 3) : 1;
    add_gaps(c, &r, x);
  }
  if (test_random_chance(&r, 30)) c->box[0].fixed = c->align[0] * test_random_between(&r, 0, 2);
}

/* Is there a packing of the boxes from x on under the capacity, those before being where `offset` says? */
static int packs(const gaps_case *c, int64_t capacity, int64_t *offset, int32_t x) {
  if (x == MOST || x == c->boxes.n) return 1;
  for (int64_t o = 0; o + c->box[x].bytes <= capacity; o += c->align[x]) {
    int fits = c->box[x].fixed < 0 || c->box[x].fixed == o;
    for (int32_t y = 0; y < x && fits; y++) {
      int64_t under = plim_boxes_separation(&c->boxes, x, y);
      fits = under == PLIM_NO_SEPARATION || o + under <= offset[y] ||
             offset[y] + plim_boxes_separation(&c->boxes, y, x) <= o;
    }
    offset[x] = o;
    if (fits && packs(c, capacity, offset, x + 1)) return 1;
  }
  return 0;
}

static int64_t lowest(const gaps_case *c) {
  int64_t offset[MOST], capacity = 0;
  while (!packs(c, capacity, offset, 0)) capacity++;
  return capacity;
}

static plim_pack_outcome run(const gaps_case *c, int64_t capacity, int64_t nodes) {
  plim_units units;
  plim_pairs *pairs;
  int64_t offset[MOST], used, packed_bytes = 0;
  plim_exact_limits limits = {nodes, INT64_MAX};
  cr_assert_eq(plim_units_make(ctx, &c->boxes, &units), PLIM_OK);
  cr_assert_eq(plim_pairs_new(&units, &pairs), PLIM_OK);
  plim_pack_outcome outcome = plim_pairs_run(pairs, capacity, &limits, offset, &used);
  cr_assert_leq(used, nodes);
  if (outcome == PLIM_PACK_FOUND) {
    for (int32_t x = 0; x < c->boxes.n; x++) {
      if (offset[x] + c->box[x].bytes > packed_bytes) packed_bytes = offset[x] + c->box[x].bytes;
    }
    cr_assert_eq(plim_boxes_check(ctx, &c->boxes, offset, capacity, packed_bytes), PLIM_OK, "%s",
                 plim_context_error(ctx));
  }
  plim_pairs_free(pairs);
  plim_units_free(&units);
  return outcome;
}

Test(pair_packing, find_or_refute_what_all_offsets_say) {
  ctx = plim_test_context();
  for (uint64_t seed = test_seed(1), end = seed + 400; test_seed_at(seed) < end; seed++) {
    gaps_case c;
    draw(&c, seed);
    int64_t least = lowest(&c);
    cr_assert_eq(run(&c, least, 100000), PLIM_PACK_FOUND, "seed %llu", (unsigned long long)seed);
    cr_assert_eq(run(&c, least - 1, 100000), PLIM_PACK_IMPOSSIBLE, "seed %llu", (unsigned long long)seed);
  }
  plim_test_context_end(ctx);
}

Test(pair_packing, make_the_lowest_height_a_proof_where_gaps_leave_parts) {
  ctx = plim_test_context();
  int above_load = 0;
  for (uint64_t seed = test_seed(1), end = seed + 250; test_seed_at(seed) < end; seed++) {
    gaps_case c;
    int64_t offset[MOST];
    plim_pack_solution found;
    plim_pack_options options = {sizeof options, INT64_MAX, 0, 1};
    draw(&c, seed);
    int64_t least = lowest(&c);
    cr_assert_eq(plim_pack_solve(ctx, &c.boxes, &options, offset, &found), PLIM_OK);
    cr_assert(found.packed_bytes == least && found.proved, "seed %llu: %lld, all offsets %lld",
              (unsigned long long)seed, (long long)found.packed_bytes, (long long)least);
    options.capacity = least - 1;
    cr_assert_eq(plim_pack_solve(ctx, &c.boxes, &options, offset, &found), PLIM_ENOFIT);
    above_load += found.peak_bytes < least;
  }
  cr_assert_gt(above_load, 20, "%d", above_load);
  plim_test_context_end(ctx);
}

Test(pair_packing, a_box_lies_within_what_gaps_leave_of_another) {
  ctx = plim_test_context();
  /* the hole is in the middle: whichever is placed first, the other cannot lie on top of it */
  gaps_case c = {.box = {{0, 4, 8, -1}, {0, 4, 8, -1}},
                 .align = {1, 1},
                 .gap_first = {0, 2, 4},
                 .gap = {{0, 2, 0, 4}, {2, 4, 4, 8}, {0, 2, 4, 8}, {2, 4, 0, 1}},
                 .boxes = {.n = 2, .align = 1}};
  c.boxes.box = c.box;
  c.boxes.own_align = c.align;
  c.boxes.gap_first = c.gap_first;
  c.boxes.gap = c.gap;
  int64_t least = lowest(&c);
  cr_assert_eq(run(&c, least, 1000), PLIM_PACK_FOUND);
  cr_assert_eq(run(&c, least - 1, 1000), PLIM_PACK_IMPOSSIBLE);
  cr_assert_eq(run(&c, least, 0), PLIM_PACK_LIMIT);
  plim_test_context_end(ctx);
}

/* With an alignment, two parts in use may share a unit of it: the peak counts whole units alone. */
Test(pair_packing, parts_that_share_a_unit_of_the_alignment_leave_the_peak_a_bound) {
  ctx = plim_test_context();
  gaps_case c = {.box = {{0, 4, 64, -1}, {0, 4, 64, -1}},
                 .align = {1, 1},
                 .gap_first = {0, 1, 2},
                 .gap = {{0, 4, 0, 32}, {0, 4, 32, 64}},
                 .boxes = {.n = 2, .align = 64}};
  int64_t offset[2], packed_bytes, peak_bytes;
  c.boxes.box = c.box;
  c.boxes.own_align = c.align;
  c.boxes.gap_first = c.gap_first;
  c.boxes.gap = c.gap;
  cr_assert_eq(plim_pack(ctx, &c.boxes, (plim_pack_goal){.rounds = 10}, offset, &packed_bytes, &peak_bytes), PLIM_OK);
  cr_assert_leq(peak_bytes, 64, "both fit into 64 bytes at offset 0");
  cr_assert_leq(peak_bytes, packed_bytes);
  cr_assert_eq(plim_boxes_check(ctx, &c.boxes, (int64_t[]){0, 0}, 64, 64), PLIM_OK, "%s", plim_context_error(ctx));
  plim_test_context_end(ctx);
}

static plim_status make(plim_context *memory, void *user) {
  const gaps_case *c = user;
  plim_units units = {0};
  plim_pairs *pairs = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_units_make(memory, &c->boxes, &units));
  status = plim_pairs_new(&units, &pairs);
done:
  plim_pairs_free(pairs);
  plim_units_free(&units);
  return status;
}

Test(pair_packing, a_refused_allocation_leaves_nothing_after) {
  gaps_case c;
  draw(&c, test_seed(3));
  cr_assert_geq(plim_test_each_allocation(make, &c), 8);
}

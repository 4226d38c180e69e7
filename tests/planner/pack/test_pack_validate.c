/* planner/pack/validate.c against the rules as they are written, pair by pair. */
#include "planner/pack/pack.h"

#include <criterion/criterion.h>

#include "tests/support/failing_memory.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { MOST = 40, MOST_TIME = 12 };

typedef struct random_case {
  plim_box box[MOST];
  int64_t offset[MOST];
  int32_t gap_first[MOST + 1];
  plim_pack_gap gap[2 * MOST];
  plim_boxes boxes;
} random_case;

static void draw_gaps(random_case *c, uint64_t *r, int32_t b) {
  const plim_box *box = &c->box[b];
  int32_t g = c->gap_first[b];
  int64_t at = box->begin;
  while (g < c->gap_first[b] + 2 && at < box->end && test_random_chance(r, 30)) {
    int64_t begin = test_random_between(r, at, box->end - 1), end = test_random_between(r, begin + 1, box->end);
    int64_t low = test_random_between(r, 0, box->bytes - 1);
    int nothing = test_random_chance(r, 50);
    c->gap[g++] =
        (plim_pack_gap){begin, end, nothing ? 0 : low, nothing ? 0 : test_random_between(r, low + 1, box->bytes)};
    at = end;
  }
  c->gap_first[b + 1] = g;
}

static void draw(random_case *c, uint64_t seed, int gaps) {
  uint64_t r = seed;
  int32_t n = (int32_t)test_random_between(&r, 1, MOST);
  int64_t space = test_random_between(&r, 10, 600);
  *c = (random_case){.boxes = {.n = n, .align = 1, .box = c->box, .gap_first = c->gap_first}};
  for (int32_t b = 0; b < n; b++) {
    int64_t begin = test_random_between(&r, 0, MOST_TIME - 1);
    c->box[b] = (plim_box){begin, test_random_between(&r, begin + 1, MOST_TIME), test_random_between(&r, 1, 9), -1};
    c->offset[b] = test_random_between(&r, 0, space);
    if (gaps) draw_gaps(c, &r, b);
  }
  if (gaps) c->boxes.gap = c->gap;
}

/* Bytes of box b in use at a step: [low, high). */
static int window(const random_case *c, int32_t b, int64_t time, int64_t *low, int64_t *high) {
  if (time < c->box[b].begin || time >= c->box[b].end) return 0;
  *low = 0;
  *high = c->box[b].bytes;
  for (int32_t g = c->gap_first[b]; g < c->gap_first[b + 1]; g++) {
    if (time < c->gap[g].begin || time >= c->gap[g].end) continue;
    *low = c->gap[g].low;
    *high = c->gap[g].high;
  }
  return *low < *high;
}

static int64_t slow_separation(const random_case *c, int32_t below, int32_t above) {
  int64_t separation = PLIM_NO_SEPARATION;
  for (int64_t time = 0; time < MOST_TIME; time++) {
    int64_t low, high, low2, high2;
    if (!window(c, below, time, &low, &high) || !window(c, above, time, &low2, &high2)) continue;
    if (high - low2 > separation) separation = high - low2;
  }
  return separation;
}

Test(pack_validate, reach_is_the_most_by_which_one_box_covers_anothers_bottom) {
  for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) {
    random_case c;
    draw(&c, seed, 1);
    for (int32_t i = 0; i < c.boxes.n; i++) {
      for (int32_t j = 0; j < c.boxes.n; j++) {
        if (i == j) continue;
        cr_assert_eq(plim_boxes_separation(&c.boxes, i, j), slow_separation(&c, i, j), "seed %llu: %d below %d",
                     (unsigned long long)seed, i, j);
      }
    }
  }
}

static int slow_overlap(const random_case *c, int32_t i, int32_t j) {
  int64_t up = slow_separation(c, i, j), down = slow_separation(c, j, i);
  return up != PLIM_NO_SEPARATION && c->offset[i] + up > c->offset[j] && c->offset[j] + down > c->offset[i];
}

Test(pack_validate, finds_an_overlap_exactly_where_comparing_all_pairs_does) {
  plim_context *ctx;
  int valid = 0, invalid = 0;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  for (uint64_t seed = test_seed(1), end = seed + 600; test_seed_at(seed) < end; seed++) {
    random_case c;
    int32_t pair[2];
    draw(&c, seed, (int)(seed % 2));
    int overlaps = 0;
    for (int32_t i = 0; i < c.boxes.n; i++) {
      for (int32_t j = 0; j < i; j++) overlaps += slow_overlap(&c, i, j);
    }
    cr_assert_eq(plim_boxes_find_overlap(ctx, &c.boxes, c.offset, pair), PLIM_OK);
    cr_assert_eq(pair[0] >= 0, overlaps > 0, "seed %llu", (unsigned long long)seed);
    if (pair[0] >= 0) cr_assert(slow_overlap(&c, pair[0], pair[1]) && pair[0] < pair[1]);
    valid += overlaps == 0;
    invalid += overlaps > 0;
  }
  cr_assert(valid > 50 && invalid > 50, "%d %d", valid, invalid);
  plim_context_free(ctx);
}

Test(pack_validate, every_rule_is_looked_at) {
  static const plim_box box[] = {{0, 2, 4, -1}, {1, 3, 4, 8}};
  static const int64_t own[] = {4, 1};
  static const struct {
    int64_t offset[2], capacity, packed_bytes;
    plim_status status;
  } cases[] = {{{0, 8}, 12, 12, PLIM_OK},     {{0, 8}, 11, 12, PLIM_EPLAN}, {{0, 8}, 12, 11, PLIM_EPLAN},
               {{-4, 8}, 12, 12, PLIM_EPLAN}, {{2, 8}, 12, 12, PLIM_EPLAN}, {{0, 4}, 12, 8, PLIM_EPLAN},
               {{8, 8}, 12, 12, PLIM_EPLAN},  {{4, 8}, 12, 12, PLIM_OK}};
  plim_context *ctx;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  plim_boxes boxes = {.n = 2, .align = 1, .box = box, .own_align = own};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cr_assert_eq(plim_boxes_check(ctx, &boxes, cases[i].offset, cases[i].capacity, cases[i].packed_bytes),
                 cases[i].status, "case %zu", i);
  }
  plim_context_free(ctx);
}

static plim_status find_some(plim_context *c, void *user) {
  random_case *some = user;
  int32_t pair[2];
  return plim_boxes_find_overlap(c, &some->boxes, some->offset, pair);
}

Test(pack_validate, a_refused_allocation_leaves_nothing_after) {
  random_case c;
  draw(&c, test_seed(3), 1);
  cr_assert_geq(plim_test_each_allocation(find_some, &c), 4);
}

/* planner/pack/niche.c against brute force, against exact search, and on instances that exact search leaves open. */
#include <criterion/criterion.h>

#include "planner/pack/niche_internal.h"
#include "planner/pack/packers.h"
#include "runtime/base/name.h"
#include "tests/support/failing_memory.h"
#include "tests/support/test_context.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"
#include "tools/plimsoll-bench/tight_boxes.h"

enum { FEW = 7, SOME = 20, WIDTH = 24, HEIGHT = 12 };

static plim_context *ctx;
static tight_instance made; /* large */

static int overlap(const plim_box *a, const plim_box *b) {
  return a->begin < b->end && b->begin < a->end;
}

/* The rules of a packing, by the O(n^2) form. */
static void check_packing(int32_t n, const plim_box *box, int64_t capacity, const int64_t *offset) {
  for (int32_t i = 0; i < n; i++) {
    cr_assert(offset[i] >= 0 && offset[i] + box[i].bytes <= capacity);
    for (int32_t j = 0; j < i; j++) {
      int apart = offset[i] + box[i].bytes <= offset[j] || offset[j] + box[j].bytes <= offset[i];
      cr_assert(!overlap(&box[i], &box[j]) || apart, "boxes %d and %d overlap", i, j);
    }
  }
}

/* Restarts [from, to) with so many nodes each, until one is decided. */
static plim_status search(plim_context *c, const plim_boxes *boxes, int64_t capacity, int32_t to, int64_t nodes,
                          int64_t *offset, plim_pack_outcome *outcome) {
  plim_units units = {0};
  plim_niche *niche = NULL;
  plim_status status;
  int64_t used;
  *outcome = PLIM_PACK_LIMIT;
  PLIM_TRY_OR_DONE(plim_units_make(c, boxes, &units));
  PLIM_TRY_OR_DONE(plim_niche_new(&units, &niche));
  for (int32_t restart = 0; restart < to && *outcome == PLIM_PACK_LIMIT; restart++) {
    const plim_exact_limits limits = {nodes > 0 ? nodes : plim_niche_share(restart), INT64_MAX};
    *outcome = plim_niche_run(niche, capacity, restart, &limits, offset, &used);
  }
done:
  plim_niche_free(niche);
  plim_units_free(&units);
  return status;
}

static plim_pack_outcome run(int32_t n, const plim_box *box, int64_t capacity, int32_t turns, int64_t nodes) {
  static int64_t offset[TIGHT_MAX];
  const plim_boxes boxes = {.n = n, .align = 1, .box = box};
  plim_pack_outcome outcome;
  cr_assert_eq(search(ctx, &boxes, capacity, turns, nodes, offset, &outcome), PLIM_OK);
  if (outcome == PLIM_PACK_FOUND) check_packing(n, box, capacity, offset);
  return outcome;
}

/* Smallest packed size over all orders of placing each box at the lowest free offset. */
static int64_t brute_force(int32_t n, const plim_box *box, int32_t *order, int64_t *offset, int32_t k, int64_t top,
                           int64_t best) {
  if (k == n || top >= best) return top < best ? top : best;
  for (int32_t i = k; i < n; i++) {
    int32_t x = order[i];
    int64_t low = 0;
    order[i] = order[k];
    order[k] = x;
    for (int32_t j = 0; j < k; j++) {
      int32_t y = order[j];
      if (!overlap(&box[x], &box[y]) || low + box[x].bytes <= offset[y] || offset[y] + box[y].bytes <= low) continue;
      low = offset[y] + box[y].bytes;
      j = -1; /* again from the start */
    }
    offset[x] = low;
    best = brute_force(n, box, order, offset, k + 1, low + box[x].bytes > top ? low + box[x].bytes : top, best);
    order[k] = order[i];
    order[i] = x;
  }
  return best;
}

/* Boxes whose sum is the same at every step: two end, and two others share their bytes. So nothing may stay empty, and
 * often they cannot be packed. Returns the sum. */
static int64_t draw_full(uint64_t seed, int32_t n, plim_box *box) {
  enum { LIVE = 4 };
  uint64_t r = seed;
  int32_t live[LIVE], made_so_far = 0;
  int64_t sum = 0;
  for (int32_t i = 0; i < LIVE; i++) {
    live[i] = made_so_far++;
    box[live[i]] = (plim_box){0, n, test_random_between(&r, 2, 20), -1};
    sum += box[live[i]].bytes;
  }
  for (int64_t step = 1; made_so_far + 2 <= n; step++) {
    int32_t a = (int32_t)test_random_between(&r, 0, LIVE - 1),
            b = (a + (int32_t)test_random_between(&r, 1, LIVE - 1)) % LIVE;
    int64_t both = box[live[a]].bytes + box[live[b]].bytes, part = test_random_between(&r, 1, both - 1);
    box[live[a]].end = box[live[b]].end = step;
    live[a] = made_so_far++;
    live[b] = made_so_far++;
    box[live[a]] = (plim_box){step, n, part, -1};
    box[live[b]] = (plim_box){step, n, both - part, -1};
  }
  return sum;
}

static void draw(uint64_t seed, int32_t n, plim_box *box) {
  uint64_t r = seed;
  for (int32_t i = 0; i < n; i++) {
    int64_t begin = test_random_between(&r, 0, 7);
    box[i] = (plim_box){begin, begin + test_random_between(&r, 1, 5), test_random_between(&r, 1, 12), -1};
  }
}

Test(niche_search, equals_brute_force_on_random_boxes) {
  ctx = plim_test_context();
  for (uint64_t seed = test_seed(1), end = seed + 500; test_seed_at(seed) < end; seed++) {
    plim_box box[FEW];
    int32_t order[FEW], n = 2 + (int32_t)(seed % (FEW - 1));
    int64_t offset[FEW];
    if (n == 6 && seed % 2) {
      (void)draw_full(seed, n, box);
    } else {
      draw(seed, n, box);
    }
    for (int32_t i = 0; i < n; i++) order[i] = i;
    int64_t best = brute_force(n, box, order, offset, 0, 0, INT64_MAX);
    for (int32_t turns = 1; turns <= 3; turns += 2) {
      cr_assert_eq(run(n, box, best, turns, 10000), PLIM_PACK_FOUND, "seed %llu", (unsigned long long)seed);
      cr_assert_eq(run(n, box, best - 1, turns, 10000), PLIM_PACK_IMPOSSIBLE, "seed %llu", (unsigned long long)seed);
    }
  }
  plim_test_context_end(ctx);
}

static plim_pack_outcome run_exact(int32_t n, const plim_box *box, int64_t capacity, int64_t nodes) {
  static int64_t offset[TIGHT_MAX];
  const plim_boxes boxes = {.n = n, .align = 1, .box = box};
  plim_units units = {0};
  plim_exact *exact = NULL;
  plim_pack_outcome outcome;
  cr_assert_eq(plim_units_make(ctx, &boxes, &units), PLIM_OK);
  cr_assert_eq(plim_exact_new(&units, nodes, &exact), PLIM_OK);
  cr_assert_eq(plim_exact_search(exact, capacity, &nodes, offset, &outcome), PLIM_OK);
  plim_exact_free(exact);
  plim_units_free(&units);
  return outcome;
}

/* Of more boxes conflicts matter, which leave answers out. */
Test(niche_search, decides_as_exact_search_does) {
  ctx = plim_test_context();
  int decided[3] = {0};
  for (uint64_t seed = test_seed(1), end = seed + 400; test_seed_at(seed) < end; seed++) {
    plim_box box[SOME];
    int64_t peak = draw_full(seed, SOME, box);
    for (int64_t capacity = peak; capacity <= peak + 4; capacity += 2) {
      plim_pack_outcome exact = run_exact(SOME, box, capacity, 400000), niche = run(SOME, box, capacity, 1, 400000);
      cr_assert_neq(exact, PLIM_PACK_LIMIT);
      cr_assert(niche == exact || niche == PLIM_PACK_LIMIT, "seed %llu, capacity %lld: %d for %d",
                (unsigned long long)seed, (long long)capacity, niche, exact);
      decided[niche]++;
    }
  }
  cr_assert_geq(decided[PLIM_PACK_FOUND], 500);
  cr_assert_geq(decided[PLIM_PACK_IMPOSSIBLE], 150);
  cr_assert_leq(decided[PLIM_PACK_LIMIT], 20);
  plim_test_context_end(ctx);
}

/* Boxes that fill an arena of `width` steps and `height` bytes; some are then left out. So they can be packed. Lengths
 * and sizes are small: many orders of decisions lead to equal lows. Returns how many. */
static int32_t draw_packed(uint64_t seed, int32_t width, int32_t height, plim_box *box) {
  int filled[WIDTH][HEIGHT] = {{0}};
  uint64_t r = seed;
  int32_t n = 0, longest = (int32_t)test_random_between(&r, 2, 5), largest = (int32_t)test_random_between(&r, 2, 9);
  int32_t left_out = (int32_t)test_random_between(&r, 0, 15); /* percent */
  for (int32_t cell = 0; cell < width * height; cell++) {
    int32_t begin = cell / height, low = cell % height, end = begin, top = low;
    int32_t length = (int32_t)test_random_between(&r, 1, longest), size = (int32_t)test_random_between(&r, 1, largest);
    if (filled[begin][low]) continue;
    while (top < height && top - low < size && !filled[begin][top]) top++;
    for (int free = 1; free && end < width && end - begin < length; end += free) {
      for (int32_t k = low; k < top; k++) free = free && !filled[end][k];
    }
    for (int32_t t = begin; t < end; t++) {
      for (int32_t k = low; k < top; k++) filled[t][k] = 1;
    }
    if (test_random_between(&r, 0, 99) >= left_out) box[n++] = (plim_box){begin, end, top - low, -1};
  }
  return n;
}

/* Restarts share what they remember: each reaches failed states by decisions of its own. */
Test(niche_search, states_that_it_recognises_never_prove_too_much) {
  int64_t recognised = 0, used;
  ctx = plim_test_context();
  for (uint64_t seed = test_seed(1), end = seed + 400; test_seed_at(seed) < end; seed++) {
    plim_box box[WIDTH * HEIGHT];
    int64_t offset[WIDTH * HEIGHT];
    int32_t height = 4 + (int32_t)(seed % (HEIGHT - 3)), width = 6 + (int32_t)(seed / 2 % (WIDTH - 5));
    const plim_boxes boxes = {.n = draw_packed(seed, width, height, box), .align = 1, .box = box};
    const plim_exact_limits limits = {4000, INT64_MAX};
    plim_units units = {0};
    plim_niche *niche = NULL;
    cr_assert_eq(plim_units_make(ctx, &boxes, &units), PLIM_OK);
    cr_assert_eq(plim_niche_new(&units, &niche), PLIM_OK);
    for (int32_t restart = 0; restart < 48; restart++) {
      plim_pack_outcome outcome = plim_niche_run(niche, height, restart, &limits, offset, &used);
      cr_assert_neq(outcome, PLIM_PACK_IMPOSSIBLE, "seed %llu, restart %d", (unsigned long long)seed, restart);
      if (outcome == PLIM_PACK_FOUND) check_packing(boxes.n, box, height, offset);
    }
    recognised += niche->memo.recognised;
    plim_niche_free(niche);
    plim_units_free(&units);
  }
  cr_assert_geq(recognised, 1000);
  plim_test_context_end(ctx);
}

/* Restarts with so many nodes together. */
static plim_pack_outcome run_nodes(const tight_instance *t, int64_t nodes) {
  static int64_t offset[TIGHT_MAX];
  const plim_boxes boxes = {.n = t->n, .align = 1, .box = t->box};
  plim_units units = {0};
  plim_niche *niche = NULL;
  plim_pack_outcome outcome = PLIM_PACK_LIMIT;
  cr_assert_eq(plim_units_make(ctx, &boxes, &units), PLIM_OK);
  cr_assert_eq(plim_niche_new(&units, &niche), PLIM_OK);
  for (int32_t restart = 0; outcome == PLIM_PACK_LIMIT && nodes > 0; restart++) {
    int64_t share = plim_niche_share(restart), used;
    const plim_exact_limits limits = {share < nodes ? share : nodes, INT64_MAX};
    outcome = plim_niche_run(niche, t->capacity, restart, &limits, offset, &used);
    nodes -= used > 0 ? used : 1;
  }
  if (outcome == PLIM_PACK_FOUND) check_packing(t->n, t->box, t->capacity, offset);
  plim_niche_free(niche);
  plim_units_free(&units);
  return outcome;
}

Test(niche_search, packs_an_instance_of_each_family_that_exact_search_leaves_open_with_twice_the_nodes) {
  static const struct {
    const char *family;
    uint64_t seed;
    int32_t slack_percent;
  } cases[] = {{"cuts", 5, 5},    {"fine", 10, 1},    {"grid", 12, 0},   {"coarse", 4, 1},
               {"steps", 38, 5},  {"loose", 32, 5},   {"mixed", 5, 5},   {"like-a", 1, -1},
               {"like-c", 9, -1}, {"like-d", 34, -1}, {"like-g", 13, -1}};
  enum { NODES = 20000 };
  ctx = plim_test_context();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int32_t row = plim_name_find(tight_name, cases[i].family);
    cr_assert_geq(row, 0);
    tight_make(row, cases[i].seed, cases[i].slack_percent, &made);
    cr_assert_eq(run_exact(made.n, made.box, made.capacity, 2 * NODES), PLIM_PACK_LIMIT, "%s", cases[i].family);
    cr_assert_eq(run_nodes(&made, NODES), PLIM_PACK_FOUND, "%s", cases[i].family);
  }
  plim_test_context_end(ctx);
}

Test(niche_search, limits_and_boxes_that_it_cannot_pack) {
  ctx = plim_test_context();
  tight_make(0, 1, 0, &made);
  cr_assert_eq(run(made.n, made.box, made.capacity, 1, 3), PLIM_PACK_LIMIT);
  cr_assert_eq(run(made.n, made.box, PLIM_EXACT_UNITS, 1, 3), PLIM_PACK_LIMIT);
  plim_units units = {0};
  const plim_box fixed[] = {{0, 1, 3, 0}};
  const plim_boxes boxes = {.n = 1, .align = 1, .box = fixed}, none = {.n = 0, .align = 1};
  cr_assert_eq(plim_units_make(ctx, &boxes, &units), PLIM_OK);
  cr_assert_eq(plim_niche_can(&units), 0);
  plim_units_free(&units);
  cr_assert_eq(plim_units_make(ctx, &none, &units), PLIM_OK);
  cr_assert_eq(plim_niche_can(&units), 0);
  plim_units_free(&units);
  plim_test_context_end(ctx);
}

Test(niche_search, shares_of_restarts_are_lubys) {
  static const int64_t luby[] = {1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8, 1};
  for (int32_t i = 0; i < 16; i++) cr_assert_eq(plim_niche_share(i), plim_niche_share(0) * luby[i], "restart %d", i);
}

static plim_status search_some(plim_context *c, void *user) {
  const plim_boxes boxes = {.n = made.n, .align = 1, .box = made.box};
  static int64_t offset[TIGHT_MAX];
  return search(c, &boxes, made.capacity, 2, 50, offset, user);
}

Test(niche_search, a_refused_allocation_leaves_nothing_after) {
  plim_pack_outcome outcome;
  tight_make(0, 1, 0, &made);
  cr_assert_geq(plim_test_each_allocation(search_some, &outcome), 10);
}

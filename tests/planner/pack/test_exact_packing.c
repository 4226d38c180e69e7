/* planner/pack/exact.c against brute force, and on instances whose answer is known. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/pack/packers.h"
#include "tests/support/failing_memory.h"
#include "tests/support/published_graphs.h"
#include "tests/support/test_context.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

static plim_context *ctx;

static int overlap(const plim_box *a, const plim_box *b) {
  return a->begin < b->end && b->begin < a->end;
}

/* The rules of a packing, by the O(n^2) form. */
static void check_packing(int32_t n, const plim_box *box, int64_t align, int64_t capacity, const int64_t *offset) {
  for (int32_t i = 0; i < n; i++) {
    cr_assert(offset[i] >= 0 && offset[i] % align == 0 && offset[i] + box[i].bytes <= capacity);
    cr_assert(box[i].fixed < 0 || box[i].fixed == offset[i]);
    for (int32_t j = 0; j < i; j++) {
      cr_assert(
          !overlap(&box[i], &box[j]) || offset[i] + box[i].bytes <= offset[j] || offset[j] + box[j].bytes <= offset[i],
          "boxes %d and %d overlap", i, j);
    }
  }
}

static plim_status search(plim_context *c, int32_t n, const plim_box *box, int64_t align, int64_t capacity,
                          int64_t nodes, int64_t *offset, plim_pack_outcome *outcome) {
  plim_boxes boxes = {.n = n, .align = align, .box = box};
  plim_units units = {0};
  plim_exact *exact = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_units_make(c, &boxes, &units));
  PLIM_TRY_OR_DONE(plim_exact_new(&units, nodes, &exact));
  PLIM_TRY_OR_DONE(plim_exact_search(exact, capacity / align, &nodes, offset, outcome));
  for (int32_t x = 0; x < n; x++) offset[x] *= align;
done:
  plim_exact_free(exact);
  plim_units_free(&units);
  return status;
}

static plim_pack_outcome run(int32_t n, const plim_box *box, int64_t align, int64_t capacity) {
  int64_t offset[512];
  plim_pack_outcome outcome;
  cr_assert_eq(search(ctx, n, box, align, capacity, 100000, offset, &outcome), PLIM_OK);
  if (outcome == PLIM_PACK_FOUND) check_packing(n, box, align, capacity, offset);
  return outcome;
}

Test(exact_packing, five_buffers_fit_in_twelve_bytes_and_not_in_eleven) {
  ctx = plim_test_context();
  const plim_box box[] = {{0, 3, 4, -1}, {3, 9, 4, -1}, {0, 9, 4, -1}, {9, 21, 4, -1}, {0, 21, 4, -1}};
  cr_assert_eq(run(5, box, 1, 12), PLIM_PACK_FOUND);
  cr_assert_eq(run(5, box, 1, 11), PLIM_PACK_IMPOSSIBLE);
  plim_test_context_end(ctx);
}

Test(exact_packing, finds_what_no_first_fit_order_finds) {
  ctx = plim_test_context();
  const plim_box box[] = {{4, 5, 3, -1}, {3, 5, 2, -1}, {0, 4, 1, -1}, {2, 3, 2, -1}, {1, 4, 1, -1}};
  cr_assert_eq(run(5, box, 1, 5), PLIM_PACK_FOUND);
  cr_assert_eq(run(5, box, 1, 4), PLIM_PACK_IMPOSSIBLE);
  plim_test_context_end(ctx);
}

Test(exact_packing, buffers_that_only_touch_share_an_address) {
  ctx = plim_test_context();
  const plim_box box[] = {{0, 3, 4, -1}, {3, 9, 4, -1}};
  cr_assert_eq(run(2, box, 4, 4), PLIM_PACK_FOUND);
  plim_test_context_end(ctx);
}

/* Stacked, the fifth would lie at 2^31. */
Test(exact_packing, equal_buffers_that_are_stacked_beyond_any_capacity_do_not_fit) {
  enum { N = 40 };
  plim_box box[N];
  int64_t align[N], offset[N], nodes;
  plim_units units = {0};
  plim_exact *exact = NULL;
  ctx = plim_test_context();
  for (int32_t i = 0; i < N; i++) {
    box[i] = (plim_box){0, 1, 1, -1};
    align[i] = INT64_C(1) << 29;
  }
  const plim_boxes boxes = {.n = N, .align = 1, .box = box, .own_align = align};
  const plim_exact_limits limits = {.nodes = 1000, .deadline_ns = INT64_MAX};
  cr_assert_eq(plim_units_make(ctx, &boxes, &units), PLIM_OK);
  cr_assert_eq(plim_exact_new(&units, 1000, &exact), PLIM_OK);
  cr_assert_eq(plim_exact_run(exact, PLIM_EXACT_UNITS - 1, 0, &limits, offset, &nodes), PLIM_PACK_IMPOSSIBLE);
  cr_assert_eq(nodes, 0, "the first piles prove it");
  plim_exact_free(exact);
  plim_units_free(&units);
  plim_test_context_end(ctx);
}

Test(exact_packing, sizes_are_rounded_up_to_the_alignment) {
  ctx = plim_test_context();
  const plim_box box[] = {{0, 1, 3, -1}, {0, 1, 3, -1}};
  cr_assert_eq(run(2, box, 4, 8), PLIM_PACK_FOUND);
  cr_assert_eq(run(2, box, 4, 4), PLIM_PACK_IMPOSSIBLE);
  plim_test_context_end(ctx);
}

Test(exact_packing, fixed_offsets_are_kept) {
  ctx = plim_test_context();
  const plim_box box[] = {{0, 4, 2, 2}, {0, 4, 2, -1}, {2, 6, 2, -1}};
  cr_assert_eq(run(3, box, 1, 6), PLIM_PACK_FOUND);
  cr_assert_eq(run(3, box, 1, 5), PLIM_PACK_IMPOSSIBLE);
  const plim_box high[] = {{0, 4, 2, 5}};
  cr_assert_eq(run(1, high, 1, 6), PLIM_PACK_IMPOSSIBLE);
  plim_test_context_end(ctx);
}

Test(exact_packing, nothing_to_place_fits_anywhere) {
  ctx = plim_test_context();
  cr_assert_eq(run(0, NULL, 512, 0), PLIM_PACK_FOUND);
  plim_test_context_end(ctx);
}

/* Smallest packed size over all orders of first-fit: some order of placing at the lowest free offset is optimal. */
static int64_t brute_force(int32_t n, const plim_box *box, int32_t *order, int32_t k, int64_t best) {
  if (k == n) {
    int64_t offset[8], packed_bytes = 0;
    for (int32_t i = 0; i < n; i++) {
      int64_t low = 0;
      for (int again = 1; again;) {
        again = 0;
        for (int32_t j = 0; j < i; j++) {
          const plim_box *b = &box[order[j]];
          if (!overlap(b, &box[order[i]]) || offset[j] >= low + box[order[i]].bytes || offset[j] + b->bytes <= low) {
            continue;
          }
          low = offset[j] + b->bytes;
          again = 1;
        }
      }
      offset[i] = low;
      if (low + box[order[i]].bytes > packed_bytes) packed_bytes = low + box[order[i]].bytes;
    }
    return packed_bytes < best ? packed_bytes : best;
  }
  for (int32_t i = k; i < n; i++) {
    int32_t t = order[k];
    order[k] = order[i];
    order[i] = t;
    best = brute_force(n, box, order, k + 1, best);
    order[i] = order[k];
    order[k] = t;
  }
  return best;
}

Test(exact_packing, equals_brute_force_on_random_boxes) {
  ctx = plim_test_context();
  int tight = 0;
  for (uint64_t seed = test_seed(1), end = seed + 400; test_seed_at(seed) < end; seed++) {
    uint64_t r = seed;
    plim_box box[7];
    int32_t order[7], n = (int32_t)test_random_between(&r, 2, 6);
    for (int32_t i = 0; i < n; i++) {
      int32_t begin = (int32_t)test_random_between(&r, 0, 8);
      box[i] = (plim_box){begin, begin + (int32_t)test_random_between(&r, 1, 5), test_random_between(&r, 1, 6), -1};
      order[i] = i;
    }
    int64_t best = brute_force(n, box, order, 0, INT64_MAX);
    cr_assert_eq(run(n, box, 1, best), PLIM_PACK_FOUND, "seed %llu", (unsigned long long)seed);
    cr_assert_eq(run(n, box, 1, best - 1), PLIM_PACK_IMPOSSIBLE, "seed %llu", (unsigned long long)seed);
    tight++;
  }
  cr_assert_eq(tight, 400);
  plim_test_context_end(ctx);
}

Test(exact_packing, a_limit_of_nodes_is_neither_yes_nor_no) {
  ctx = plim_test_context();
  plim_box box[200];
  for (int32_t i = 0; i < 200; i++) box[i] = (plim_box){i % 50, i % 50 + 1 + i % 17, 1 + i % 13, -1};
  int64_t offset[200];
  plim_pack_outcome outcome;
  cr_assert_eq(search(ctx, 200, box, 1, 400, 3, offset, &outcome), PLIM_OK);
  cr_assert_eq(outcome, PLIM_PACK_LIMIT);
  plim_test_context_end(ctx);
}

static plim_status pack_some(plim_context *c, void *user) {
  const plim_box box[] = {{0, 3, 4, -1}, {3, 9, 4, -1}, {0, 9, 4, -1}, {9, 21, 4, -1}, {0, 21, 4, -1}};
  int64_t offset[5];
  return search(c, 5, box, 1, 12, 1000, offset, user);
}

Test(exact_packing, a_refused_allocation_leaves_nothing_after) {
  plim_pack_outcome outcome;
  cr_assert_geq(plim_test_each_allocation(pack_some, &outcome), 10);
}

/* Buffers of a public file: name,begin,end,bytes. */
static int32_t read_buffers(const char *name, plim_box *box, int32_t room) {
  char line[256];
  FILE *f = fopen(plim_test_published(name), "r");
  int32_t n = 0;
  cr_assert_not_null(f, "%s", name);
  while (n < room && fgets(line, sizeof line, f)) {
    long long begin, end, bytes;
    if (sscanf(line, "%*[^,],%lld,%lld,%lld", &begin, &end, &bytes) != 3) continue;
    box[n++] = (plim_box){(int32_t)begin, (int32_t)end, bytes, -1};
  }
  (void)fclose(f);
  return n;
}

Test(exact_packing, packs_the_public_tight_instances) {
  ctx = plim_test_context();
  static const struct {
    const char *name;
    int64_t capacity;
  } cases[] = {
      {"packing/a.csv", 1048576}, {"packing/c.csv", 1039360}, {"packing/d.csv", 1048576}, {"packing/g.csv", 1048576}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    plim_box box[512];
    int32_t n = read_buffers(cases[i].name, box, 512);
    cr_assert_eq(run(n, box, 1024, cases[i].capacity), PLIM_PACK_FOUND, "%s", cases[i].name);
  }
  plim_test_context_end(ctx);
}

/* A stack of boxes is found going down once: of 2,000 boxes that needs n^2 / 2 items at most, and masks. */
Test(exact_packing, lists_take_memory_as_they_are_needed) {
  enum { N = 2000 };
  static plim_box box[N];
  static int64_t offset[N];
  plim_units units = {0};
  plim_exact *exact = NULL;
  int64_t nodes;
  ctx = plim_test_context();
  for (int32_t i = 0; i < N; i++) box[i] = (plim_box){i, i + 2, 1 + i % 7, -1};
  const plim_boxes boxes = {.n = N, .align = 1, .box = box};
  const plim_exact_limits limits = {.nodes = 100000, .deadline_ns = INT64_MAX};
  cr_assert_eq(plim_units_make(ctx, &boxes, &units), PLIM_OK);
  cr_assert_eq(plim_exact_new(&units, 1000, &exact), PLIM_OK);
  int64_t begun = plim_context_memory(ctx).bytes;
  cr_assert_lt(begun, 16 << 20, "%lld bytes before the first search", (long long)begun);
  cr_assert_eq(plim_exact_run(exact, 16, 0, &limits, offset, &nodes), PLIM_PACK_FOUND);
  check_packing(N, box, 1, 16, offset);
  cr_assert_gt(plim_context_memory(ctx).bytes, begun, "the way down needed more than the first chunk");
  plim_exact_free(exact);
  plim_units_free(&units);
  plim_test_context_end(ctx);
}

/* ---- depth ---- */

enum { DEEP = PLIM_EXACT_MAX, SMALL_STACK = 1 << 16 };
static int64_t deep_offset[DEEP];

/* Buffers that are all there at once, of different sizes: each is placed on top of the one before. */
static void *pack_deep(void *user) {
  static plim_box box[DEEP];
  int64_t sum = 0;
  plim_pack_outcome *outcome = user;
  for (int32_t i = 0; i < DEEP; i++) {
    box[i] = (plim_box){0, 1, 1 + i % 100, -1};
    sum += box[i].bytes;
  }
  if (search(ctx, DEEP, box, 1, sum, 1 << 20, deep_offset, outcome) != PLIM_OK) *outcome = PLIM_PACK_IMPOSSIBLE;
  return NULL;
}

Test(exact_packing, the_most_boxes_are_stacked_by_a_thread_with_little_stack) {
  plim_pack_outcome outcome = PLIM_PACK_LIMIT;
  pthread_attr_t small;
  pthread_t thread;
  ctx = plim_test_context();
  cr_assert_eq(pthread_attr_init(&small), 0);
  cr_assert_eq(pthread_attr_setstacksize(&small, SMALL_STACK), 0);
  cr_assert_eq(pthread_create(&thread, &small, pack_deep, &outcome), 0);
  cr_assert_eq(pthread_join(thread, NULL), 0);
  cr_assert_eq(pthread_attr_destroy(&small), 0);
  cr_assert_eq(outcome, PLIM_PACK_FOUND);
  plim_test_context_end(ctx);
}

/* planner/pack/solve.c: packing at full strength against brute force with alignments and gaps, tight random cuts, the
 * published instances. */
#include "planner/pack/pack.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "planner/pack/buffers_csv.h"
#include "runtime/base/effort.h"
#include "runtime/base/random.h"
#include "tests/support/failing_memory.h"
#include "tests/support/published_graphs.h"
#include "tests/support/test_context.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { MOST = 256, FEW = 7 };

static plim_context *ctx;

typedef struct buffers_case {
  plim_box box[MOST];
  int64_t align[MOST], hint[MOST];
  int32_t gap_first[MOST + 1];
  plim_pack_gap gap[MOST];
  plim_boxes boxes;
} buffers_case;

static void begin_case(buffers_case *c, int32_t n) {
  *c = (buffers_case){.boxes = {.n = n,
                                .align = 1,
                                .box = c->box,
                                .own_align = c->align,
                                .hint = c->hint,
                                .gap_first = c->gap_first,
                                .gap = c->gap}};
  for (int32_t i = 0; i < n; i++) c->align[i] = 1;
  for (int32_t i = 0; i < n; i++) c->hint[i] = -1;
}

static plim_status solve(const buffers_case *c, int64_t capacity, int64_t *offset, plim_pack_solution *found) {
  plim_pack_options options = {sizeof options, capacity, 0, 1};
  plim_status status = plim_pack_solve(ctx, &c->boxes, &options, offset, found);
  if (status == PLIM_OK) {
    cr_assert_eq(plim_boxes_check(ctx, &c->boxes, offset, capacity, found->packed_bytes), PLIM_OK);
    cr_assert(found->peak_bytes <= found->bound && found->bound <= found->packed_bytes);
    if (capacity == INT64_MAX) cr_assert_leq(found->packed_bytes, found->first_fit); /* else hints may lie higher */
  }
  return status;
}

/* Lowest packed size over all orders of placing each box as low as the ones before it allow. */
static int64_t brute_force(const buffers_case *c, int32_t *order, int64_t *offset, int32_t k, int64_t packed_bytes,
                           int64_t best) {
  int32_t n = c->boxes.n;
  if (k == n || packed_bytes >= best) return packed_bytes < best ? packed_bytes : best;
  for (int32_t i = k; i < n; i++) {
    int32_t x = order[i];
    int64_t low = 0;
    order[i] = order[k];
    order[k] = x;
    for (int32_t j = 0; j < k; j++) {
      int32_t y = order[j];
      int64_t under = plim_boxes_separation(&c->boxes, x, y);
      if (under == PLIM_NO_SEPARATION || low + under <= offset[y] ||
          offset[y] + plim_boxes_separation(&c->boxes, y, x) <= low) {
        continue;
      }
      low = plim_align_up(offset[y] + plim_boxes_separation(&c->boxes, y, x), c->align[x]);
      j = -1; /* again from the start */
    }
    offset[x] = low;
    int64_t top = low + c->box[x].bytes;
    best = brute_force(c, order, offset, k + 1, top > packed_bytes ? top : packed_bytes, best);
    order[k] = order[i];
    order[i] = x;
  }
  return best;
}

static void draw(buffers_case *c, uint64_t seed) {
  uint64_t r = seed;
  begin_case(c, (int32_t)test_random_between(&r, 1, FEW));
  int align = test_random_chance(&r, 40), gaps = test_random_chance(&r, 40);
  for (int32_t i = 0; i < c->boxes.n; i++) {
    int64_t begin = test_random_between(&r, 0, 8), end = begin + test_random_between(&r, 1, 6);
    c->box[i] = (plim_box){begin, end, test_random_between(&r, 1, 7), -1};
    if (align && test_random_chance(&r, 50)) c->align[i] = test_random_between(&r, 1, 4);
    int32_t g = c->gap_first[i];
    if (gaps && end - begin > 2)
      c->gap[g++] = (plim_pack_gap){begin + 1, begin + 1 + test_random_between(&r, 1, end - begin - 2), 0, 0};
    c->gap_first[i + 1] = g;
  }
}

Test(pack_solve, equals_brute_force_with_alignments_and_gaps) {
  ctx = plim_test_context();
  for (uint64_t seed = test_seed(1), end = seed + 300; test_seed_at(seed) < end; seed++) {
    buffers_case c;
    int32_t order[FEW];
    int64_t offset[FEW];
    plim_pack_solution found;
    draw(&c, seed);
    for (int32_t i = 0; i < c.boxes.n; i++) order[i] = i;
    int64_t best = brute_force(&c, order, offset, 0, 0, INT64_MAX);
    cr_assert_eq(solve(&c, INT64_MAX, offset, &found), PLIM_OK);
    cr_assert(found.packed_bytes == best && found.proved, "seed %llu: %lld, brute force %lld", (unsigned long long)seed,
              (long long)found.packed_bytes, (long long)best);
    cr_assert_eq(solve(&c, best, offset, &found), PLIM_OK);
    cr_assert_eq(solve(&c, best - 1, offset, &found), PLIM_ENOFIT);
  }
  plim_test_context_end(ctx);
}

Test(pack_solve, neither_the_order_of_rows_nor_the_scale_changes_the_height) {
  ctx = plim_test_context();
  for (uint64_t seed = test_seed(1), end = seed + 40; test_seed_at(seed) < end; seed++) {
    buffers_case c, other;
    int64_t offset[FEW];
    plim_pack_solution found, again;
    draw(&c, seed);
    begin_case(&other, c.boxes.n);
    for (int32_t i = 0; i < c.boxes.n; i++) {
      int32_t from = c.boxes.n - 1 - i, g = other.gap_first[i];
      other.box[i] = c.box[from];
      other.box[i].bytes *= 12;
      other.align[i] = c.align[from] * 12;
      if (c.gap_first[from + 1] > c.gap_first[from]) other.gap[g++] = c.gap[c.gap_first[from]];
      other.gap_first[i + 1] = g;
    }
    cr_assert_eq(solve(&c, INT64_MAX, offset, &found), PLIM_OK);
    cr_assert_eq(solve(&other, INT64_MAX, offset, &again), PLIM_OK);
    cr_assert_eq(found.packed_bytes * 12, again.packed_bytes, "seed %llu", (unsigned long long)seed);
  }
  plim_test_context_end(ctx);
}

Test(pack_solve, nothing_and_buffers_without_bytes_have_no_height) {
  ctx = plim_test_context();
  buffers_case c;
  int64_t offset[2] = {7, 7};
  plim_pack_solution found;
  begin_case(&c, 0);
  cr_assert_eq(solve(&c, INT64_MAX, offset, &found), PLIM_OK);
  cr_assert(found.packed_bytes == 0 && found.proved && offset[0] == 7);
  begin_case(&c, 2);
  c.box[0] = (plim_box){0, 1, 0, -1};
  c.box[1] = (plim_box){0, 1, 5, -1};
  cr_assert_eq(solve(&c, 5, offset, &found), PLIM_OK);
  cr_assert(found.packed_bytes == 5 && offset[0] == 0 && offset[1] == 0);
  plim_test_context_end(ctx);
}

Test(pack_solve, an_alignment_leaves_a_hole_and_a_hint_is_followed_where_it_is_free) {
  ctx = plim_test_context();
  buffers_case c;
  int64_t offset[3];
  plim_pack_solution found;
  begin_case(&c, 2);
  c.box[0] = c.box[1] = (plim_box){0, 2, 3, -1};
  c.align[0] = c.align[1] = 4;
  cr_assert_eq(solve(&c, INT64_MAX, offset, &found), PLIM_OK);
  cr_assert(found.packed_bytes == 7 && found.proved);
  begin_case(&c, 3);
  c.box[0] = c.box[1] = c.box[2] = (plim_box){0, 2, 4, -1};
  c.hint[1] = 0;
  c.hint[2] = 16;
  cr_assert_eq(solve(&c, 20, offset, &found), PLIM_OK);
  cr_assert(offset[1] == 0 && offset[2] == 16);
  c.hint[2] = 20; /* above the capacity */
  cr_assert_eq(solve(&c, 20, offset, &found), PLIM_OK);
  cr_assert(offset[1] == 0 && offset[2] < 20);
  plim_test_context_end(ctx);
}

/* Boxes of 4 bytes that live [0, 2), packed at 0, 4, 8, ... */
static void begin_equal(buffers_case *c, int32_t n) {
  begin_case(c, n);
  for (int32_t i = 0; i < n; i++) c->box[i] = (plim_box){0, 2, 4, -1};
}

Test(pack_solve, equal_buffers_change_places_where_that_meets_a_hint) {
  ctx = plim_test_context();
  buffers_case c;
  int64_t offset[4];
  plim_pack_solution found;
  begin_equal(&c, 4);
  for (int32_t i = 0; i < 4; i++) c.hint[i] = 12 - 4 * i; /* in the opposite order: without swaps at most two are met */
  cr_assert_eq(solve(&c, INT64_MAX, offset, &found), PLIM_OK);
  for (int32_t i = 0; i < 4; i++)
    cr_assert_eq(offset[i], 12 - 4 * i, "buffer %d at %lld", (int)i, (long long)offset[i]);
  begin_equal(&c, 2);
  c.hint[0] = c.hint[1] = 0; /* the first one lies there, and keeps its place */
  cr_assert_eq(solve(&c, INT64_MAX, offset, &found), PLIM_OK);
  cr_assert(offset[0] == 0 && offset[1] == 4);
  plim_test_context_end(ctx);
}

/* Two buffers, the second with the place of the first as its hint. */
static int64_t second_of_two(const buffers_case *c) {
  int64_t offset[2];
  plim_pack_solution found;
  cr_assert_eq(solve(c, INT64_MAX, offset, &found), PLIM_OK);
  return offset[1];
}

Test(pack_solve, buffers_that_are_not_equal_keep_their_places) {
  ctx = plim_test_context();
  buffers_case c;
  begin_equal(&c, 2);
  c.box[0].fixed = c.hint[1] = 0;
  cr_assert_eq(second_of_two(&c), 4);
  begin_equal(&c, 2);
  c.box[0].fixed = 0;
  c.box[0].bytes = 8;
  c.hint[1] = 0;
  cr_assert_eq(second_of_two(&c), 8);
  begin_equal(&c, 2); /* the first one fits at multiples of 16 alone */
  c.align[0] = 16;
  c.hint[1] = 0;
  cr_assert_eq(second_of_two(&c), 4);
  begin_equal(&c, 2); /* the first one lies there for one step more */
  c.box[0] = (plim_box){0, 3, 4, 0};
  c.hint[1] = 0;
  cr_assert_eq(second_of_two(&c), 4);
  plim_test_context_end(ctx);
}

/* Every search ends at once, with a packing above the bound. The rounds of searches must end too. */
Test(pack_solve, a_deadline_of_the_work_around_it_ends_it, .timeout = 20) {
  enum { MANY = 60 };
  ctx = plim_test_context();
  plim_box box[MANY];
  int64_t offset[MANY], outer_ns = plim_effort_begin(ctx, plim_now_ns());
  const plim_boxes boxes = {.n = MANY, .align = 1, .box = box};
  const plim_pack_options options = {sizeof options, INT64_MAX, 0, 1};
  plim_pack_solution found;
  plim_random random = {3};
  for (int32_t i = 0; i < MANY; i++) {
    int64_t begin = (int64_t)(plim_random_unit(&random) * 100), bytes = 1 + (int64_t)(plim_random_unit(&random) * 1000);
    box[i] = (plim_box){begin, begin + 5 + (int64_t)(plim_random_unit(&random) * 60), bytes, -1};
  }
  cr_assert_eq(plim_pack_solve(ctx, &boxes, &options, offset, &found), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_gt(found.packed_bytes, found.bound);
  cr_assert_eq(plim_effort_end(ctx, outer_ns, PLIM_OK), PLIM_OK);
  plim_test_context_end(ctx);
}

/* So many buffers are too many for exact search. */
Test(pack_solve, a_hint_is_followed_among_thousands_of_buffers) {
  enum { MANY = 5000 };
  ctx = plim_test_context();
  static plim_box box[MANY];
  static int64_t hint[MANY], offset[MANY];
  plim_boxes boxes = {.n = MANY, .align = 1, .box = box, .hint = hint};
  plim_pack_options options = {sizeof options, INT64_MAX, 0, 1};
  plim_pack_solution found;
  for (int32_t i = 0; i < MANY; i++) {
    box[i] = (plim_box){i, i + 1, i == 0 ? 64 : 8, -1};
    hint[i] = i % 2 ? 40 : -1;
  }
  cr_assert_eq(plim_pack_solve(ctx, &boxes, &options, offset, &found), PLIM_OK);
  cr_assert_eq(found.packed_bytes, 64);
  for (int32_t i = 0; i < MANY; i++) cr_assert_eq(offset[i], i % 2 ? 40 : 0, "buffer %d", (int)i);
  plim_test_context_end(ctx);
}

Test(pack_solve, a_hint_that_is_no_sum_of_sizes_is_followed_unless_the_alignment_forbids_it) {
  ctx = plim_test_context();
  buffers_case c;
  int64_t offset[2];
  plim_pack_solution found;
  plim_pack_options options = {sizeof options, 30, 0, 1};
  begin_case(&c, 2);
  c.box[0] = c.box[1] = (plim_box){0, 2, 4, -1};
  c.hint[1] = 18;
  cr_assert_eq(plim_pack_solve(ctx, &c.boxes, &options, offset, &found), PLIM_OK);
  cr_assert(offset[1] == 18 && found.packed_bytes == 22);
  c.align[1] = 4;
  cr_assert_eq(plim_pack_solve(ctx, &c.boxes, &options, offset, &found), PLIM_OK);
  cr_assert(offset[1] != 18 && offset[1] % 4 == 0 && found.packed_bytes == 8);
  plim_test_context_end(ctx);
}

Test(pack_solve, what_a_gap_leaves_of_a_buffer_makes_room_for_others) {
  ctx = plim_test_context();
  buffers_case c;
  int64_t offset[2];
  plim_pack_solution found;
  begin_case(&c, 2);
  c.box[0] = (plim_box){0, 10, 8, -1};
  c.box[1] = (plim_box){4, 6, 6, -1};
  c.gap[0] = (plim_pack_gap){4, 6, 0, 2};
  c.gap_first[1] = c.gap_first[2] = 1;
  cr_assert_eq(solve(&c, INT64_MAX, offset, &found), PLIM_OK);
  cr_assert(found.packed_bytes == 8 && found.peak_bytes == 8 && offset[1] == 2);
  plim_test_context_end(ctx);
}

/* Cut a rectangle n - 1 times: buffers that fit exactly. */
static void cut(buffers_case *c, uint64_t seed, int32_t n, int64_t steps, int64_t packed_bytes) {
  uint64_t r = seed;
  int32_t pieces = 1;
  begin_case(c, n);
  c->boxes.gap = NULL;
  c->box[0] = (plim_box){0, steps, packed_bytes, -1};
  while (pieces < n) {
    plim_box *from = &c->box[test_random_between(&r, 0, pieces - 1)], *to = &c->box[pieces];
    int along = test_random_chance(&r, 50);
    if (along ? from->end - from->begin < 2 : from->bytes < 2) continue;
    *to = *from;
    pieces++;
    if (along) {
      from->end = to->begin = test_random_between(&r, from->begin + 1, from->end - 1);
    } else {
      to->bytes = test_random_between(&r, 1, from->bytes - 1);
      from->bytes -= to->bytes;
    }
  }
}

Test(pack_solve, packs_random_cuts_of_a_rectangle_without_waste) {
  ctx = plim_test_context();
  for (uint64_t seed = test_seed(1), end = seed + 12; test_seed_at(seed) < end; seed++) {
    buffers_case c;
    int64_t offset[MOST];
    plim_pack_solution found;
    cut(&c, seed, 60, 30, 64);
    cr_assert_eq(solve(&c, 64, offset, &found), PLIM_OK, "seed %llu", (unsigned long long)seed);
    cr_assert(found.proved && found.packed_bytes == 64);
  }
  plim_test_context_end(ctx);
}

Test(pack_solve, threads_find_packings_as_well) {
  ctx = plim_test_context();
  buffers_case c;
  int64_t offset[MOST];
  plim_pack_solution found;
  plim_pack_options options = {sizeof options, 64, 0, 3};
  cut(&c, test_seed(5), 60, 30, 64);
  cr_assert_eq(plim_pack_solve(ctx, &c.boxes, &options, offset, &found), PLIM_OK);
  cr_assert_eq(plim_boxes_check(ctx, &c.boxes, offset, 64, 64), PLIM_OK);
  options.capacity = 63;
  cr_assert_eq(plim_pack_solve(ctx, &c.boxes, &options, offset, &found), PLIM_ENOFIT);
  plim_test_context_end(ctx);
}

Test(pack_solve, a_time_limit_keeps_the_best_and_a_cancel_too) {
  ctx = plim_test_context();
  buffers_case c;
  int64_t offset[MOST];
  plim_pack_solution found;
  plim_pack_options options = {sizeof options, INT64_MAX, 1, 1};
  cut(&c, test_seed(3), 200, 100, 1024);
  cr_assert_eq(plim_pack_solve(ctx, &c.boxes, &options, offset, &found), PLIM_OK);
  cr_assert(found.packed_bytes > found.peak_bytes && !found.proved && found.packed_bytes == found.first_fit);
  options.time_limit_ns = 0;
  plim_context_cancel(ctx);
  cr_assert_eq(plim_pack_solve(ctx, &c.boxes, &options, offset, &found), PLIM_OK);
  options.capacity = 1024;
  cr_assert_eq(plim_pack_solve(ctx, &c.boxes, &options, offset, &found), PLIM_ECANCEL);
  plim_context_resume(ctx);
  plim_test_context_end(ctx);
}

/* Of so many buffers the first order of first-fit may stop. */
Test(pack_solve, a_cancel_before_the_first_packing_is_told_as_one) {
  enum { BUFFERS = 24000 };
  ctx = plim_test_context();
  static plim_box box[BUFFERS];
  static int64_t offset[BUFFERS];
  plim_pack_options options = plim_pack_options_default();
  plim_pack_solution found;
  plim_boxes boxes = {.n = BUFFERS, .align = 1, .box = box};
  for (int32_t i = 0; i < BUFFERS; i++) box[i] = (plim_box){i, BUFFERS + i, 1 + i % 7, -1};
  plim_context_cancel(ctx);
  cr_assert_eq(plim_pack_solve(ctx, &boxes, &options, offset, &found), PLIM_ECANCEL);
  plim_context_resume(ctx);
  plim_test_context_end(ctx);
}

Test(pack_solve, says_what_is_proven_when_buffers_do_not_fit) {
  ctx = plim_test_context();
  buffers_case c;
  int64_t offset[2] = {-7, -7};
  plim_pack_solution found;
  begin_case(&c, 2);
  c.box[0] = c.box[1] = (plim_box){0, 2, 6, -1};
  cr_assert_eq(solve(&c, 11, offset, &found), PLIM_ENOFIT);
  cr_assert_str_eq(plim_context_error(ctx), "2 buffers do not fit into 11 bytes: no packing is lower than 12");
  cr_assert(offset[0] == -7 && offset[1] == -7);
  plim_test_context_end(ctx);
}

/* 20,000 buffers, each a few steps long, some long: more than exact search takes. */
Test(pack_solve, many_buffers_are_packed_close_to_their_load) {
  ctx = plim_test_context();
  enum { MANY = 20000 };
  plim_box *box = malloc(MANY * sizeof *box);
  int64_t *offset = malloc(MANY * sizeof *offset);
  uint64_t r = test_seed(1);
  cr_assert(box && offset);
  for (int32_t i = 0; i < MANY; i++) {
    int64_t length = test_random_chance(&r, 1) ? test_random_between(&r, 1, MANY) : test_random_between(&r, 1, 40);
    box[i] = (plim_box){i, i + length, 512 * test_random_between(&r, 1, 2000), -1};
  }
  plim_boxes boxes = {.n = MANY, .align = 512, .box = box};
  plim_pack_options options = {sizeof options, INT64_MAX, 1, 1};
  plim_pack_solution found;
  cr_assert_eq(plim_pack_solve(ctx, &boxes, &options, offset, &found), PLIM_OK);
  cr_assert_lt((double)found.packed_bytes, 1.1 * (double)found.peak_bytes);
  free(box);
  free(offset);
  plim_test_context_end(ctx);
}

static plim_status solve_some(plim_context *c, void *user) {
  const buffers_case *some = user;
  plim_pack_options options = {sizeof options, 64, 0, 2};
  plim_pack_solution found;
  int64_t offset[MOST];
  return plim_pack_solve(c, &some->boxes, &options, offset, &found);
}

Test(pack_solve, a_refused_allocation_leaves_nothing_after) {
  buffers_case c;
  cut(&c, test_seed(2), 30, 20, 64);
  cr_assert_geq(plim_test_each_allocation(solve_some, &c), 25);
}

Test(pack_solve, packs_the_public_tight_instances_in_no_more_than_their_most_live_bytes) {
  ctx = plim_test_context();
  static const struct {
    const char *name;
    int64_t capacity;
  } cases[] = {{"packing/a.csv", 1048576},
               {"packing/c.csv", 1039360},
               {"packing/d.csv", 986112},
               {"packing/g.csv", 1048576},
               {"packing/example12.csv", 12}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    int64_t offset[512];
    plim_buffer_list *buffers = NULL;
    plim_pack_solution found;
    plim_pack_options options = {sizeof options, cases[i].capacity, 0, 1};
    cr_assert_eq(plim_buffer_list_load(ctx, plim_test_published(cases[i].name), &buffers), PLIM_OK, "%s",
                 plim_context_error(ctx));
    plim_boxes boxes = plim_buffer_list_boxes(buffers, 1);
    cr_assert_eq(plim_pack_solve(ctx, &boxes, &options, offset, &found), PLIM_OK, "%s", cases[i].name);
    plim_buffer_list_free(buffers);
  }
  plim_test_context_end(ctx);
}

Test(pack_solve, thousands_of_buffers_come_within_a_percent_of_their_load) {
  ctx = plim_test_context();
  enum { MANY = 6000 };
  static plim_box box[MANY];
  static int64_t offset[MANY];
  uint64_t r = test_seed(3);
  for (int32_t i = 0; i < MANY; i++) { /* half of them wait for a reader in the second half, the others are short */
    int64_t begin = test_random_between(&r, 0, MANY / 2), waits = MANY - 2 * begin;
    int64_t length = i % 2 && waits > 0 ? waits : test_random_between(&r, 1, 9);
    box[i] = (plim_box){begin, begin + length, 512 * test_random_between(&r, 1, 200), -1};
  }
  plim_boxes boxes = {.n = MANY, .align = 512, .box = box};
  plim_pack_solution found;
  plim_pack_options options = {sizeof options, INT64_MAX, 3000000000, 1};
  cr_assert_eq(plim_pack_solve(ctx, &boxes, &options, offset, &found), PLIM_OK);
  cr_assert_eq(plim_boxes_check(ctx, &boxes, offset, INT64_MAX, found.packed_bytes), PLIM_OK);
  cr_assert_leq(found.packed_bytes / 100 * 99, found.peak_bytes);
  plim_test_context_end(ctx);
}

Test(pack_solve, options_of_another_size_are_refused) {
  ctx = plim_test_context();
  const plim_box box[] = {{0, 1, 8, -1}};
  const plim_boxes boxes = {.n = 1, .align = 1, .box = box};
  plim_pack_options options = plim_pack_options_default();
  plim_pack_solution found;
  int64_t offset;
  cr_assert_eq(plim_pack_solve(ctx, &boxes, &options, &offset, &found), PLIM_OK);
  cr_assert_eq(found.packed_bytes, 8);
  options.struct_bytes = 0;
  cr_assert_eq(plim_pack_solve(ctx, &boxes, &options, &offset, &found), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(ctx), "begin with plim_pack_options_default()"));
  plim_test_context_end(ctx);
}

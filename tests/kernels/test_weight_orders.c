/* Copies of weights between orders: every element at its place, zeros in the padding, nothing else. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/weights.h"

enum { O, I, H, W };

/* Orders that libraries use: [O/b][I/b][KH][KW][i][o] and the like, some with a padded last block, some with the pairs
 * of inputs that products of bf16 want, [..][i/2][o][2]. */
typedef struct order_case {
  int64_t dim[4], block[2], outer[4];
  int64_t inner[2]; /* strides in a block */
  int64_t pairs;    /* 2: inputs lie in pairs, `inner` is the distance of pairs; 1: each alone */
} order_case;

static const order_case orders[] = {
    {{32, 48, 3, 3}, {16, 16}, {6912, 2304, 768, 256}, {1, 16}, 1},
    {{32, 48, 3, 3}, {16, 16}, {6912, 2304, 768, 256}, {16, 1}, 1},
    {{16, 3, 3, 3}, {16, 16}, {2304, 2304, 768, 256}, {16, 1}, 1},
    {{20, 5, 1, 3}, {16, 1}, {240, 48, 48, 16}, {1, 0}, 1},
    {{7, 9, 2, 3}, {1, 1}, {54, 1, 27, 9}, {0, 0}, 1},
    {{128, 128, 3, 3}, {8, 8}, {9216, 576, 192, 64}, {1, 8}, 1}, /* parallel */
    {{32, 48, 3, 3}, {16, 16}, {6912, 2304, 768, 256}, {2, 32}, 2},
    {{20, 5, 3, 3}, {16, 16}, {2304, 2304, 768, 256}, {2, 32}, 2},
};

static int64_t place(const order_case *w, int64_t o, int64_t i, int64_t h, int64_t v) {
  const int64_t in_block = i % w->block[I];
  return o / w->block[O] * w->outer[O] + o % w->block[O] * w->inner[O] + i / w->block[I] * w->outer[I] +
         in_block / w->pairs * w->inner[I] + in_block % w->pairs + h * w->outer[H] + v * w->outer[W];
}

static plim_weights_order order_of(const order_case *c, int element_bytes) {
  plim_weights_order w = {.block = {1, 1}, .element_bytes = element_bytes};
  memcpy(w.dim, c->dim, sizeof w.dim);
  memcpy(w.outer, c->outer, sizeof w.outer);
  cr_assert(plim_weights_order_block(&w, I, c->pairs, 1));
  cr_assert(plim_weights_order_block(&w, I, c->block[I] / c->pairs, c->inner[I]));
  cr_assert(plim_weights_order_block(&w, O, c->block[O], c->inner[O]));
  return w;
}

static int64_t padded(const order_case *w, int d) {
  return (w->dim[d] + w->block[d] - 1) / w->block[d] * w->block[d];
}

static int64_t get(const void *elements, int element_bytes, int64_t e) {
  return element_bytes == 2 ? ((const uint16_t *)elements)[e] : ((const uint32_t *)elements)[e];
}

static void put(void *elements, int element_bytes, int64_t e, int64_t value) {
  if (element_bytes == 2) {
    ((uint16_t *)elements)[e] = (uint16_t)value;
  } else {
    ((uint32_t *)elements)[e] = (uint32_t)value;
  }
}

enum { UNTOUCHED = 0xffff };

/* Elements are numbered from 1 on, round and round, so that none is 0. */
static int64_t number(int64_t e) {
  return e % 65000 + 1;
}

static void check(const order_case *c, int bytes) {
  const plim_weights_order w = order_of(c, bytes);
  int64_t n = c->dim[O] * c->dim[I] * c->dim[H] * c->dim[W];
  int64_t room = padded(c, O) * padded(c, I) * c->dim[H] * c->dim[W];
  void *plain = malloc((size_t)(n * bytes)), *back = malloc((size_t)(n * bytes));
  void *ordered = malloc((size_t)((room + 1) * bytes));
  for (int64_t e = 0; e < n; e++) put(plain, bytes, e, number(e));
  for (int64_t e = 0; e <= room; e++) put(ordered, bytes, e, UNTOUCHED);
  plim_weights_to(&w, plain, ordered, 2);
  int64_t e = 0, zeros = 0;
  for (int64_t o = 0; o < c->dim[O]; o++) {
    for (int64_t i = 0; i < c->dim[I]; i++) {
      for (int64_t h = 0; h < c->dim[H]; h++) {
        for (int64_t v = 0; v < c->dim[W]; v++) {
          cr_assert_eq(get(ordered, bytes, place(c, o, i, h, v)), number(e));
          e++;
        }
      }
    }
  }
  for (int64_t p = 0; p < room; p++) zeros += get(ordered, bytes, p) == 0;
  cr_assert_eq(zeros, room - n, "%lld zeros in a padding of %lld", (long long)zeros, (long long)(room - n));
  cr_assert_eq(get(ordered, bytes, room), UNTOUCHED, "written beyond the end");
  plim_weights_from(&w, ordered, back, 2);
  cr_assert_eq(memcmp(plain, back, (size_t)(n * bytes)), 0, "the way back differs");
  free(plain);
  free(back);
  free(ordered);
}

Test(weights, every_element_goes_to_its_place_and_back) {
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    check(&orders[i], 4);
    check(&orders[i], 2);
  }
}

Test(weights, blocks_that_are_too_large_are_refused) {
  plim_weights_order w = {.block = {1, 1}};
  cr_assert(plim_weights_order_block(&w, I, PLIM_WEIGHTS_BLOCK, 1));
  cr_assert(!plim_weights_order_block(&w, I, 2, PLIM_WEIGHTS_BLOCK));
  cr_assert_eq(w.block[I], PLIM_WEIGHTS_BLOCK);
}

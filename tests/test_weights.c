/* Copies of weights between orders: every element at its place, zeros in the padding, nothing else. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/weights.h"

enum { O, I, H, W };

/* Orders that libraries use: [O/b][I/b][KH][KW][i][o] and the like, some with a padded last block. */
static const plim_weights_order orders[] = {
    {.dim = {32, 48, 3, 3}, .block = {16, 16}, .outer = {6912, 2304, 768, 256}, .inner = {1, 16}},
    {.dim = {32, 48, 3, 3}, .block = {16, 16}, .outer = {6912, 2304, 768, 256}, .inner = {16, 1}},
    {.dim = {16, 3, 3, 3}, .block = {16, 16}, .outer = {2304, 2304, 768, 256}, .inner = {16, 1}},
    {.dim = {20, 5, 1, 3}, .block = {16, 1}, .outer = {240, 48, 48, 16}, .inner = {1, 0}},
    {.dim = {7, 9, 2, 3}, .block = {1, 1}, .outer = {54, 1, 27, 9}, .inner = {0, 0}},
    {.dim = {128, 128, 3, 3}, .block = {8, 8}, .outer = {9216, 576, 192, 64}, .inner = {1, 8}}, /* parallel */
};

static int64_t place(const plim_weights_order *w, int64_t o, int64_t i, int64_t h, int64_t v) {
  return o / w->block[O] * w->outer[O] + o % w->block[O] * w->inner[O] + i / w->block[I] * w->outer[I] +
         i % w->block[I] * w->inner[I] + h * w->outer[H] + v * w->outer[W];
}

static int64_t padded(const plim_weights_order *w, int d) {
  return (w->dim[d] + w->block[d] - 1) / w->block[d] * w->block[d];
}

static void check(const plim_weights_order *w) {
  int64_t n = w->dim[O] * w->dim[I] * w->dim[H] * w->dim[W];
  int64_t room = padded(w, O) * padded(w, I) * w->dim[H] * w->dim[W];
  float *plain = malloc((size_t)n * sizeof *plain), *back = malloc((size_t)n * sizeof *back);
  float *ordered = malloc((size_t)(room + 1) * sizeof *ordered);
  for (int64_t e = 0; e < n; e++) plain[e] = (float)(e + 1);
  for (int64_t e = 0; e <= room; e++) ordered[e] = -1;
  plim_weights_to(w, plain, ordered, 2);
  int64_t e = 0, zeros = 0;
  for (int64_t o = 0; o < w->dim[O]; o++) {
    for (int64_t i = 0; i < w->dim[I]; i++) {
      for (int64_t h = 0; h < w->dim[H]; h++) {
        for (int64_t v = 0; v < w->dim[W]; v++) cr_assert_eq(ordered[place(w, o, i, h, v)], (float)++e);
      }
    }
  }
  for (int64_t p = 0; p < room; p++) zeros += ordered[p] == 0;
  cr_assert_eq(zeros, room - n, "%lld zeros in a padding of %lld", (long long)zeros, (long long)(room - n));
  cr_assert_eq(ordered[room], -1, "written beyond the end");
  plim_weights_from(w, ordered, back, 2);
  cr_assert_eq(memcmp(plain, back, (size_t)n * sizeof *plain), 0, "the way back differs");
  free(plain);
  free(back);
  free(ordered);
}

Test(weights, every_element_goes_to_its_place_and_back) {
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) check(&orders[i]);
}

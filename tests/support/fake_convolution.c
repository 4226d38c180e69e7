/* One loop nest for the three directions: each pair of positions that meet adds a product to the result. */
#include "tests/support/fake_convolution.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/kernel_reference.h"

static int64_t place_of(const fake_convolution *c, int operand, int64_t a, int64_t b, int64_t h, int64_t w) {
  const int64_t *step = c->step[operand];
  return a * step[0] + b * step[1] + h * step[2] + w * step[3];
}

/* Where element e in logical order lies. */
static int64_t place_at(const fake_convolution *c, int operand, int64_t e) {
  const int64_t *dim = c->dim[operand];
  return place_of(c, operand, e / (dim[1] * dim[2] * dim[3]), e / (dim[2] * dim[3]) % dim[1], e / dim[3] % dim[2],
                  e % dim[3]);
}

static double element(const fake_convolution *c, int operand, int64_t at) {
  return c->bf16[operand] ? reference_of_bf16(((const uint16_t *)c->place[operand])[at])
                          : (double)((const float *)c->place[operand])[at];
}

/* To the nearest; ties to even. */
static void store(const fake_convolution *c, int operand, int64_t at, double value) {
  float rounded = (float)value;
  uint32_t bits;
  if (!c->bf16[operand]) {
    ((float *)c->place[operand])[at] = rounded;
    return;
  }
  memcpy(&bits, &rounded, sizeof bits);
  ((uint16_t *)c->place[operand])[at] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Tap (h, w) of filter o and channel i, over all positions of y in image n. */
static void add_tap(const fake_convolution *c, const int64_t at[5], double *sum) {
  const int64_t n = at[0], o = at[1], i = at[2], h = at[3], w = at[4];
  const int result = c->direction == 0 ? 2 : c->direction == 1 ? 0 : 1;
  for (int64_t y = 0; y < c->dim[2][2] * c->dim[2][3]; y++) {
    int64_t row = y / c->dim[2][3], column = y % c->dim[2][3];
    int64_t from_row = row * c->stride[0] - c->pad[0] + h, from_column = column * c->stride[1] - c->pad[1] + w;
    if (from_row < 0 || from_row >= c->dim[0][2] || from_column < 0 || from_column >= c->dim[0][3]) continue;
    const int64_t place[3] = {place_of(c, 0, n, i, from_row, from_column), place_of(c, 1, o, i, h, w),
                              place_of(c, 2, n, o, row, column)};
    double product = 1;
    for (int k = 0; k < 3; k++) product *= k == result ? 1 : element(c, k, place[k]);
    sum[place[result]] += product;
  }
}

void fake_convolution_run(const void *convolution) {
  const fake_convolution *c = convolution;
  const int result = c->direction == 0 ? 2 : c->direction == 1 ? 0 : 1;
  int64_t elements = 1, at[5];
  for (int k = 0; k < 4; k++) elements *= c->dim[result][k];
  double *sum = calloc((size_t)elements, sizeof *sum);
  if (c->workspace_bytes > 0) memset(c->workspace, 0x5a, (size_t)c->workspace_bytes);
  for (at[0] = 0; at[0] < c->dim[0][0]; at[0]++) {
    for (at[1] = 0; at[1] < c->dim[1][0]; at[1]++) {
      for (at[2] = 0; at[2] < c->dim[1][1]; at[2]++) {
        for (int64_t tap = 0; tap < c->dim[1][2] * c->dim[1][3]; tap++) {
          at[3] = tap / c->dim[1][3];
          at[4] = tap % c->dim[1][3];
          add_tap(c, at, sum);
        }
      }
    }
  }
  for (int64_t e = 0; e < elements; e++) {
    const int64_t place = place_at(c, result, e);
    store(c, result, place, c->wrong ? sum[place] * 1.05 : sum[place]);
  }
  free(sum);
}

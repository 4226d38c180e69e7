/* Sorting by the C library; the greatest common divisor by Euclid. */
#include "runtime/base/integers.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

void plim_integers_sort(int64_t *value, int64_t n) {
  if (n > 1) qsort(value, (size_t)n, sizeof *value, by_value);
}

int64_t plim_integers_gcd(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

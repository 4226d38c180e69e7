/* Sorting by the C library; the greatest common divisor by Euclid; Luby's sequence by halving. */
#include "runtime/base/integers.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return plim_integers_compare(x, y);
}

void plim_integers_sort(int64_t *value, int64_t n) {
  if (n > 1) qsort(value, (size_t)n, sizeof *value, by_value);
}

int64_t plim_integers_count_below(const int64_t *value, int64_t n, int64_t limit) {
  int64_t low = 0, high = n;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (value[middle] < limit) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

int64_t plim_integers_gcd(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* The sequence of length 2^k - 1 is twice the one of half the length, and then 2^(k - 1). */
int64_t plim_integers_luby(int64_t i) {
  int64_t at = i + 1, length = 1;
  while (length < at) length = 2 * length + 1;
  while (length != at) {
    length /= 2;
    if (at > length) at -= length;
  }
  return (length + 1) / 2;
}

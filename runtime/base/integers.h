/* 64-bit integers: sorting, searching, comparing, the smaller and the larger of two, capped sums and products, greatest
 * common divisor, Luby's sequence, integers from reals. Pure functions, safe on any thread. */
#ifndef PLIM_RUNTIME_BASE_INTEGERS_H
#define PLIM_RUNTIME_BASE_INTEGERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sort value [n] in place, ascending. O(n log n). */
void plim_integers_sort(int64_t *value, int64_t n);

/* How many of value [n], ascending, are below `limit`: the index of the first that is not. O(log n). */
int64_t plim_integers_count_below(const int64_t *value, int64_t n, int64_t limit);

/* What a comparison for qsort returns: below, equal to or above 0. */
static inline int plim_integers_compare(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

static inline int64_t plim_integers_smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static inline int64_t plim_integers_larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* a + b and a * b for a, b >= 0; INT64_MAX where that is larger. */
static inline int64_t plim_integers_add_capped(int64_t a, int64_t b) {
  return a > INT64_MAX - b ? INT64_MAX : a + b;
}
static inline int64_t plim_integers_multiply_capped(int64_t a, int64_t b) {
  return b > 0 && a > INT64_MAX / b ? INT64_MAX : a * b;
}

/* The integer part of value >= 0; 2^53 where that is larger, since doubles are exact up to there alone. */
static inline int64_t plim_integers_from_real(double value) {
  return value < 0x1p53 ? (int64_t)value : INT64_C(1) << 53;
}

/* The greatest number that divides both; of 0 and x it is x. a, b >= 0. */
int64_t plim_integers_gcd(int64_t a, int64_t b);

/* Number i, from 0, of Luby's sequence 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ...: lengths of restarts. i >= 0. O(log i).
 * Source: Luby, Sinclair, Zuckerman, 1993. */
int64_t plim_integers_luby(int64_t i);

#ifdef __cplusplus
}
#endif
#endif

/* 64-bit integers: sorting, capped sums and products, greatest common divisor. */
#ifndef PLIM_RUNTIME_BASE_INTEGERS_H
#define PLIM_RUNTIME_BASE_INTEGERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sort value [n] in place, ascending. O(n log n). */
void plim_integers_sort(int64_t *value, int64_t n);

/* a + b and a * b for a, b >= 0; INT64_MAX where that is larger. */
static inline int64_t plim_integers_add_capped(int64_t a, int64_t b) {
  return a > INT64_MAX - b ? INT64_MAX : a + b;
}
static inline int64_t plim_integers_multiply_capped(int64_t a, int64_t b) {
  return b > 0 && a > INT64_MAX / b ? INT64_MAX : a * b;
}

/* The greatest number that divides both; of 0 and x it is x. a, b >= 0. */
int64_t plim_integers_gcd(int64_t a, int64_t b);

#ifdef __cplusplus
}
#endif
#endif

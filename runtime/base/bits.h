/* The lowest and the highest bit of a word. Pure functions, safe on any thread, O(1). */
#ifndef PLIM_RUNTIME_BASE_BITS_H
#define PLIM_RUNTIME_BASE_BITS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Number of the lowest bit of x that is 1, or of the highest one, counted from 0. x is not 0. */
static inline int plim_bits_lowest(uint64_t x) {
#if defined(__GNUC__)
  return __builtin_ctzll(x);
#else
  int n = 0;
  for (int width = 32; width > 0; width /= 2) {
    uint64_t low = x & (((uint64_t)1 << width) - 1);
    if (low == 0) n += width;
    x = low == 0 ? x >> width : low;
  }
  return n;
#endif
}

static inline int plim_bits_highest(uint64_t x) {
#if defined(__GNUC__)
  return 63 - __builtin_clzll(x);
#else
  int n = 0;
  for (int width = 32; width > 0; width /= 2) {
    uint64_t high = x >> width;
    if (high != 0) n += width;
    x = high != 0 ? high : x;
  }
  return n;
#endif
}

#ifdef __cplusplus
}
#endif
#endif

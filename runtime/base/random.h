/* Random numbers for searches and for the operands of measurements: small, fast, equal on every machine. A generator
 * belongs to one thread at a time. O(1) a number. */
#ifndef PLIM_RUNTIME_BASE_RANDOM_H
#define PLIM_RUNTIME_BASE_RANDOM_H

#include <stdint.h>

/* The number that each draw adds to the state. */
#define PLIM_RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15)

typedef struct plim_random {
  uint64_t state;
} plim_random;

/* Source: splitmix64, Steele, Lea, Flood, OOPSLA 2014. */
static inline uint64_t plim_random_next(plim_random *random) {
  uint64_t z = random->state += PLIM_RANDOM_STEP;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

/* Uniform in [0, n), n > 0. The bias of the multiplication is below 2^-32. */
static inline int32_t plim_random_below(plim_random *random, int32_t n) {
  return (int32_t)(((plim_random_next(random) >> 32) * (uint64_t)n) >> 32);
}

/* Uniform in (0, 1]. */
static inline double plim_random_unit(plim_random *random) {
  return ((double)(plim_random_next(random) >> 11) + 1) * (1.0 / 9007199254740992.0);
}

static inline int plim_random_percent(plim_random *random, int percent) {
  return plim_random_below(random, 100) < percent;
}

#endif

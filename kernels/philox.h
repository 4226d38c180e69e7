/* Philox 4x32-10, the counter-based generator behind every random number: dropout, first weights, shuffling,
 * augmentation. A draw is a function of its key and counter alone, so it can be repeated in any order, anywhere.
 * Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
 * Data and arithmetic only: every layer may include this header, and it includes none of ours. */
#ifndef PLIM_KERNELS_PHILOX_H
#define PLIM_KERNELS_PHILOX_H

#include <stdint.h>

#ifndef PLIM_PHILOX_FN /* the GPU compiler wants its own qualifiers */
#define PLIM_PHILOX_FN static inline
#endif

enum { PLIM_PHILOX_ROUNDS = 10 };

/* Four words of 32 random bits. */
typedef struct plim_philox {
  uint32_t word[4];
} plim_philox;

#define PLIM_PHILOX_M0 UINT32_C(0xD2511F53)
#define PLIM_PHILOX_M1 UINT32_C(0xCD9E8D57)
#define PLIM_PHILOX_W0 UINT32_C(0x9E3779B9)
#define PLIM_PHILOX_W1 UINT32_C(0xBB67AE85)

/* The draw at position `index` of the stream `stream` under the key `seed`. */
PLIM_PHILOX_FN plim_philox plim_philox_at(uint64_t seed, uint64_t stream, uint64_t index) {
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  uint32_t c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32), c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
  for (int round = 0; round < PLIM_PHILOX_ROUNDS; round++) {
    uint64_t p0 = (uint64_t)c0 * PLIM_PHILOX_M0, p1 = (uint64_t)c2 * PLIM_PHILOX_M1;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)p1;
    c3 = (uint32_t)p0;
    k0 += PLIM_PHILOX_W0;
    k1 += PLIM_PHILOX_W1;
  }
  plim_philox draw = {{c0, c1, c2, c3}};
  return draw;
}

#endif

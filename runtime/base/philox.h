/* Philox4x32-10: a counter-based generator. A draw is a function of (key, counter) and nothing else, so it can be
 * made again in any order. Source: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011. */
#ifndef PLIM_RUNTIME_BASE_PHILOX_H
#define PLIM_RUNTIME_BASE_PHILOX_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_philox {
  uint32_t word[4];
} plim_philox;

/* Four words of the stream `stream` at position `index` under the key `seed`. */
plim_philox plim_philox_at(uint64_t seed, uint64_t stream, uint64_t index);

/* 64 bits that stand for a name: a stream of its own (FNV-1a). */
uint64_t plim_philox_stream(const char *name);

#ifdef __cplusplus
}
#endif
#endif

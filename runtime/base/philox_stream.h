/* Streams of random numbers by name; the generator is kernels/philox.h. Pure, safe on any thread. */
#ifndef PLIM_RUNTIME_BASE_PHILOX_STREAM_H
#define PLIM_RUNTIME_BASE_PHILOX_STREAM_H

#include <stdint.h>

#include "kernels/philox.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The stream of a name: 64 bits, a hash of the name. */
uint64_t plim_philox_stream(const char *name);

#ifdef __cplusplus
}
#endif
#endif

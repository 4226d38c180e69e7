/* Hashes the names of streams. */
#include "runtime/base/philox_stream.h"

#include <string.h>

#include "kernels/fnv.h"

uint64_t plim_philox_stream(const char *name) {
  return plim_fnv64(PLIM_FNV64, name, strlen(name));
}

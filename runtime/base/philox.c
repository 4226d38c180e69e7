/* The stream of a name is its hash. */
#include "runtime/base/philox.h"

uint64_t plim_philox_stream(const char *name) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (; *name; name++) hash = (hash ^ (uint8_t)*name) * 0x100000001B3u;
  return hash;
}

/* Ten Philox rounds on a counter of four words: index in the low two, stream in the high two. */
#include "runtime/base/philox.h"

enum { PHILOX_ROUNDS = 10 };

plim_philox plim_philox_at(uint64_t seed, uint64_t stream, uint64_t index) {
  uint32_t c[4] = {(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
  uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  for (int round = 0; round < PHILOX_ROUNDS; round++) {
    uint64_t a = (uint64_t)0xD2511F53u * c[0];
    uint64_t b = (uint64_t)0xCD9E8D57u * c[2];
    uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ key[0], (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ key[1],
                        (uint32_t)a};
    for (int i = 0; i < 4; i++) c[i] = next[i];
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return (plim_philox){{c[0], c[1], c[2], c[3]}};
}

uint64_t plim_philox_stream(const char *name) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (; *name; name++) hash = (hash ^ (uint8_t)*name) * 0x100000001B3u;
  return hash;
}

/* SHA-256 as FIPS 180-4 writes it: 64 rounds a block of 64 bytes over eight words. */
#include "runtime/base/sha256.h"

#include <string.h>

/* First 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2). */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int by) {
  return x >> by | x << (32 - by);
}

static void expand(const uint8_t *block, uint32_t *w) {
  for (int i = 0; i < 16; i++) {
    const uint8_t *b = block + 4 * i;
    w[i] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
  }
  for (int i = 16; i < 64; i++) {
    uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
    uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
}

static void add_block(plim_sha256 *sha, const uint8_t *block) {
  uint32_t w[64], v[8];
  expand(block, w);
  memcpy(v, sha->state, sizeof v);
  for (int i = 0; i < 64; i++) {
    uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
    uint32_t choose = (v[4] & v[5]) ^ (~v[4] & v[6]);
    uint32_t t1 = v[7] + s1 + choose + constants[i] + w[i];
    uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
    uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += t1;
    v[0] = t1 + s0 + majority;
  }
  for (int i = 0; i < 8; i++) sha->state[i] += v[i];
}

void plim_sha256_begin(plim_sha256 *sha) {
  static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memset(sha, 0, sizeof *sha);
  memcpy(sha->state, start, sizeof start);
}

void plim_sha256_add(plim_sha256 *sha, const void *data, size_t bytes) {
  const uint8_t *from = data;
  while (bytes > 0) {
    size_t held = sha->bytes % 64, n = 64 - held < bytes ? 64 - held : bytes;
    memcpy(sha->block + held, from, n);
    sha->bytes += n;
    from += n;
    bytes -= n;
    if (sha->bytes % 64 == 0) add_block(sha, sha->block);
  }
}

void plim_sha256_end(plim_sha256 *sha, uint8_t *digest) {
  static const uint8_t padding[64] = {0x80};
  uint64_t bits = sha->bytes * 8;
  uint8_t length[8];
  for (int i = 0; i < 8; i++) length[i] = (uint8_t)(bits >> (56 - 8 * i));
  plim_sha256_add(sha, padding, 1 + (119 - sha->bytes % 64) % 64);
  plim_sha256_add(sha, length, sizeof length);
  for (int i = 0; i < PLIM_SHA256_BYTES; i++) digest[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

void plim_sha256_hex(const void *data, size_t bytes, char *hex) {
  static const char digits[] = "0123456789abcdef";
  plim_sha256 sha;
  uint8_t digest[PLIM_SHA256_BYTES];
  plim_sha256_begin(&sha);
  plim_sha256_add(&sha, data, bytes);
  plim_sha256_end(&sha, digest);
  for (int i = 0; i < PLIM_SHA256_BYTES; i++) {
    hex[2 * i] = digits[digest[i] >> 4];
    hex[2 * i + 1] = digits[digest[i] & 15];
  }
  hex[2 * PLIM_SHA256_BYTES] = '\0';
}

int plim_sha256_is_hex(const char *hex) {
  return strspn(hex, "0123456789abcdef") == 2 * PLIM_SHA256_BYTES && hex[2 * PLIM_SHA256_BYTES] == '\0';
}

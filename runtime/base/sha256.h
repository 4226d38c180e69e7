/* SHA-256 (FIPS 180-4), for the fingerprints of documents. O(bytes). A digest belongs to one thread at a time. */
#ifndef PLIM_RUNTIME_BASE_SHA256_H
#define PLIM_RUNTIME_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_SHA256_BYTES = 32, PLIM_SHA256_HEX_BYTES = 65 };

typedef struct plim_sha256 {
  uint32_t state[8];
  uint64_t bytes;    /* bytes added so far */
  uint8_t block[64]; /* the first bytes % 64 hold data that are not yet hashed */
} plim_sha256;

/* Begin a digest; add bytes to it, in any parts; end it with digest [32] out. */
void plim_sha256_begin(plim_sha256 *sha);
void plim_sha256_add(plim_sha256 *sha, const void *data, size_t bytes);
void plim_sha256_end(plim_sha256 *sha, uint8_t *digest);

/* Digest of a text as 64 lower-case hexadecimal digits and a NUL; hex [65]. */
void plim_sha256_hex(const void *data, size_t bytes, char *hex);

/* Whether `hex` is 64 lower-case hexadecimal digits and a NUL. */
int plim_sha256_is_hex(const char *hex);

#ifdef __cplusplus
}
#endif
#endif

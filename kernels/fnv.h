/* FNV-1a: a short hash of bytes, for tables and names; nothing that others may choose on purpose.
 * Source: Fowler, Noll, Vo, "The FNV Non-Cryptographic Hash Algorithm", IETF draft, 2012.
 * Data and arithmetic only: every layer may include this header, and it includes none of ours. */
#ifndef PLIM_KERNELS_FNV_H
#define PLIM_KERNELS_FNV_H

#include <stddef.h>
#include <stdint.h>

#define PLIM_FNV32 UINT32_C(2166136261)
#define PLIM_FNV64 UINT64_C(14695981039346656037)
#define PLIM_FNV64_PRIME UINT64_C(1099511628211)

/* The hash of what `hash` is of and these bytes after it; of nothing it is PLIM_FNV32, PLIM_FNV64. */
static inline uint32_t plim_fnv32(uint32_t hash, const void *bytes, size_t count) {
  const unsigned char *byte = (const unsigned char *)bytes;
  for (size_t i = 0; i < count; i++) hash = (hash ^ byte[i]) * UINT32_C(16777619);
  return hash;
}

static inline uint64_t plim_fnv64(uint64_t hash, const void *bytes, size_t count) {
  const unsigned char *byte = (const unsigned char *)bytes;
  for (size_t i = 0; i < count; i++) hash = (hash ^ byte[i]) * PLIM_FNV64_PRIME;
  return hash;
}

#endif

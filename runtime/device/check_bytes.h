/* Byte ranges of an arena for the check device: ranges that hold contents, and ranges that may change. Pure functions,
 * safe on any thread. */
#ifndef PLIM_RUNTIME_DEVICE_CHECK_BYTES_H
#define PLIM_RUNTIME_DEVICE_CHECK_BYTES_H

#include "runtime/device/device.h"

/* A half-open range, in bytes from the arena's base. */
typedef struct plim_range {
  int64_t begin, end;
  int32_t buffer; /* of the plan, or PLIM_NONE */
} plim_range;

/* Sort the ranges by begin. */
void plim_ranges_sort(plim_range *range, int32_t n);

/* Fill [0, bytes) outside the ranges (sorted) with `byte`. */
void plim_fill_outside(char *arena, int64_t bytes, const plim_range *range, int32_t n, int byte);

/* Index of the first byte of [0, bytes) outside the ranges (sorted) at which a and b differ, PLIM_NONE when there is
 * none. */
int64_t plim_differs_outside(const char *a, const char *b, int64_t bytes, const plim_range *range, int32_t n);

/* Index of the first byte of [begin, end) at which a and b differ, PLIM_NONE when there is none. */
int64_t plim_differs(const char *a, const char *b, int64_t begin, int64_t end);

/* A hash of the bytes: FNV-1a with 8 bytes a round. */
uint64_t plim_bytes_hash(const char *bytes, int64_t count);

#endif

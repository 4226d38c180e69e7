/* Byte sizes as people write them: 96MiB, 1.5GiB, 500MB, 12345, 45%. */
#ifndef PLIM_RUNTIME_BASE_SIZE_H
#define PLIM_RUNTIME_BASE_SIZE_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_size {
  int64_t bytes;          /* -1: a percentage, percent / scale of some whole */
  int64_t percent, scale; /* scale is 1, 10, 100 or 1000 */
} plim_size;

/* A positive number with at most 6 digits after a point (percentages: 3, up to 1000), then nothing or B (bytes), KiB,
 * MiB, GiB, TiB (powers of 1024), kB, KB, MB, GB, TB (powers of 1000), or %; one blank may stand between. What is not a
 * whole number of bytes is rounded down: a budget is never more than was written. PLIM_EUSAGE otherwise; the sentence
 * begins with the text. Exact: integers only. */
PLIM_MUST_USE plim_status plim_size_parse(plim_context *ctx, const char *text, plim_size *out);

/* The bytes of a size: its own, or ceil(percent x whole / 100). -1 on overflow. */
int64_t plim_size_bytes(const plim_size *size, int64_t whole);

enum { PLIM_SIZE_TEXT_BYTES = 32 };

/* "64.0 MiB": one digit after the point, rounded to the nearest; "512 B" below 1 KiB. text [PLIM_SIZE_TEXT_BYTES].
 * Returns text. bytes >= 0. */
const char *plim_size_print(int64_t bytes, char *text);

#ifdef __cplusplus
}
#endif
#endif

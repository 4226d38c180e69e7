/* Byte sizes: sums and products that see overflow, alignment, numbers that stand for no size, and the texts that people
 * write: 96MiB, 1.5GiB, 500MB, 12345, 45%. All functions are safe on any thread, plim_size_parse with a context of its
 * own. */
#ifndef PLIM_RUNTIME_BASE_SIZE_H
#define PLIM_RUNTIME_BASE_SIZE_H

#include <stdint.h>

#include "runtime/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_context plim_context; /* runtime/base/context.h */

enum { PLIM_ALIGN = 512 }; /* buffers are aligned and rounded to this on every device */

/* ---- numbers that stand for something that is not there: a name for each role ---- */

/* Every other index, time and size is >= 0, so `x < 0` asks for them too. */
enum {
  PLIM_NONE = -1,   /* as an index, an id, an address or a size: there is none */
  PLIM_UNKNOWN = -1 /* as a time, a size or another figure: it is not known */
};
#define PLIM_BYTES_UNLIMITED INT64_MAX /* as a budget, or another limit on bytes: there is none */
#define PLIM_TIME_UNLIMITED INT64_MAX  /* as a deadline, or another limit on time: there is none */
#define PLIM_TIME_INFINITE INT64_MAX   /* as the time of what has no end or was not found: above all others */

/* a + b and a * b of sizes; -1 on overflow, and when an operand is negative. */
int64_t plim_add_checked(int64_t a, int64_t b);
int64_t plim_mul_checked(int64_t a, int64_t b);
/* Round up to a multiple of `align` > 0; -1 on overflow, and when `bytes` is negative. */
int64_t plim_align_up(int64_t bytes, int64_t align);

/* ---- texts ---- */

typedef struct plim_size {
  int64_t bytes;          /* -1: a percentage, percent / scale in percent */
  int64_t percent, scale; /* scale is 1, 10, 100 or 1000 */
} plim_size;

/* Read a size: a positive number, at most one blank, and a unit.
 *   nothing or B             bytes
 *   KiB, MiB, GiB, TiB       powers of 1024
 *   kB, KB, MB, GB, TB       powers of 1000
 *   %                        percent, up to 1000
 * At most 6 digits after the point, 3 of a percentage. A fraction of a byte is rounded down, so that a budget is never
 * more than was written. Exact: integers only.
 * PLIM_EUSAGE otherwise, also below one byte and from 2^63 - 1 bytes on; the sentence begins with the text. */
PLIM_MUST_USE plim_status plim_size_parse(plim_context *ctx, const char *text, plim_size *out);

/* The bytes of a size: its own, or the percentage of `whole` >= 0 bytes, rounded up. -1 on overflow. */
int64_t plim_size_bytes(const plim_size *size, int64_t whole);

enum { PLIM_SIZE_TEXT_BYTES = 32 };

/* Write bytes >= 0 as "64.0 MiB", rounded to one digit after the point, or as "512 B" below 1 KiB.
 *   text  [PLIM_SIZE_TEXT_BYTES]  out
 * Returns text. */
const char *plim_size_print(int64_t bytes, char *text);

#ifdef __cplusplus
}
#endif
#endif

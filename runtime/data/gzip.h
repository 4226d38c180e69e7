/* Inflates whole gzip files of text in memory, strictly. */
#ifndef PLIM_RUNTIME_DATA_GZIP_H
#define PLIM_RUNTIME_DATA_GZIP_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Read and inflate a gzip file of at most `limit` bytes, before and after.
 *   data   [1]  out  the text, with a NUL after its last byte; release it with plim_file_release
 *   bytes  [1]  out  bytes of the text, without the NUL
 * PLIM_EDATA: the data are too large, corrupt or truncated, or bytes follow after the last member. The sentence then
 * names the line of the text that was reached. PLIM_ENOMEM; other errors are those of plim_file_read. O(bytes). */
PLIM_MUST_USE plim_status plim_gzip_read(plim_context *ctx, const char *path, int64_t limit, char **data,
                                         int64_t *bytes);

/* Inflate bytes that were read already; `path` names the file in sentences. PLIM_OK with *data NULL: the bytes are not
 * those of a gzip file, or are 4 GiB or more. Errors are those of inflating in plim_gzip_read. */
PLIM_MUST_USE plim_status plim_gzip_inflate(plim_context *ctx, const char *path, char *packed, int64_t packed_bytes,
                                            int64_t limit, char **data, int64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif

/* Whole gzip files of text in memory, read strictly. */
#ifndef PLIM_RUNTIME_DATA_GZIP_H
#define PLIM_RUNTIME_DATA_GZIP_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Inflate a gzip file of at most `limit` inflated bytes. *data has a NUL after its last byte; give it back with
 * plim_file_release. PLIM_ENOFILE when it is not there; PLIM_EDATA when it is larger, corrupt, cut, or continues after
 * its members with what is none; the sentence names the line that was reached. */
PLIM_MUST_USE plim_status plim_gzip_read(plim_context *ctx, const char *path, int64_t limit, char **data,
                                         int64_t *bytes);

/* The same of bytes that were read already, from `path` as the sentence says. PLIM_OK with *data NULL: they are not
 * gzip's. */
PLIM_MUST_USE plim_status plim_gzip_inflate(plim_context *ctx, const char *path, char *packed, int64_t packed_bytes,
                                            int64_t limit, char **data, int64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif

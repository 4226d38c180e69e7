/* Inflates gzip files, strictly: each as a reader of parts, or as a whole text. On the thread of the context.
 *
 * PLIM_EDATA: the data are corrupt or truncated, or bytes follow after the last member; the sentence begins with the
 * path. PLIM_ENOMEM. PLIM_EIO: the file cannot be read. All take O(bytes). */
#ifndef PLIM_RUNTIME_DATA_GZIP_H
#define PLIM_RUNTIME_DATA_GZIP_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_gzip plim_gzip;

/* Open a file.
 *   path  in   must outlive the reader
 *   out   out  close with plim_gzip_close
 * Also the errors of plim_file_open. */
PLIM_MUST_USE plim_status plim_gzip_open(plim_context *ctx, const char *path, plim_gzip **out);
void plim_gzip_close(plim_gzip *gzip); /* NULL is legal */

/* Inflate the next bytes.
 *   to   [want]  out
 *   got  [1]     out  number of bytes; less than `want` only at the end of the data, whose checksum was right then.
 *                     After a failure: those before it */
PLIM_MUST_USE plim_status plim_gzip_next(plim_gzip *gzip, uint8_t *to, int64_t want, int64_t *got);

/* Bytes of the file that was opened; PLIM_BYTES_UNLIMITED: not known. O(1). */
int64_t plim_gzip_packed_bytes(const plim_gzip *gzip);

/* Read a whole gzip file of a text of at most `limit` bytes.
 *   data   [1]  out  the text, with a NUL after its last byte; release it with plim_file_release
 *   bytes  [1]  out  bytes of the text, without the NUL
 * PLIM_EDATA also where the text is larger. The sentence then names the line of the text that was reached. Also the
 * errors of plim_file_open. */
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

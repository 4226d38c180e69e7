/* Whole files: read within a limit, and replaced whole, so that nobody ever finds half a file. */
#ifndef PLIM_RUNTIME_BASE_FILE_H
#define PLIM_RUNTIME_BASE_FILE_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Read a regular file of at most `limit` bytes. *data has a NUL behind its last byte; the caller gives it back with
 * plim_file_release. PLIM_ENOFILE when it is not there, PLIM_EDATA when it is larger, PLIM_EIO else. */
PLIM_MUST_USE plim_status plim_file_read(plim_context *ctx, const char *path, int64_t limit, char **data,
                                         int64_t *bytes);
void plim_file_release(plim_context *ctx, char *data, int64_t bytes); /* NULL is legal */

/* A file being written under a temporary name in the folder of `path`. Commit writes what is left, syncs, renames it to
 * `path` and syncs the folder; until then `path` is as it was. Commit and abandon free the writer in every case, and
 * after a failure or an abandon no temporary file is left. A device or pipe is written directly. */
typedef struct plim_file plim_file;

PLIM_MUST_USE plim_status plim_file_begin(plim_context *ctx, const char *path, plim_file **out);
/* Buffered; allocates nothing. The first failure is kept and returned by every later call. */
plim_status plim_file_write(plim_file *file, const void *data, int64_t bytes);
PLIM_MUST_USE plim_status plim_file_commit(plim_file *file);
void plim_file_abandon(plim_file *file); /* NULL is legal */

/* Could a file be written there? To be asked in front of long work; leaves nothing behind. */
PLIM_MUST_USE plim_status plim_file_try(plim_context *ctx, const char *path);

/* 1: a device or pipe, which is written directly. */
int plim_file_is_direct(const char *path);

/* All of it at once: replace the file by `bytes` bytes. */
PLIM_MUST_USE plim_status plim_file_save(plim_context *ctx, const char *path, const void *data, int64_t bytes);

#ifdef __cplusplus
}
#endif
#endif

/* Whole files: read within a limit, and replaced whole, so that no one ever finds half a file. */
#ifndef PLIM_RUNTIME_BASE_FILE_H
#define PLIM_RUNTIME_BASE_FILE_H

#include <stdio.h>

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Paths that name an open descriptor, /dev/stdin, /dev/stdout and /dev/fd/N, are read and written through it, whatever
 * is after it: a file from where it stands, a pipe to its end. */

/* Read a regular file of at most `limit` bytes. *data has a NUL after its last byte; the caller gives it back with
 * plim_file_release. PLIM_ENOFILE when it is not there, PLIM_EDATA when it is larger, PLIM_ECANCEL when
 * it was cancelled while a pipe had nothing, PLIM_EIO else. */
PLIM_MUST_USE plim_status plim_file_read(plim_context *ctx, const char *path, int64_t limit, char **data,
                                         int64_t *bytes);
void plim_file_release(plim_context *ctx, char *data, int64_t bytes); /* NULL is legal */

/* The same file as a stream, for what is read in parts. PLIM_EDATA for a pipe or device, which could wait for ever. */
PLIM_MUST_USE plim_status plim_file_open(plim_context *ctx, const char *path, FILE **out);

/* A file being written under a temporary name in the folder of `path`. Commit writes what is left, syncs, renames it to
 * `path` and syncs the folder; until then `path` is as it was. Commit and abandon free the writer in every case, and
 * after a failure or an abandon no temporary file is left.
 *
 * A file that is replaced keeps its permissions and, where the system allows it, its owner and group. A symbolic link
 * stays: the file that it names is replaced. A file that this process may not write is not replaced.
 *
 * A process that is killed leaves its temporary. The next write into that folder, by whatever process of this user,
 * removes it: temporary.h says how living writers are told from dead ones.
 *
 * A device or pipe is written directly. Writing waits for a pipe's reader; a cancel of the context ends the wait after
 * a fifth of a second, with PLIM_ECANCEL. */
typedef struct plim_file plim_file;

PLIM_MUST_USE plim_status plim_file_begin(plim_context *ctx, const char *path, plim_file **out);
/* Buffered; allocates nothing. The first failure is kept and returned by every later call. */
plim_status plim_file_write(plim_file *file, const void *data, int64_t bytes);
PLIM_MUST_USE plim_status plim_file_commit(plim_file *file);
void plim_file_abandon(plim_file *file); /* NULL is legal */

/* Could a file be written there? To be asked before long work; leaves nothing after. */
PLIM_MUST_USE plim_status plim_file_try(plim_context *ctx, const char *path);

/* 1: a device, pipe or open descriptor, which is written directly. */
int plim_file_is_direct(const char *path);

/* 1: some file has a temporary name now, which ending the process would leave. For signal handlers. */
int plim_file_is_writing(void);

/* All of it at once: replace the file by `bytes` bytes. */
PLIM_MUST_USE plim_status plim_file_save(plim_context *ctx, const char *path, const void *data, int64_t bytes);

/* The same for a file that no user named, such as one of a cache: the name itself is replaced, whether a file, a link
 * or a pipe has it, and the new file has the permissions that the umask leaves. Never waits. */
PLIM_MUST_USE plim_status plim_file_replace(plim_context *ctx, const char *path, const void *data, int64_t bytes);

#ifdef __cplusplus
}
#endif
#endif

/* Reads whole files within a limit, and replaces whole files, so that a reader never finds half a file.
 *
 * Functions run on the thread of their context, and one plim_file belongs to one thread; several threads with contexts
 * of their own may read and write at once. After a failure the context's sentence begins with the path. Outputs are
 * then untouched.
 *
 * file_read.c reads, file_write.c replaces. */
#ifndef PLIM_RUNTIME_BASE_FILE_H
#define PLIM_RUNTIME_BASE_FILE_H

#include <stdio.h>

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_FILE_PATH_BYTES = 4096 }; /* of the longest path, with its NUL */

/* Paths that name an open descriptor (/dev/stdin, /dev/stdout, /dev/stderr, /dev/fd/N) are read and written through it.
 * A file is read from the descriptor's position, a pipe to its end. */

/* Read a regular file, or a pipe or socket named as above to its end.
 *   limit  in   most bytes, or PLIM_BYTES_UNLIMITED
 *   data   out  [*bytes + 1] with a NUL after the last byte; free it with plim_file_release
 *   bytes  out  without that NUL
 * PLIM_ENOFILE: there is no such file. PLIM_EDATA: it has more than `limit` bytes, or is a folder or a device.
 * PLIM_ECANCEL: cancelled while waiting for a pipe. PLIM_ENOMEM. PLIM_EIO: any other failure, also when the file became
 * shorter meanwhile. O(bytes). Holds a file once in memory, and the data of a pipe up to three times while the buffer
 * grows. */
PLIM_MUST_USE plim_status plim_file_read(plim_context *ctx, const char *path, int64_t limit, char **data,
                                         int64_t *bytes);
/* Release the data of plim_file_read, with the same number of bytes. NULL is legal. */
void plim_file_release(plim_context *ctx, char *data, int64_t bytes);

/* Open a file as a stream, to be read in parts; the caller closes it. Errors are those of plim_file_read, except that a
 * pipe or device, which could wait for ever, gives PLIM_EDATA. O(1). */
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

/* Begin to write a file. PLIM_EIO: the folder is missing, `path` is a folder or a circle of links, or the folder cannot
 * be written to. PLIM_ECANCEL, PLIM_ENOMEM. Reads up to 10,000 names of the folder, to find temporaries of dead
 * writers. */
PLIM_MUST_USE plim_status plim_file_begin(plim_context *ctx, const char *path, plim_file **out);
/* Append [bytes]. Buffered, 64 KiB at a time; allocates nothing. The first failure (PLIM_EIO, PLIM_ECANCEL) is kept and
 * returned by every later call. */
plim_status plim_file_write(plim_file *file, const void *data, int64_t bytes);
/* End the writing and free the writer. PLIM_OK: the file has its name, and both are on the disk. Waits for the disk
 * twice, for milliseconds. */
PLIM_MUST_USE plim_status plim_file_commit(plim_file *file);
void plim_file_abandon(plim_file *file); /* NULL is legal */

/* Check that a file could be written to `path`, for use before long work. It leaves no file. Errors are those of
 * plim_file_begin. */
PLIM_MUST_USE plim_status plim_file_try(plim_context *ctx, const char *path);

/* 1: a device, pipe or open descriptor, which is written directly. */
int plim_file_is_direct(const char *path);

/* Whether a file of this process has a temporary name now, which would stay if the process ended. For signal handlers.
 */
int plim_file_is_writing(void);

/* Begin, write and commit at once: replace the file by data [bytes]. */
PLIM_MUST_USE plim_status plim_file_save(plim_context *ctx, const char *path, const void *data, int64_t bytes);

/* The same for a file that no user named, such as one of a cache. The name itself is replaced, whether it is a file, a
 * link or a pipe. The new file has the permissions that the umask leaves. Never waits for a reader. */
PLIM_MUST_USE plim_status plim_file_replace(plim_context *ctx, const char *path, const void *data, int64_t bytes);

#ifdef __cplusplus
}
#endif
#endif

/* What file_read.c and file_write.c share: paths that name an open descriptor, and failures that name a path. Safe on
 * several threads with contexts of their own. */
#ifndef PLIM_RUNTIME_BASE_FILE_PATH_H
#define PLIM_RUNTIME_BASE_FILE_PATH_H

#include "runtime/base/context.h"

/* Between two looks of one that waits for the other end of a pipe, at the context's cancel. */
enum { PLIM_FILE_LOOK_MS = 20 };

/* A failure by errno: PLIM_ENOFILE for ENOENT, else PLIM_EIO. what: "could not ..." */
plim_status plim_file_fail_errno(plim_context *ctx, const char *path, const char *what);

/* The open descriptor that a path names, -1: none. Opening such a path would begin a file anew, and fails for sockets.
 */
int plim_file_descriptor(const char *path);

/* *fd out: a copy of that descriptor, which the caller closes. PLIM_EIO when it is not open. */
PLIM_MUST_USE plim_status plim_file_open_descriptor(plim_context *ctx, const char *path, int *fd);

#endif

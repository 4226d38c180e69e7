/* Functions that file_read.c and file_write.c share, for paths that name an open descriptor and for failures that name
 * a path. Safe on several threads with contexts of their own. */
#ifndef PLIM_RUNTIME_BASE_FILE_PATH_H
#define PLIM_RUNTIME_BASE_FILE_PATH_H

#include "runtime/base/context.h"

/* Time between two checks of the context's cancel while waiting for the other end of a pipe. */
enum { PLIM_FILE_LOOK_MS = 20 };

/* Record a failure by errno: PLIM_ENOFILE for ENOENT, else PLIM_EIO. what: the verb after "could not". */
plim_status plim_file_fail_errno(plim_context *ctx, const char *path, const char *what);

/* The open descriptor that a path names; -1: none. It is used itself, since opening such a path would start at the
 * beginning of the file, and fails for sockets. */
int plim_file_descriptor(const char *path);

/* Duplicate the descriptor that a path names; the caller closes *fd. PLIM_EIO when it is not open. */
PLIM_MUST_USE plim_status plim_file_open_descriptor(plim_context *ctx, const char *path, int *fd);

#endif

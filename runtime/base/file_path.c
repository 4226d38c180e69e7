/* Paths that name an open descriptor, and failures that name a path. */
#include "runtime/base/file_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

plim_status plim_file_fail_errno(plim_context *ctx, const char *path, const char *what) {
  int error = errno;
  plim_status status = error == ENOENT ? PLIM_ENOFILE : PLIM_EIO;
  (void)plim_fail(ctx, status, "%s: could not %s: %s", path, what, strerror(error));
  return status;
}

int plim_file_descriptor(const char *path) {
  static const char *const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"}, folder[] = "/dev/fd/";
  for (int fd = 0; fd < 3; fd++) {
    if (strcmp(path, names[fd]) == 0) return fd;
  }
  if (strncmp(path, folder, sizeof folder - 1) != 0) return -1;
  const char *number = path + sizeof folder - 1;
  size_t digits = strspn(number, "0123456789");
  return digits > 0 && digits < 6 && number[digits] == 0 ? atoi(number) : -1;
}

plim_status plim_file_open_descriptor(plim_context *ctx, const char *path, int *fd) {
  *fd = fcntl(plim_file_descriptor(path), F_DUPFD_CLOEXEC, 0);
  return *fd < 0 ? plim_fail(ctx, PLIM_EIO, "%s: is not open", path) : PLIM_OK;
}

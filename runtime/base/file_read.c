/* Reads whole files, and pipes to their end. While it waits for a pipe, it checks the context's cancel. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/file_path.h"

enum { BUFFER_BYTES = 1 << 16 };

/* Read exactly `bytes` bytes; a file that became shorter is an error. */
static plim_status read_exactly(plim_context *ctx, const char *path, int fd, char *data, int64_t bytes) {
  for (int64_t done = 0; done < bytes;) {
    ssize_t n = read(fd, data + done, (size_t)(bytes - done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return plim_file_fail_errno(ctx, path, "read");
    if (n == 0) {
      return plim_fail(ctx, PLIM_EIO, "%s: ended after %lld of %lld bytes while it was read", path, (long long)done,
                       (long long)bytes);
    }
    done += n;
  }
  return PLIM_OK;
}

/* Wait until there are bytes to read, or the end. A signal interrupts the wait, so that the caller checks the context.
 */
static plim_status wait_for_writer(plim_context *ctx, const char *path, int fd) {
  struct pollfd look = {.fd = fd, .events = POLLIN};
  while (poll(&look, 1, PLIM_FILE_LOOK_MS) <= 0) {
    if (plim_context_cancelled(ctx)) {
      return plim_fail(ctx, PLIM_ECANCEL, "%s: cancelled while its writer was waited for", path);
    }
  }
  return PLIM_OK;
}

/* Read a pipe or socket, whose size is unknown, to its end. `limit` bounds the memory held. */
static plim_status read_stream(plim_context *ctx, const char *path, int fd, int64_t limit, char **data,
                               int64_t *bytes) {
  char *held = NULL;
  int64_t done = 0, capacity = 0;
  plim_status status = PLIM_OK;
  for (ssize_t n = 1; n != 0;) {
    if (done + 1 >= capacity) {
      int64_t more = capacity > 0 ? 2 * capacity : BUFFER_BYTES;
      PLIM_TRY_OR_DONE(plim_resize_array(ctx, &held, capacity, more, 1));
      capacity = more;
    }
    PLIM_TRY_OR_DONE(wait_for_writer(ctx, path, fd));
    n = read(fd, held + done, (size_t)(capacity - done - 1));
    if (n < 0 && errno != EINTR && errno != EAGAIN) PLIM_TRY_OR_DONE(plim_file_fail_errno(ctx, path, "read"));
    if (n > 0) done += n;
    if (done <= limit) continue;
    PLIM_TRY_OR_DONE(
        plim_fail(ctx, PLIM_EDATA, "%s: has more than %lld bytes, at most these are read", path, (long long)limit));
  }
  PLIM_TRY_OR_DONE(plim_resize_array(ctx, &held, capacity, done + 1, 1));
  held[done] = '\0';
  *data = held;
  *bytes = done;
  return PLIM_OK;
done:
  plim_release(ctx, held, capacity, 1);
  return status;
}

static plim_status read_named(plim_context *ctx, const char *path, int64_t limit, char **data, int64_t *bytes) {
  struct stat st;
  int fd;
  PLIM_TRY(plim_file_open_descriptor(ctx, path, &fd));
  int flows = fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
  plim_status status = flows || isatty(fd)
                           ? read_stream(ctx, path, fd, limit, data, bytes)
                           : plim_fail(ctx, PLIM_EDATA, "%s: is neither a file nor a pipe nor a terminal", path);
  (void)close(fd);
  return status;
}

/* Open a regular file; without O_NONBLOCK the call itself would wait for the writer of a pipe. */
static plim_status open_regular(plim_context *ctx, const char *path, int *fd, struct stat *st) {
  *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (*fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
    (void)plim_fail(ctx, PLIM_ENOFILE, "%s: %s", path, strerror(errno));
    return PLIM_ENOFILE;
  }
  if (*fd < 0) return plim_file_fail_errno(ctx, path, "open");
  plim_status status = PLIM_OK;
  if (fstat(*fd, st) != 0) {
    status = plim_file_fail_errno(ctx, path, "look at the file");
  } else if (!S_ISREG(st->st_mode)) {
    (void)plim_fail(ctx, PLIM_EDATA, "%s: is %s", path,
                    S_ISDIR(st->st_mode) ? "a folder, not a file" : "not a regular file");
    status = PLIM_EDATA;
  }
  if (status != PLIM_OK) (void)close(*fd);
  return status;
}

static plim_status read_all(plim_context *ctx, const char *path, int fd, int64_t size, int64_t limit, char **data) {
  if (size > limit) {
    return plim_fail(ctx, PLIM_EDATA, "%s: has %lld bytes, at most %lld are read", path, (long long)size,
                     (long long)limit);
  }
  char *held = NULL;
  PLIM_TRY(plim_allocate(ctx, size + 1, 1, &held));
  plim_status status = read_exactly(ctx, path, fd, held, size);
  if (status == PLIM_OK) *data = held;
  if (status != PLIM_OK) plim_file_release(ctx, held, size);
  return status;
}

plim_status plim_file_read(plim_context *ctx, const char *path, int64_t limit, char **data, int64_t *bytes) {
  struct stat st = {.st_size = 0};
  int fd = -1;
  if (plim_file_descriptor(path) >= 0) return read_named(ctx, path, limit, data, bytes);
  PLIM_TRY(open_regular(ctx, path, &fd, &st));
  plim_status status = read_all(ctx, path, fd, st.st_size, limit, data);
  if (status == PLIM_OK) *bytes = st.st_size;
  (void)close(fd);
  return status;
}

plim_status plim_file_open(plim_context *ctx, const char *path, FILE **out) {
  struct stat st = {.st_size = 0};
  int fd = -1;
  PLIM_TRY(open_regular(ctx, path, &fd, &st));
  FILE *file = fdopen(fd, "rb");
  if (!file) {
    (void)close(fd);
    return plim_fail(ctx, PLIM_ENOMEM, "%s: no memory to read it", path);
  }
  *out = file;
  return PLIM_OK;
}

void plim_file_release(plim_context *ctx, char *data, int64_t bytes) {
  plim_release(ctx, data, bytes + 1, 1);
}

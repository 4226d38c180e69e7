/* Reading whole files and replacing them: temporary name, sync, rename, sync of the folder. */
#include "runtime/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 16, TEMPORARY_TRIES = 1000 };

static plim_status fail_errno(plim_context *ctx, const char *path, const char *what) {
  int error = errno;
  return plim_fail(ctx, error == ENOENT ? PLIM_ENOFILE : PLIM_EIO, "%s: could not %s: %s", path, what, strerror(error));
}

/* ---- reading ---- */

/* Read exactly `bytes` bytes; a file that became shorter is an error. */
static plim_status read_exactly(plim_context *ctx, const char *path, int fd, char *data, int64_t bytes) {
  for (int64_t done = 0; done < bytes;) {
    ssize_t n = read(fd, data + done, (size_t)(bytes - done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(ctx, path, "read");
    if (n == 0) {
      return plim_fail(ctx, PLIM_EIO, "%s: ended after %lld of %lld bytes while it was read", path, (long long)done,
                       (long long)bytes);
    }
    done += n;
  }
  return PLIM_OK;
}

static plim_status read_open(plim_context *ctx, const char *path, int fd, int64_t limit, char **data, int64_t *bytes) {
  struct stat st;
  if (fstat(fd, &st) != 0) return fail_errno(ctx, path, "look at the file");
  if (!S_ISREG(st.st_mode)) return plim_fail(ctx, PLIM_EDATA, "%s: is not a regular file", path);
  if (st.st_size > limit) {
    return plim_fail(ctx, PLIM_EDATA, "%s: has %lld bytes, at most %lld are read", path, (long long)st.st_size,
                     (long long)limit);
  }
  char *held = NULL;
  PLIM_TRY(plim_allocate(ctx, st.st_size + 1, 1, &held));
  plim_status status = read_exactly(ctx, path, fd, held, st.st_size);
  if (status != PLIM_OK) {
    plim_file_release(ctx, held, st.st_size);
    return status;
  }
  *data = held;
  *bytes = st.st_size;
  return PLIM_OK;
}

plim_status plim_file_read(plim_context *ctx, const char *path, int64_t limit, char **data, int64_t *bytes) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* not to hang on a pipe, which is refused */
  if (fd < 0) return fail_errno(ctx, path, "open");
  plim_status status = read_open(ctx, path, fd, limit, data, bytes);
  (void)close(fd);
  return status;
}

void plim_file_release(plim_context *ctx, char *data, int64_t bytes) {
  plim_release(ctx, data, bytes + 1, 1);
}

/* ---- writing ---- */

struct plim_file {
  plim_context *ctx;
  int fd;
  int direct; /* written in place: a device or pipe */
  plim_status status;
  int64_t path_bytes; /* of each of the two texts, with NUL */
  char *path, *temporary;
  int64_t held;
  char buffer[BUFFER_BYTES];
};

static void release(plim_file *file) {
  plim_release(file->ctx, file->path, file->path_bytes, 1);
  plim_release(file->ctx, file->temporary, file->path_bytes, 1);
  plim_release(file->ctx, file, 1, sizeof *file);
}

int plim_file_is_direct(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static int is_folder(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* O_EXCL with our own numbers rather than mkstemp, whose files are private to the user whatever the umask says. */
static plim_status open_temporary(plim_file *file) {
  if (file->direct) {
    file->fd = open(file->path, O_WRONLY | O_CLOEXEC);
    return file->fd < 0 ? fail_errno(file->ctx, file->path, "open") : PLIM_OK;
  }
  if (is_folder(file->path)) return plim_fail(file->ctx, PLIM_EIO, "%s: is a folder, not a file", file->path);
  for (int i = 0; i < TEMPORARY_TRIES; i++) {
    (void)snprintf(file->temporary, (size_t)file->path_bytes, "%s.tmp-%ld-%d", file->path, (long)getpid(), i);
    file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file->fd >= 0) return PLIM_OK;
    if (errno != EEXIST) break;
  }
  int missing = errno == ENOENT;
  plim_status status = fail_errno(file->ctx, file->path, "create a file beside it");
  return missing ? plim_fail(file->ctx, PLIM_EIO, "%s: the folder is not there", file->path) : status;
}

plim_status plim_file_begin(plim_context *ctx, const char *path, plim_file **out) {
  plim_status status;
  plim_file *file = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *file, &file));
  file->ctx = ctx;
  file->path_bytes = (int64_t)strlen(path) + 48;
  PLIM_CHECK(plim_allocate(ctx, file->path_bytes, 1, &file->path));
  PLIM_CHECK(plim_allocate(ctx, file->path_bytes, 1, &file->temporary));
  memcpy(file->path, path, strlen(path));
  file->direct = plim_file_is_direct(path);
  PLIM_CHECK(open_temporary(file));
  *out = file;
  file = NULL;
done:
  if (file) release(file);
  return status;
}

plim_status plim_file_try(plim_context *ctx, const char *path) {
  plim_file *file = NULL;
  if (plim_file_is_direct(path)) return PLIM_OK; /* opening a pipe would wait for its reader */
  PLIM_TRY(plim_file_begin(ctx, path, &file));
  plim_file_abandon(file);
  return PLIM_OK;
}

static void write_all(plim_file *file, const char *data, int64_t bytes) {
  for (int64_t done = 0; done < bytes && file->status == PLIM_OK;) {
    ssize_t n = write(file->fd, data + done, (size_t)(bytes - done));
    if (n >= 0) {
      done += n;
    } else if (errno != EINTR) {
      file->status = fail_errno(file->ctx, file->path, "write");
    }
  }
}

static void flush(plim_file *file) {
  write_all(file, file->buffer, file->held);
  file->held = 0;
}

plim_status plim_file_write(plim_file *file, const void *data, int64_t bytes) {
  if (bytes > BUFFER_BYTES - file->held) flush(file);
  if (bytes > BUFFER_BYTES) {
    write_all(file, data, bytes);
  } else {
    memcpy(file->buffer + file->held, data, (size_t)bytes);
    file->held += bytes;
  }
  return file->status;
}

/* The rename itself must survive a crash, so the folder is synced too; file systems that cannot do that say EINVAL. */
static plim_status sync_folder(plim_file *file) {
  char *slash = strrchr(file->temporary, '/');
  const char *folder = slash == file->temporary ? "/" : slash ? file->temporary : ".";
  if (slash) *slash = '\0';
  int fd = open(*folder ? folder : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fail_errno(file->ctx, file->path, "open the folder");
  plim_status status = PLIM_OK;
  if (fsync(fd) != 0 && errno != EINVAL) status = fail_errno(file->ctx, file->path, "sync the folder");
  (void)close(fd);
  return status;
}

static void finish(plim_file *file) {
  if (!file->direct && file->status == PLIM_OK && fsync(file->fd) != 0) {
    file->status = fail_errno(file->ctx, file->path, "sync");
  }
  if (close(file->fd) != 0 && file->status == PLIM_OK) file->status = fail_errno(file->ctx, file->path, "close");
  if (file->direct) return;
  if (file->status == PLIM_OK && rename(file->temporary, file->path) != 0) {
    file->status = fail_errno(file->ctx, file->path, "rename to it");
  }
  if (file->status == PLIM_OK) {
    file->status = sync_folder(file);
  } else {
    (void)unlink(file->temporary);
  }
}

plim_status plim_file_commit(plim_file *file) {
  flush(file);
  finish(file);
  plim_status status = file->status;
  release(file);
  return status;
}

void plim_file_abandon(plim_file *file) {
  if (!file) return;
  (void)close(file->fd);
  if (!file->direct) (void)unlink(file->temporary);
  release(file);
}

plim_status plim_file_save(plim_context *ctx, const char *path, const void *data, int64_t bytes) {
  plim_file *file = NULL;
  PLIM_TRY(plim_file_begin(ctx, path, &file));
  (void)plim_file_write(file, data, bytes); /* commit returns the failure */
  return plim_file_commit(file);
}

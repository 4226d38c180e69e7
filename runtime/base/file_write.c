/* Replaces whole files: temporary name, sync, rename, sync of the folder. Devices and pipes are written directly. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/file_path.h"
#include "runtime/base/temporary.h"

enum { BUFFER_BYTES = 1 << 16, LINKS_MAX = 40 };
enum { PATIENCE_NS = 200000000 }; /* time to wait for a pipe's reader after a cancel */

struct plim_file {
  plim_context *ctx;
  int fd;
  int direct; /* written in place: a device, pipe or open descriptor */
  int named;  /* an open descriptor of the caller, which must stay in blocking mode */
  plim_status status;
  int64_t cancel_ns; /* when a cancel was first seen while waiting for a reader; 0: not yet */
  char path[PLIM_FILE_PATH_BYTES], target[PLIM_FILE_PATH_BYTES]; /* as the caller named it, and without links */
  char temporary[PLIM_FILE_PATH_BYTES + PLIM_TEMPORARY_SUFFIX_BYTES];
  int64_t held;
  char buffer[BUFFER_BYTES];
};

static void release(plim_file *file) {
  plim_release(file->ctx, file, 1, sizeof *file);
}

int plim_file_is_direct(const char *path) {
  struct stat st;
  if (plim_file_descriptor(path) >= 0) return 1;
  return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* Replace `path`, if it is a link, by the name that the link holds; the file need not exist. 0: it is no link; -1: the
 * name is longer than a path may be. */
static int follow_link(char *path) {
  char to[PLIM_FILE_PATH_BYTES];
  ssize_t length = readlink(path, to, sizeof to - 1);
  if (length <= 0) return 0;
  to[length] = '\0';
  char *slash = strrchr(path, '/');
  size_t folder = slash && to[0] != '/' ? (size_t)(slash - path) + 1 : 0;
  if (folder + (size_t)length >= PLIM_FILE_PATH_BYTES) return -1;
  memcpy(path + folder, to, (size_t)length + 1);
  return 1;
}

static plim_status name_target(plim_file *file, const char *path, int follows) {
  size_t length = strlen(path);
  if (length >= PLIM_FILE_PATH_BYTES) {
    return plim_fail(file->ctx, PLIM_EIO, "%.80s...: a path of %zu characters, at most %d are possible", path, length,
                     PLIM_FILE_PATH_BYTES - 1);
  }
  memcpy(file->path, path, length + 1);
  memcpy(file->target, path, length + 1);
  file->named = follows && plim_file_descriptor(path) >= 0;
  int followed = follows && !file->named ? follow_link(file->target) : 0;
  for (int links = 0; followed > 0; links++, followed = follow_link(file->target)) {
    if (links == LINKS_MAX) return plim_fail(file->ctx, PLIM_EIO, "%s: is a circle of symbolic links", path);
  }
  if (followed < 0) {
    return plim_fail(file->ctx, PLIM_EIO, "%s: is a link to a path of more than %d characters", path,
                     PLIM_FILE_PATH_BYTES - 1);
  }
  return PLIM_OK;
}

/* Wait a moment for a pipe's reader to appear or to read. PLIM_ECANCEL: the context was cancelled PATIENCE_NS ago. */
static plim_status wait_for_reader(plim_file *file) {
  struct pollfd look = {.fd = file->fd, .events = POLLOUT};
  (void)poll(&look, file->fd >= 0, PLIM_FILE_LOOK_MS); /* PLIM_FILE_LOOK_MS as well when it is not open yet */
  if (!plim_context_cancelled(file->ctx)) return PLIM_OK;
  if (file->cancel_ns == 0) file->cancel_ns = plim_now_ns();
  if (plim_now_ns() - file->cancel_ns < PATIENCE_NS) return PLIM_OK;
  return plim_fail(file->ctx, PLIM_ECANCEL, "%s: cancelled while its reader was waited for", file->path);
}

static plim_status open_direct(plim_file *file) {
  struct stat st;
  int is_pipe = stat(file->target, &st) == 0 && S_ISFIFO(st.st_mode);
  if (file->named) return plim_file_open_descriptor(file->ctx, file->path, &file->fd);
  for (;;) {
    file->fd = open(file->target, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file->fd >= 0) return PLIM_OK;
    int has_no_reader = errno == ENXIO && is_pipe;
    if (!has_no_reader && errno != EINTR) return plim_file_fail_errno(file->ctx, file->path, "open");
    PLIM_TRY(wait_for_reader(file));
  }
}

/* Copy the permissions, and owner and group where the system allows it. If the group cannot be kept, the new group only
 * gets those of the old group's permissions that all others have. */
static void copy_rights(int fd, const struct stat *from) {
  mode_t mode = from->st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
  struct stat own;
  (void)(fchown(fd, from->st_uid, (gid_t)-1) == 0);
  (void)(fchown(fd, (uid_t)-1, from->st_gid) == 0);
  if (fstat(fd, &own) == 0 && own.st_gid != from->st_gid) {
    mode = (mode & (mode_t)~S_IRWXG) | (mode & S_IRWXG & (mode_t)((mode & S_IRWXO) << 3));
  }
  (void)fchmod(fd, mode);
}

static atomic_int temporaries; /* number of this process's files that have a temporary name */

int plim_file_is_writing(void) {
  return atomic_load(&temporaries) > 0;
}

/* No file could be created, because a folder is missing; /proc says so of its own too. */
static plim_status fail_missing(plim_file *file) {
  char folder[sizeof file->target];
  struct stat st;
  (void)snprintf(folder, sizeof folder, "%s", file->target);
  char *slash = strrchr(folder, '/');
  if (slash) slash[slash == folder] = '\0';
  if (stat(slash ? folder : ".", &st) != 0) {
    return plim_fail(file->ctx, PLIM_EIO, "%s: the folder is not there", file->path);
  }
  return plim_fail(file->ctx, PLIM_EIO, "%s: its folder takes no new files", file->path);
}

/* follows 1: keep a link, and the permissions of the file that is replaced. */
static plim_status open_temporary(plim_file *file, int follows) {
  struct stat st;
  int is_there = follows ? stat(file->target, &st) == 0 : lstat(file->target, &st) == 0;
  if (is_there && S_ISDIR(st.st_mode)) {
    return plim_fail(file->ctx, PLIM_EIO, "%s: is a folder, not a file", file->path);
  }
  int keeps = is_there && follows;
  if (keeps && faccessat(AT_FDCWD, file->target, W_OK, AT_EACCESS) != 0) { /* renaming would not ask */
    return plim_file_fail_errno(file->ctx, file->path, "write");
  }
  plim_temporary_sweep(file->target);
  atomic_fetch_add(&temporaries, 1);
  file->fd = plim_temporary_open(file->target, keeps ? 0600 : 0666, file->temporary, sizeof file->temporary);
  if (file->fd >= 0 && keeps) copy_rights(file->fd, &st);
  if (file->fd >= 0) return PLIM_OK;
  int missing = errno == ENOENT;
  atomic_fetch_sub(&temporaries, 1);
  plim_status status = plim_file_fail_errno(file->ctx, file->path, "create a file beside it");
  return missing ? fail_missing(file) : status;
}

static plim_status begin(plim_context *ctx, const char *path, int follows, plim_file **out) {
  plim_status status;
  plim_file *file = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *file, &file));
  file->ctx = ctx;
  file->fd = -1;
  PLIM_TRY_OR_DONE(name_target(file, path, follows));
  file->direct = follows && plim_file_is_direct(file->target);
  PLIM_TRY_OR_DONE(file->direct ? open_direct(file) : open_temporary(file, follows));
  *out = file;
  file = NULL;
done:
  if (file) release(file);
  return status;
}

plim_status plim_file_begin(plim_context *ctx, const char *path, plim_file **out) {
  return begin(ctx, path, 1, out);
}

plim_status plim_file_try(plim_context *ctx, const char *path) {
  plim_file *file = NULL;
  if (plim_file_is_direct(path)) return PLIM_OK; /* opening a pipe would wait for its reader */
  PLIM_TRY(plim_file_begin(ctx, path, &file));
  plim_file_abandon(file);
  return PLIM_OK;
}

static int takes_now(int fd) {
  struct pollfd look = {.fd = fd, .events = POLLOUT};
  return poll(&look, 1, 0) > 0;
}

/* Write all bytes. A blocking pipe that can take any bytes takes PIPE_BUF bytes without blocking. */
static void write_all(plim_file *file, const char *data, int64_t bytes) {
  for (int64_t done = 0; done < bytes && file->status == PLIM_OK;) {
    int64_t most = file->named && bytes - done > PIPE_BUF ? PIPE_BUF : bytes - done;
    if (file->named && !takes_now(file->fd)) {
      file->status = wait_for_reader(file);
      continue;
    }
    ssize_t n = write(file->fd, data + done, (size_t)most);
    if (n >= 0) {
      done += n;
      file->cancel_ns = 0; /* the reader reads */
    } else if (errno == EAGAIN) {
      file->status = wait_for_reader(file);
    } else if (errno != EINTR) {
      file->status = plim_file_fail_errno(file->ctx, file->path, "write");
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

/* Sync the folder, so that the rename survives a crash. File systems that cannot do this give EINVAL. */
static plim_status sync_folder(plim_file *file) {
  char *slash = strrchr(file->temporary, '/');
  const char *folder = slash == file->temporary ? "/" : slash ? file->temporary : ".";
  if (slash) *slash = '\0';
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return plim_file_fail_errno(file->ctx, file->path, "open the folder");
  plim_status status = PLIM_OK;
  if (fsync(fd) != 0 && errno != EINVAL) status = plim_file_fail_errno(file->ctx, file->path, "sync the folder");
  (void)close(fd);
  return status;
}

/* The lock on the temporary file is held until the file has its final name. */
static void finish(plim_file *file) {
  if (!file->direct && file->status == PLIM_OK && fsync(file->fd) != 0) {
    file->status = plim_file_fail_errno(file->ctx, file->path, "sync");
  }
  if (!file->direct && file->status == PLIM_OK && rename(file->temporary, file->target) != 0) {
    file->status = plim_file_fail_errno(file->ctx, file->path, "rename to it");
  }
  if (!file->direct && file->status != PLIM_OK) (void)unlink(file->temporary);
  if (!file->direct) atomic_fetch_sub(&temporaries, 1);
  if (close(file->fd) != 0 && file->status == PLIM_OK) {
    file->status = plim_file_fail_errno(file->ctx, file->path, "close");
  }
  if (!file->direct && file->status == PLIM_OK) file->status = sync_folder(file);
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
  if (!file->direct) {
    (void)unlink(file->temporary);
    atomic_fetch_sub(&temporaries, 1);
  }
  (void)close(file->fd);
  release(file);
}

static plim_status save(plim_context *ctx, const char *path, int follows, const void *data, int64_t bytes) {
  plim_file *file = NULL;
  PLIM_TRY(begin(ctx, path, follows, &file));
  (void)plim_file_write(file, data, bytes); /* commit returns the failure */
  return plim_file_commit(file);
}

plim_status plim_file_save(plim_context *ctx, const char *path, const void *data, int64_t bytes) {
  return save(ctx, path, 1, data, bytes);
}

plim_status plim_file_replace(plim_context *ctx, const char *path, const void *data, int64_t bytes) {
  return save(ctx, path, 0, data, bytes);
}

/* Reading whole files and replacing them: temporary name, sync, rename, sync of the folder. */
#include "runtime/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/temporary.h"

enum { BUFFER_BYTES = 1 << 16, PATH_BYTES = 4096, MOST_LINKS = 40 };
enum { LOOK_MS = 20, PATIENCE_NS = 200000000 }; /* for a pipe's reader: between looks, and after a cancel */

static plim_status fail_errno(plim_context *ctx, const char *path, const char *what) {
  int error = errno;
  plim_status status = error == ENOENT ? PLIM_ENOFILE : PLIM_EIO;
  (void)plim_fail(ctx, status, "%s: could not %s: %s", path, what, strerror(error));
  return status;
}

/* The open descriptor that a path names, -1: none. Opening such a path would begin a file anew, and fails for sockets.
 */
static int named_descriptor(const char *path) {
  static const char *const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"}, folder[] = "/dev/fd/";
  for (int fd = 0; fd < 3; fd++) {
    if (strcmp(path, names[fd]) == 0) return fd;
  }
  if (strncmp(path, folder, sizeof folder - 1) != 0) return -1;
  const char *number = path + sizeof folder - 1;
  size_t digits = strspn(number, "0123456789");
  return digits > 0 && digits < 6 && number[digits] == 0 ? atoi(number) : -1;
}

static plim_status open_named(plim_context *ctx, const char *path, int *fd) {
  *fd = fcntl(named_descriptor(path), F_DUPFD_CLOEXEC, 0);
  return *fd < 0 ? plim_fail(ctx, PLIM_EIO, "%s: is not open", path) : PLIM_OK;
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

/* Wait until there is something to read, or the end. A signal ends the waiting for one look at the context. */
static plim_status wait_for_writer(plim_context *ctx, const char *path, int fd) {
  struct pollfd look = {.fd = fd, .events = POLLIN};
  while (poll(&look, 1, LOOK_MS) <= 0) {
    if (plim_context_cancelled(ctx))
      return plim_fail(ctx, PLIM_ECANCEL, "%s: cancelled while its writer was waited for", path);
  }
  return PLIM_OK;
}

/* Read to the end what has no size. `limit` bounds what is held. */
static plim_status read_stream(plim_context *ctx, const char *path, int fd, int64_t limit, char **data,
                               int64_t *bytes) {
  char *held = NULL;
  int64_t done = 0, capacity = 0;
  plim_status status = PLIM_OK;
  for (ssize_t n = 1; n != 0;) {
    if (done + 1 >= capacity) {
      int64_t more = capacity > 0 ? 2 * capacity : BUFFER_BYTES;
      PLIM_CHECK(plim_resize_array(ctx, &held, capacity, more, 1));
      capacity = more;
    }
    PLIM_CHECK(wait_for_writer(ctx, path, fd));
    n = read(fd, held + done, (size_t)(capacity - done - 1));
    if (n < 0 && errno != EINTR && errno != EAGAIN) PLIM_CHECK(fail_errno(ctx, path, "read"));
    if (n > 0) done += n;
    if (done <= limit) continue;
    PLIM_CHECK(
        plim_fail(ctx, PLIM_EDATA, "%s: has more than %lld bytes, at most these are read", path, (long long)limit));
  }
  PLIM_CHECK(plim_resize_array(ctx, &held, capacity, done + 1, 1));
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
  PLIM_TRY(open_named(ctx, path, &fd));
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
  if (*fd < 0) return fail_errno(ctx, path, "open");
  plim_status status = PLIM_OK;
  if (fstat(*fd, st) != 0) {
    status = fail_errno(ctx, path, "look at the file");
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
  struct stat st;
  int fd;
  if (named_descriptor(path) >= 0) return read_named(ctx, path, limit, data, bytes);
  PLIM_TRY(open_regular(ctx, path, &fd, &st));
  plim_status status = read_all(ctx, path, fd, st.st_size, limit, data);
  if (status == PLIM_OK) *bytes = st.st_size;
  (void)close(fd);
  return status;
}

plim_status plim_file_open(plim_context *ctx, const char *path, FILE **out) {
  struct stat st;
  int fd;
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

/* ---- writing ---- */

struct plim_file {
  plim_context *ctx;
  int fd;
  int direct; /* written in place: a device, pipe or open descriptor */
  int named;  /* an open descriptor: the caller's, so that it stays one that waits */
  plim_status status;
  int64_t cancel_ns;                         /* when a cancel was first seen while waiting for a reader; 0: not yet */
  char path[PATH_BYTES], target[PATH_BYTES]; /* as the caller named it, and without links */
  char temporary[PATH_BYTES + PLIM_TEMPORARY_SUFFIX_BYTES];
  int64_t held;
  char buffer[BUFFER_BYTES];
};

static void release(plim_file *file) {
  plim_release(file->ctx, file, 1, sizeof *file);
}

int plim_file_is_direct(const char *path) {
  struct stat st;
  if (named_descriptor(path) >= 0) return 1;
  return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* The name that a link in `path` stands for, put in its place; the file need not be there. 0: it is no link. */
static int follow_link(char *path) {
  char to[PATH_BYTES];
  ssize_t length = readlink(path, to, sizeof to - 1);
  if (length <= 0) return 0;
  to[length] = '\0';
  char *slash = strrchr(path, '/');
  size_t folder = slash && to[0] != '/' ? (size_t)(slash - path) + 1 : 0;
  if (folder + (size_t)length >= PATH_BYTES) return 0;
  memcpy(path + folder, to, (size_t)length + 1);
  return 1;
}

static plim_status name_target(plim_file *file, const char *path, int follows) {
  size_t length = strlen(path);
  if (length >= PATH_BYTES) {
    return plim_fail(file->ctx, PLIM_EIO, "%.80s...: a path of %zu characters, at most %d are possible", path, length,
                     PATH_BYTES - 1);
  }
  memcpy(file->path, path, length + 1);
  memcpy(file->target, path, length + 1);
  file->named = follows && named_descriptor(path) >= 0;
  for (int links = 0; follows && !file->named && follow_link(file->target); links++) {
    if (links == MOST_LINKS) return plim_fail(file->ctx, PLIM_EIO, "%s: is a circle of symbolic links", path);
  }
  return PLIM_OK;
}

/* Between two looks at a pipe that has no reader, or none that reads. */
static plim_status wait_for_reader(plim_file *file) {
  struct pollfd look = {.fd = file->fd, .events = POLLOUT};
  (void)poll(&look, file->fd >= 0, LOOK_MS); /* LOOK_MS as well when it is not open yet */
  if (!plim_context_cancelled(file->ctx)) return PLIM_OK;
  if (file->cancel_ns == 0) file->cancel_ns = plim_now_ns();
  if (plim_now_ns() - file->cancel_ns < PATIENCE_NS) return PLIM_OK;
  return plim_fail(file->ctx, PLIM_ECANCEL, "%s: cancelled while its reader was waited for", file->path);
}

static plim_status open_direct(plim_file *file) {
  struct stat st;
  int is_pipe = stat(file->target, &st) == 0 && S_ISFIFO(st.st_mode);
  if (file->named) return open_named(file->ctx, file->path, &file->fd);
  for (;;) {
    file->fd = open(file->target, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file->fd >= 0) return PLIM_OK;
    int has_no_reader = errno == ENXIO && is_pipe;
    if (!has_no_reader && errno != EINTR) return fail_errno(file->ctx, file->path, "open");
    PLIM_TRY(wait_for_reader(file));
  }
}

/* Permissions, and owner and group where the system allows it. A group that it does not allow is not given what the
 * other group had. */
static void take_rights(int fd, const struct stat *from) {
  mode_t mode = from->st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
  struct stat own;
  (void)(fchown(fd, from->st_uid, (gid_t)-1) == 0);
  (void)(fchown(fd, (uid_t)-1, from->st_gid) == 0);
  if (fstat(fd, &own) == 0 && own.st_gid != from->st_gid) {
    mode = (mode & (mode_t)~S_IRWXG) | (mode & S_IRWXG & (mode_t)((mode & S_IRWXO) << 3));
  }
  (void)fchmod(fd, mode);
}

static atomic_int temporaries; /* of this process that have no final name yet */

int plim_file_is_writing(void) {
  return atomic_load(&temporaries) > 0;
}

/* follows: keep a link and the rights of a file that is replaced. */
static plim_status open_temporary(plim_file *file, int follows) {
  struct stat st;
  int is_there = follows ? stat(file->target, &st) == 0 : lstat(file->target, &st) == 0;
  if (is_there && S_ISDIR(st.st_mode)) {
    return plim_fail(file->ctx, PLIM_EIO, "%s: is a folder, not a file", file->path);
  }
  int keeps = is_there && follows;
  if (keeps && faccessat(AT_FDCWD, file->target, W_OK, AT_EACCESS) != 0) { /* renaming would not ask */
    return fail_errno(file->ctx, file->path, "write");
  }
  plim_temporary_sweep(file->target);
  atomic_fetch_add(&temporaries, 1);
  file->fd = plim_temporary_open(file->target, keeps ? 0600 : 0666, file->temporary, sizeof file->temporary);
  if (file->fd >= 0 && keeps) take_rights(file->fd, &st);
  if (file->fd >= 0) return PLIM_OK;
  int missing = errno == ENOENT;
  atomic_fetch_sub(&temporaries, 1);
  plim_status status = fail_errno(file->ctx, file->path, "create a file beside it");
  return missing ? plim_fail(file->ctx, PLIM_EIO, "%s: the folder is not there", file->path) : status;
}

static plim_status begin(plim_context *ctx, const char *path, int follows, plim_file **out) {
  plim_status status;
  plim_file *file = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *file, &file));
  file->ctx = ctx;
  file->fd = -1;
  PLIM_CHECK(name_target(file, path, follows));
  file->direct = follows && plim_file_is_direct(file->target);
  PLIM_CHECK(file->direct ? open_direct(file) : open_temporary(file, follows));
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

/* A pipe that waits takes PIPE_BUF bytes without waiting when it takes any. */
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

/* The lock of the temporary is held until it has its name. */
static void finish(plim_file *file) {
  if (!file->direct && file->status == PLIM_OK && fsync(file->fd) != 0) {
    file->status = fail_errno(file->ctx, file->path, "sync");
  }
  if (!file->direct && file->status == PLIM_OK && rename(file->temporary, file->target) != 0) {
    file->status = fail_errno(file->ctx, file->path, "rename to it");
  }
  if (!file->direct && file->status != PLIM_OK) (void)unlink(file->temporary);
  if (!file->direct) atomic_fetch_sub(&temporaries, 1);
  if (close(file->fd) != 0 && file->status == PLIM_OK) file->status = fail_errno(file->ctx, file->path, "close");
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

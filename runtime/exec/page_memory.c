/* Page spaces. The page file is locked, has all its blocks from the start, and is read and written at offsets, so that
 * threads share nothing but the file. */
#define _GNU_SOURCE /* O_TMPFILE, MAP_ANONYMOUS */
#include "runtime/exec/page_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/device/guarded.h"

enum { PATH_BYTES = 4096 };

plim_status plim_page_memory_open(plim_context *ctx, int64_t bytes, plim_page_memory *out) {
  void *base = NULL;
  PLIM_TRY(plim_guarded_alloc(ctx, bytes, 1, &base));
  *out = (plim_page_memory){.base = base, .bytes = bytes, .fd = -1};
  return PLIM_OK;
}

/* A file that has no name, so that it is gone when the process ends, however it ends. */
static int open_unnamed(const char *folder) {
  char path[PATH_BYTES];
  int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  (void)snprintf(path, sizeof path, "%s/plimsoll-pages-XXXXXX", folder);
  fd = mkostemp(path, O_CLOEXEC);
  if (fd >= 0) (void)unlink(path);
  return fd;
}

static plim_status open_file(plim_context *ctx, const char *path, int *out) {
  const char *folder = getenv("TMPDIR");
  if (!folder || folder[0] == '\0') folder = "/tmp";
  int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : open_unnamed(folder);
  if (fd < 0) {
    return plim_fail(ctx, PLIM_EIO, "the page file %s%s cannot be opened: %s", path ? "" : "in ", path ? path : folder,
                     strerror(errno));
  }
  if (path && flock(fd, LOCK_EX | LOCK_NB) != 0) {
    (void)close(fd);
    return plim_fail(ctx, PLIM_EIO, "the page file %s is in use by another run", path);
  }
  struct stat about = {0};
  if (path && fstat(fd, &about) == 0 && about.st_size > 0) {
    (void)close(fd);
    return plim_fail(ctx, PLIM_EIO,
                     "the page file %s holds %lld bytes, which paging would write over: remove it, or name another",
                     path, (long long)about.st_size);
  }
  *out = fd;
  return PLIM_OK;
}

static plim_status give_blocks(plim_context *ctx, const char *path, int fd, int64_t bytes) {
  int error = posix_fallocate(fd, 0, (off_t)bytes);
  if (error == 0) return PLIM_OK;
  const char *name = path ? path : "in the temporary folder";
  if (error == ENOSPC || error == EFBIG) {
    return plim_fail(ctx, PLIM_ENOFIT, "the page file %s needs %lld bytes, which its file system does not have: %s",
                     name, (long long)bytes, strerror(error));
  }
  return plim_fail(ctx, PLIM_EIO, "the page file %s cannot have %lld bytes: %s", name, (long long)bytes,
                   strerror(error));
}

plim_status plim_page_file_open(plim_context *ctx, const char *path, int64_t bytes, plim_page_memory *out) {
  int fd = -1;
  PLIM_TRY(open_file(ctx, path, &fd));
  plim_status status = give_blocks(ctx, path, fd, bytes);
  void *base = MAP_FAILED;
  if (status == PLIM_OK) {
    base = mmap(NULL, (size_t)bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
      status = plim_fail(ctx, PLIM_ENOMEM, "addresses for a page file of %lld bytes were refused", (long long)bytes);
    }
  }
  if (status != PLIM_OK) {
    (void)close(fd);
    return status;
  }
  *out = (plim_page_memory){.base = base, .bytes = bytes, .fd = fd};
  return PLIM_OK;
}

void plim_page_memory_close(plim_page_memory *page) {
  if (page->bytes == 0) return;
  if (page->fd < 0) {
    plim_guarded_free(page->base, page->bytes);
  } else {
    (void)munmap(page->base, (size_t)page->bytes);
    (void)!ftruncate(page->fd, 0); /* a file with a name is empty for the next run */
    (void)close(page->fd);
  }
  *page = (plim_page_memory){.fd = -1};
}

int plim_page_write(const plim_page_memory *page, void *to, const void *from, int64_t bytes) {
  if (page->fd < 0) {
    memcpy(to, from, (size_t)bytes);
    return 0;
  }
  int64_t offset = (char *)to - page->base;
  for (int64_t done = 0; done < bytes;) {
    ssize_t n = pwrite(page->fd, (const char *)from + done, (size_t)(bytes - done), (off_t)(offset + done));
    if (n > 0) {
      done += n;
    } else if (n == 0 || errno != EINTR) {
      return n == 0 ? ENOSPC : errno;
    }
  }
  return 0;
}

int plim_page_read(const plim_page_memory *page, void *to, const void *from, int64_t bytes) {
  if (page->fd < 0) {
    memcpy(to, from, (size_t)bytes);
    return 0;
  }
  int64_t offset = (const char *)from - page->base;
  for (int64_t done = 0; done < bytes;) {
    ssize_t n = pread(page->fd, (char *)to + done, (size_t)(bytes - done), (off_t)(offset + done));
    if (n > 0) {
      done += n;
    } else if (n == 0 || errno != EINTR) {
      return n == 0 ? ENODATA : errno;
    }
  }
  return 0;
}

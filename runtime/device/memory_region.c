/* Memory regions of page spaces. The page file is locked, and all its blocks are allocated at open. It is read and
 * written at offsets, so that threads share nothing but the file. Opening tries once whether direct I/O works with
 * blocks of PLIM_ALIGN bytes.
 *
 * Where another program cuts the file, later writes make it longer again, and what they leave out reads as zeros. So
 * the file has one block more, which is never written: a file that was cut stays too short, and each read looks at
 * that. */
#define _GNU_SOURCE /* O_TMPFILE, O_DIRECT, MAP_ANONYMOUS */
#include "runtime/device/memory_region.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/device/guarded.h"

plim_status plim_memory_region_open(plim_context *ctx, int64_t bytes, plim_memory_region *out) {
  void *base = NULL;
  PLIM_TRY(plim_guarded_alloc(ctx, bytes, 1, &base));
  *out = (plim_memory_region){.base = base, .bytes = bytes, .fd = -1};
  return PLIM_OK;
}

/* Open a file without a name. The system removes it when the process ends, even after a crash. */
static int open_unnamed(const char *folder) {
  char path[PLIM_FILE_PATH_BYTES];
  int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  (void)snprintf(path, sizeof path, "%s/plimsoll-pages-XXXXXX", folder);
  fd = mkostemp(path, O_CLOEXEC);
  if (fd >= 0) (void)unlink(path);
  return fd;
}

/* Where a file without a name is. */
static const char *temporary_folder(void) {
  const char *folder = getenv("TMPDIR");
  return folder && folder[0] ? folder : "/tmp";
}

static plim_status open_file(plim_context *ctx, const char *path, int *out) {
  const char *folder = temporary_folder();
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

/* Give the file the blocks of a region, and the last one. */
static plim_status give_blocks(plim_context *ctx, const char *name, int fd, int64_t bytes) {
  const int64_t all_bytes = bytes <= INT64_MAX - PLIM_ALIGN ? bytes + PLIM_ALIGN : INT64_MAX;
  int error;
  do {
    error = all_bytes < INT64_MAX ? posix_fallocate(fd, 0, (off_t)all_bytes) : EFBIG;
  } while (error == EINTR);
  if (error == 0) return PLIM_OK;
  if (error == ENOSPC || error == EFBIG) {
    return plim_fail(ctx, PLIM_ENOFIT, "the page file %s needs %lld bytes, which its file system does not have: %s",
                     name, (long long)all_bytes, strerror(error));
  }
  return plim_fail(ctx, PLIM_EIO, "the page file %s cannot have %lld bytes: %s", name, (long long)all_bytes,
                   strerror(error));
}

/* ---- direct I/O ---- */

/* File systems that are memory, by the types of statfs(2). */
static const struct {
  long type;
  const char *name;
} memory_systems[] = {{0x01021994, "tmpfs"}, {0x858458f6L, "ramfs"}};

static const char *memory_system(int fd) {
  struct statfs about;
  if (fstatfs(fd, &about) != 0) return NULL;
  for (size_t i = 0; i < sizeof memory_systems / sizeof *memory_systems; i++) {
    if ((long)about.f_type == memory_systems[i].type) return memory_systems[i].name;
  }
  return NULL;
}

/* Write and read one block. Its address and offset are multiples of PLIM_ALIGN, but not of 2 x PLIM_ALIGN. */
static int try_block(const plim_memory_region *region) {
  _Alignas(2 * PLIM_ALIGN) char block[2 * PLIM_ALIGN] = {0};
  off_t offset = region->bytes >= 2 * PLIM_ALIGN ? PLIM_ALIGN : 0;
  return pwrite(region->fd, block + PLIM_ALIGN, PLIM_ALIGN, offset) == PLIM_ALIGN &&
         pread(region->fd, block + PLIM_ALIGN, PLIM_ALIGN, offset) == PLIM_ALIGN;
}

static void choose_direct(plim_memory_region *region) {
  const char *system = memory_system(region->fd);
  int flags = fcntl(region->fd, F_GETFL);
  if (system) {
    (void)snprintf(region->how, sizeof region->how, "no direct I/O: its file system, %s, is memory", system);
  } else if (fcntl(region->fd, F_SETFL, flags | O_DIRECT) != 0) {
    (void)snprintf(region->how, sizeof region->how, "no direct I/O: its file system has none");
  } else if (region->bytes % PLIM_ALIGN != 0 || !try_block(region)) {
    (void)fcntl(region->fd, F_SETFL, flags);
    (void)snprintf(region->how, sizeof region->how, "no direct I/O: its file system needs blocks of more than %d bytes",
                   PLIM_ALIGN);
  } else {
    region->direct = 1;
    (void)snprintf(region->how, sizeof region->how, "direct I/O");
  }
}

/* Reserve addresses that cannot be read: they only stand for offsets in the file. */
static plim_status reserve_addresses(plim_context *ctx, int64_t bytes, char **out) {
  void *base = mmap(NULL, (size_t)bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return plim_fail(ctx, PLIM_ENOMEM, "addresses for a page file of %lld bytes were refused", (long long)bytes);
  }
  *out = base;
  return PLIM_OK;
}

/* Give the file's blocks back to its file system, so that a file that has a name is empty for the next run. */
static void close_file(int fd) {
  (void)!ftruncate(fd, 0);
  (void)close(fd);
}

plim_status plim_memory_region_open_file(plim_context *ctx, const char *path, int64_t bytes, plim_memory_region *out) {
  char name[sizeof out->name];
  int fd = -1;
  (void)snprintf(name, sizeof name, "%s%s", path ? "" : "in ", path ? path : temporary_folder());
  PLIM_TRY(open_file(ctx, path, &fd));
  plim_status status = give_blocks(ctx, name, fd, bytes);
  char *base = NULL;
  if (status == PLIM_OK) status = reserve_addresses(ctx, bytes, &base);
  if (status != PLIM_OK) {
    close_file(fd);
    return status;
  }
  *out = (plim_memory_region){.base = base, .bytes = bytes, .fd = fd};
  memcpy(out->name, name, sizeof out->name);
  choose_direct(out);
  return PLIM_OK;
}

void plim_memory_region_close(plim_memory_region *region) {
  if (region->bytes == 0) return;
  if (region->fd < 0) {
    plim_guarded_free(region->base, region->bytes);
  } else {
    (void)munmap(region->base, (size_t)region->bytes);
    close_file(region->fd);
  }
  *region = (plim_memory_region){.fd = -1};
}

/* ---- more bytes ---- */

static plim_status grow_memory(plim_context *ctx, plim_memory_region *region, int64_t bytes) {
  void *base = NULL;
  PLIM_TRY(plim_guarded_alloc(ctx, bytes, 1, &base));
  memcpy(base, region->base, (size_t)region->bytes);
  plim_guarded_free(region->base, region->bytes);
  region->base = base;
  return PLIM_OK;
}

/* Was the file cut? It is asked after a read, during which that may happen. */
static int is_cut(const plim_memory_region *region) {
  struct stat about;
  return fstat(region->fd, &about) != 0 || about.st_size < region->bytes + PLIM_ALIGN;
}

static plim_status grow_file(plim_context *ctx, plim_memory_region *region, int64_t bytes) {
  char *base = NULL;
  if (is_cut(region)) {
    return plim_fail(ctx, PLIM_EIO, "the page file %s ends before its last byte: another program has cut it",
                     region->name);
  }
  PLIM_TRY(give_blocks(ctx, region->name, region->fd, bytes));
  PLIM_TRY(reserve_addresses(ctx, bytes, &base));
  (void)munmap(region->base, (size_t)region->bytes);
  region->base = base;
  return PLIM_OK;
}

plim_status plim_memory_region_grow(plim_context *ctx, plim_memory_region *region, int64_t bytes) {
  PLIM_TRY(region->fd < 0 ? grow_memory(ctx, region, bytes) : grow_file(ctx, region, bytes));
  region->bytes = bytes;
  return PLIM_OK;
}

/* ---- copies ---- */

/* Bytes that a copy really moves. */
static int64_t moved_bytes(const plim_memory_region *region, int64_t bytes) {
  return region->direct ? plim_align_up(bytes, PLIM_ALIGN) : bytes;
}

static int write_file(int fd, const char *from, int64_t bytes, int64_t offset) {
  for (int64_t done = 0; done < bytes;) {
    ssize_t n = pwrite(fd, from + done, (size_t)(bytes - done), (off_t)(offset + done));
    if (n > 0) {
      done += n;
    } else if (n == 0 || errno != EINTR) {
      return n == 0 ? ENOSPC : errno;
    }
  }
  return 0;
}

static int read_file(int fd, char *to, int64_t bytes, int64_t offset) {
  for (int64_t done = 0; done < bytes;) {
    ssize_t n = pread(fd, to + done, (size_t)(bytes - done), (off_t)(offset + done));
    if (n > 0) {
      done += n;
    } else if (n == 0 || errno != EINTR) {
      return n == 0 ? ENODATA : errno;
    }
  }
  return 0;
}

int plim_memory_region_write(const plim_memory_region *region, plim_page_ring *ring, void *to, const void *from,
                             int64_t bytes) {
  if (region->fd < 0) {
    memcpy(to, from, (size_t)bytes);
    return 0;
  }
  int64_t offset = (char *)to - region->base, moved = moved_bytes(region, bytes);
  void *memory = (void *)(uintptr_t)from; /* the ring takes one for both directions */
  return ring && plim_page_ring_works(ring) ? plim_page_ring_copy(ring, region->fd, 1, memory, moved, offset)
                                            : write_file(region->fd, from, moved, offset);
}

int plim_memory_region_read(const plim_memory_region *region, plim_page_ring *ring, void *to, const void *from,
                            int64_t bytes) {
  if (region->fd < 0) {
    memcpy(to, from, (size_t)bytes);
    return 0;
  }
  int64_t offset = (const char *)from - region->base, moved = moved_bytes(region, bytes);
  const int error = ring && plim_page_ring_works(ring) ? plim_page_ring_copy(ring, region->fd, 0, to, moved, offset)
                                                       : read_file(region->fd, to, moved, offset);
  return error == 0 && is_cut(region) ? ENODATA : error;
}

/* ---- between two steps ---- */

static plim_status exchange(plim_context *ctx, const plim_memory_region *region, int writes, char *host, char *paged,
                            int64_t bytes) {
  int64_t at = paged - region->base, begin = at / PLIM_ALIGN * PLIM_ALIGN;
  int64_t block_bytes = plim_align_up(at + bytes, PLIM_ALIGN) - begin;
  void *block = NULL;
  PLIM_TRY(plim_guarded_alloc(ctx, block_bytes, 0, &block));
  int error = read_file(region->fd, block, block_bytes, begin);
  if (error == 0 && is_cut(region)) error = ENODATA;
  if (error == 0 && writes) {
    memcpy((char *)block + (at - begin), host, (size_t)bytes);
    error = write_file(region->fd, block, block_bytes, begin);
  } else if (error == 0) {
    memcpy(host, (char *)block + (at - begin), (size_t)bytes);
  }
  plim_guarded_free(block, block_bytes);
  if (error == 0) return PLIM_OK;
  return plim_fail(ctx, PLIM_EIO, "the page file %s: %s", region->name, strerror(error));
}

plim_status plim_memory_region_put(plim_context *ctx, const plim_memory_region *region, char *to, const void *from,
                                   int64_t bytes) {
  return bytes > 0 ? exchange(ctx, region, 1, (char *)(uintptr_t)from, to, bytes) : PLIM_OK;
}

plim_status plim_memory_region_get(plim_context *ctx, const plim_memory_region *region, void *to, const char *from,
                                   int64_t bytes) {
  return bytes > 0 ? exchange(ctx, region, 0, to, (char *)(uintptr_t)from, bytes) : PLIM_OK;
}

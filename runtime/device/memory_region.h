/* A memory region: the memory of one space. That of a page space is memory of the process, or a page file; this file
 * opens it, and copies to it and back. That of an arena comes from its device. Functions are called on one thread at a
 * time, except plim_memory_region_write and plim_memory_region_read. */
#ifndef PLIM_RUNTIME_DEVICE_MEMORY_REGION_H
#define PLIM_RUNTIME_DEVICE_MEMORY_REGION_H

#include "runtime/base/context.h"
#include "runtime/device/page_ring.h"

enum { PLIM_REGION_HOW_BYTES = 96, PLIM_REGION_NAME_MAX = 200 };

/* For a file, `base` begins a range of addresses that cannot be read: address - base is an offset in the file. */
typedef struct plim_memory_region {
  char *base;
  int64_t bytes;                   /* 0: not open */
  int fd;                          /* -1: memory */
  int32_t direct;                  /* 1: I/O bypasses the page cache, in whole blocks of PLIM_ALIGN bytes */
  char name[PLIM_REGION_NAME_MAX]; /* of the file, cut; "" for memory */
  char how[PLIM_REGION_HOW_BYTES]; /* "direct I/O", or why there is none; "" for memory */
} plim_memory_region;

/* Allocate a region of `bytes` > 0 in memory, all of it resident. End it with plim_memory_region_close. PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_memory_region_open(plim_context *ctx, int64_t bytes, plim_memory_region *out);

/* Open a page file of `bytes` > 0. The file system allocates all blocks now. Uses direct I/O where the file system
 * has it.
 *   path  in  created when it does not exist; else it must be empty and not in use. The close empties it.
 *             NULL: a file without a name in the temporary folder
 * PLIM_EIO: the file cannot be opened, is in use, or holds data. PLIM_ENOFIT: the file system has no room.
 * PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_memory_region_open_file(plim_context *ctx, const char *path, int64_t bytes,
                                                       plim_memory_region *out);

/* Enlarge a region of this file to `bytes`, between two steps. Contents stay, and `base` may change. On failure
 * contents, base and bytes are as before. Errors as for the open. */
PLIM_MUST_USE plim_status plim_memory_region_grow(plim_context *ctx, plim_memory_region *region, int64_t bytes);

void plim_memory_region_close(plim_memory_region *region); /* a zeroed one is legal */

/* Copy from memory to a page space (write) or back (read), on any thread. Addresses are multiples of PLIM_ALIGN, and
 * both sides have room for `bytes` rounded up to it.
 *   ring  in  of this thread; NULL: pread and pwrite
 * Returns 0 or an errno: ENODATA where the file ends too early, since another program has cut it. */
int plim_memory_region_write(const plim_memory_region *region, plim_page_ring *ring, void *to, const void *from,
                             int64_t bytes);
int plim_memory_region_read(const plim_memory_region *region, plim_page_ring *ring, void *to, const void *from,
                            int64_t bytes);

/* Copy between memory and a page file at any address and of any length, between two steps. Whole blocks are read, and
 * plim_memory_region_put writes them back. PLIM_EIO: the file fails. PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_memory_region_put(plim_context *ctx, const plim_memory_region *region, char *to,
                                                 const void *from, int64_t bytes);
PLIM_MUST_USE plim_status plim_memory_region_get(plim_context *ctx, const plim_memory_region *region, void *to,
                                                 const char *from, int64_t bytes);

#endif

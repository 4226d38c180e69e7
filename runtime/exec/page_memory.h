/* Memory of a page space: pages of the process, or a file. */
#ifndef PLIM_RUNTIME_EXEC_PAGE_MEMORY_H
#define PLIM_RUNTIME_EXEC_PAGE_MEMORY_H

#include "runtime/base/context.h"
#include "runtime/exec/page_ring.h"

enum { PLIM_PAGE_HOW_BYTES = 96, PLIM_PAGE_NAME_MAX = 200 };

/* Of a file, `base` is a range of addresses that cannot be read: an address less base is an offset in the file. */
typedef struct plim_page_memory {
  char *base;
  int64_t bytes;                 /* 0: not open */
  int fd;                        /* -1: memory */
  int32_t direct;                /* 1: reads and writes pass the page cache, in whole blocks of PLIM_ALIGN bytes */
  char name[PLIM_PAGE_NAME_MAX]; /* of the file, cut; "" for memory */
  char how[PLIM_PAGE_HOW_BYTES]; /* "direct I/O", or why there is none; "" for memory */
} plim_page_memory;

/* Memory of `bytes` > 0, all of it resident. PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_page_memory_open(plim_context *ctx, int64_t bytes, plim_page_memory *out);

/* A page file of `bytes` > 0, whose blocks the file system gives now. Direct I/O where the file system has it.
 *   path  in  the file: created, or empty, and not in use; it is empty again after plim_page_memory_close. NULL: a file
 *             without a name in the temporary folder
 * PLIM_EIO: it cannot be opened, or holds something. PLIM_ENOFIT: the file system has no room. */
PLIM_MUST_USE plim_status plim_page_file_open(plim_context *ctx, const char *path, int64_t bytes,
                                              plim_page_memory *out);

/* More bytes, between two steps: contents stay, and `base` may change. On failure all stays as it was. As open. */
PLIM_MUST_USE plim_status plim_page_memory_grow(plim_context *ctx, plim_page_memory *page, int64_t bytes);

void plim_page_memory_close(plim_page_memory *page); /* a zeroed one is legal */

/* Copy between memory and the space, on any thread. 0, or an errno: ENODATA where the file ends too early. Buffers have
 * PLIM_ALIGN-aligned addresses, and room for `bytes` rounded up to it.
 *   ring  in  of this thread; NULL: pread and pwrite */
int plim_page_write(const plim_page_memory *page, plim_page_ring *ring, void *to, const void *from, int64_t bytes);
int plim_page_read(const plim_page_memory *page, plim_page_ring *ring, void *to, const void *from, int64_t bytes);

/* The same between any memory and any bytes of a page file, between two steps: whole blocks are read, and written
 * again. PLIM_EIO: the file fails. */
PLIM_MUST_USE plim_status plim_page_put(plim_context *ctx, const plim_page_memory *page, char *to, const void *from,
                                        int64_t bytes);
PLIM_MUST_USE plim_status plim_page_get(plim_context *ctx, const plim_page_memory *page, void *to, const char *from,
                                        int64_t bytes);

#endif

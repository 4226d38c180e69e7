/* Memory of a page space: pages of the process, or a file. */
#ifndef PLIM_RUNTIME_EXEC_PAGE_MEMORY_H
#define PLIM_RUNTIME_EXEC_PAGE_MEMORY_H

#include "runtime/base/context.h"

/* Of a file, `base` is a range of addresses that cannot be read: an address less base is an offset in the file. */
typedef struct plim_page_memory {
  char *base;
  int64_t bytes; /* 0: not open */
  int fd;        /* -1: memory */
} plim_page_memory;

/* Memory of `bytes` > 0, all of it resident. PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_page_memory_open(plim_context *ctx, int64_t bytes, plim_page_memory *out);

/* A page file of `bytes` > 0, whose blocks the file system gives now.
 *   path  in  the file: created, or empty, and not in use; it is empty again after plim_page_memory_close. NULL: a file
 *             without a name in the temporary folder
 * PLIM_EIO: it cannot be opened, or holds something. PLIM_ENOFIT: the file system has no room. */
PLIM_MUST_USE plim_status plim_page_file_open(plim_context *ctx, const char *path, int64_t bytes,
                                              plim_page_memory *out);

void plim_page_memory_close(plim_page_memory *page); /* a zeroed one is legal */

/* Copy between memory and the space, on any thread. 0, or an errno: ENODATA where the file ends too early. */
int plim_page_write(const plim_page_memory *page, void *to, const void *from, int64_t bytes);
int plim_page_read(const plim_page_memory *page, void *to, const void *from, int64_t bytes);

#endif

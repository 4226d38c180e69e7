/* Reads and writes of a page file by io_uring: several parts of a copy are under way at once. */
#ifndef PLIM_RUNTIME_EXEC_PAGE_RING_H
#define PLIM_RUNTIME_EXEC_PAGE_RING_H

#include "runtime/base/context.h"

typedef struct plim_page_ring plim_page_ring;

/* A ring for one thread at a time. NULL where the kernel has none, or allows none: then pread and pwrite do it. */
plim_page_ring *plim_page_ring_open(plim_context *ctx);
void plim_page_ring_close(plim_page_ring *ring); /* NULL is legal */

/* Copy `bytes` between memory and the file from `offset` on, and wait. 0, or an errno: ENODATA where the file ends too
 * early, ENOSPC where it does not grow. Allocates nothing. After a failure, too, nothing is under way; of a kernel that
 * does not say so, that is waited for half a minute. */
int plim_page_ring_copy(plim_page_ring *ring, int fd, int writes, void *memory, int64_t bytes, int64_t offset);

/* 0: the kernel has failed, and the ring takes no more copies: pread and pwrite do it from now on. */
int plim_page_ring_works(const plim_page_ring *ring);

#endif

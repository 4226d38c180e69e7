/* Reads and writes a page file by io_uring. Several parts of a copy are in flight at once. */
#ifndef PLIM_RUNTIME_DEVICE_PAGE_RING_H
#define PLIM_RUNTIME_DEVICE_PAGE_RING_H

#include "runtime/base/context.h"

typedef struct plim_page_ring plim_page_ring;

/* Open a ring, which one thread at a time may use. NULL when the kernel has or allows none; use pread and pwrite
 * then. */
plim_page_ring *plim_page_ring_open(plim_context *ctx);
void plim_page_ring_close(plim_page_ring *ring); /* NULL is legal */

/* Copy `bytes` between memory and the file from `offset` on, and wait.
 *   writes  in  1: memory to file; 0: file to memory
 * Returns 0 or an errno: ENODATA where the file ends too early, ENOSPC where it does not grow. Allocates nothing. No
 * I/O is in flight when the call returns, also after a failure. The exception is a kernel that reports no completion
 * for half a minute after it failed. */
int plim_page_ring_copy(plim_page_ring *ring, int fd, int writes, void *memory, int64_t bytes, int64_t offset);

/* May the ring be used? 0: the kernel has failed; use pread and pwrite from now on. */
int plim_page_ring_works(const plim_page_ring *ring);

#endif

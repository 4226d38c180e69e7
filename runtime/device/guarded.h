/* Memory between inaccessible pages: the arenas of the cpu and sim devices. Functions are safe from any thread that may
 * use the context. */
#ifndef PLIM_RUNTIME_DEVICE_GUARDED_H
#define PLIM_RUNTIME_DEVICE_GUARDED_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Allocate `bytes` > 0 of zeroed memory, aligned to PLIM_ALIGN, with an inaccessible page before and after.
 *   resident  in   1: the system provides every page now, huge pages if it can, so that a step never waits for a page;
 *                  0: it provides a page when it is touched, and `bytes` may exceed the machine's memory
 *   out       out  free with plim_guarded_free
 * When `bytes` is a multiple of PLIM_ALIGN, as for arenas, the first byte after the memory is on the inaccessible page.
 * Otherwise up to PLIM_ALIGN - 1 bytes lie between. Before the memory up to one page minus PLIM_ALIGN may be
 * accessible: a write after the end is the common fault, and the check device finds the other.
 * PLIM_ENOMEM, with the number of bytes. PLIM_EUSAGE, PLIM_EOVERFLOW: `bytes` is not positive, or too large. */
PLIM_MUST_USE plim_status plim_guarded_alloc(plim_context *ctx, int64_t bytes, int resident, void **out);
/* Change the accessible bytes of an allocation from its first from_bytes to its first to_bytes, at most the bytes
 * allocated. When it shrinks, whole pages after to_bytes return to the system and become inaccessible. When it grows,
 * they become accessible again; `resident` as for plim_guarded_alloc.
 *   returned  out  bytes of the pages returned, negative when pages came back
 * PLIM_ENOMEM: the system refuses. */
PLIM_MUST_USE plim_status plim_guarded_resize(plim_context *ctx, void *ptr, int64_t from_bytes, int64_t to_bytes,
                                              int resident, int64_t *returned);
/* PLIM_ENOMEM when the system has less than 8 MiB of addresses left, which is more than listing or compiling one kernel
 * needs. Call it before libraries that do not check their allocations: without memory a signal would end the process.
 */
PLIM_MUST_USE plim_status plim_guarded_has_addresses(plim_context *ctx);
void plim_guarded_free(void *ptr, int64_t bytes); /* NULL is legal; `bytes` as allocated */

#ifdef __cplusplus
}
#endif
#endif

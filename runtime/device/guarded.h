/* Memory between inaccessible pages: what the cpu and sim devices allocate arenas from. */
#ifndef PLIM_RUNTIME_DEVICE_GUARDED_H
#define PLIM_RUNTIME_DEVICE_GUARDED_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `bytes` > 0 of zeroed memory, aligned to PLIM_ALIGN, with an inaccessible page before and after.
 *
 * The end is flush: when `bytes` is a multiple of PLIM_ALIGN (arenas are), the first byte after the memory is already
 * on the inaccessible page; otherwise up to PLIM_ALIGN - 1 bytes lie between. Before the memory up to one page minus
 * PLIM_ALIGN may be accessible: a write after the end is the common fault, and the check device sees the other.
 * `resident` 1: every page is brought in now, so that a step never waits for one, and huge pages are asked for;
 * 0: pages come when touched, and more than the machine has may be asked for.
 * PLIM_ENOMEM with the number of bytes. */
PLIM_MUST_USE plim_status plim_guarded_alloc(plim_context *ctx, int64_t bytes, int resident, void **out);
/* Keep the first to_bytes accessible of from_bytes: whole pages after them go back to the system and become
 * inaccessible. Or the other way round, up to the bytes allocated; `resident` as above. *returned: bytes of the pages
 * that went, negative when they came back. */
PLIM_MUST_USE plim_status plim_guarded_resize(plim_context *ctx, void *ptr, int64_t from_bytes, int64_t to_bytes,
                                              int resident, int64_t *returned);
/* PLIM_ENOMEM when the system has less than some MiB left, which is more than listing or compiling one kernel takes.
 * Called before libraries that do not check what they allocate: without memory, a signal would end the process. */
PLIM_MUST_USE plim_status plim_guarded_room(plim_context *ctx);
void plim_guarded_free(void *ptr, int64_t bytes); /* NULL is legal; `bytes` as allocated */

#ifdef __cplusplus
}
#endif
#endif

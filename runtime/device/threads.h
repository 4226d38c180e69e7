/* The number of threads kernels run with: fixed when a device opens, verified where it matters.
 *
 * Bits depend on it (fixed-order reductions split by thread), so OpenMP must not choose for itself. How idle threads
 * wait is libgomp's to read at program start: GOMP_SPINCOUNT=2000 is as fast as its default alone on a machine, and
 * keeps threads from spinning through time slices where the machine is shared. */
#ifndef PLIM_RUNTIME_DEVICE_THREADS_H
#define PLIM_RUNTIME_DEVICE_THREADS_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_THREADS_MAX = 1024 };

/* CPUs in the affinity mask of the calling thread; at least 1. */
int32_t plim_threads_default(void);

/* Fix the threads of parallel regions that the calling thread starts, dynamic adjustment off, and count them in one.
 * `threads` 0 means plim_threads_default(); *fixed is the number. PLIM_EUSAGE outside 0 .. PLIM_THREADS_MAX;
 * PLIM_ENOMEM when the system refuses to start so many; PLIM_EDEVICE with both numbers when a region gets another count
 * (OMP_THREAD_LIMIT, an enclosing region). */
PLIM_MUST_USE plim_status plim_threads_fix(plim_context *ctx, int32_t threads, int32_t *fixed);

/* The same number for the calling thread, where plim_threads_fix has fixed it for another: nothing is tried. */
void plim_threads_adopt(int32_t threads);

/* Threads that the next parallel region of the calling thread asks for. */
int32_t plim_threads_now(void);

#ifdef __cplusplus
}
#endif
#endif

/* The number of threads that kernels use: fixed when a device opens, and checked before each run.
 *
 * Bits depend on it, because reductions in a fixed order are split by thread. So OpenMP must not choose it. libgomp
 * reads at program start how idle threads wait. GOMP_SPINCOUNT=2000 is as fast as its default when a program is alone
 * on a machine, and keeps threads from spinning through time slices on a shared machine. */
#ifndef PLIM_RUNTIME_DEVICE_THREADS_H
#define PLIM_RUNTIME_DEVICE_THREADS_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_THREADS_MAX = 1024 };

/* Number of CPUs in the affinity mask of the calling thread; at least 1, at most PLIM_THREADS_MAX. */
int32_t plim_threads_default(void);

/* Number of threads of each of `devices` devices that share this number, 0: plim_threads_default, in equal parts; 0:
 * there are fewer threads than devices. */
int32_t plim_threads_share(int32_t threads, int32_t devices);

/* Fix the number of threads of parallel regions that the calling thread starts, without dynamic adjustment. Then count
 * the threads of one region.
 *   threads  in   0: plim_threads_default
 *   fixed    out  the number
 * PLIM_EUSAGE: not in 0 .. PLIM_THREADS_MAX. PLIM_ENOMEM: the system refuses to start so many. PLIM_EDEVICE: a region
 * gets another number (OMP_THREAD_LIMIT, an enclosing region); the sentence has both numbers. */
PLIM_MUST_USE plim_status plim_threads_fix(plim_context *ctx, int32_t threads, int32_t *fixed);

/* Set a number that plim_threads_fix has fixed for another thread, for the calling thread. Tries nothing. */
void plim_threads_adopt(int32_t threads);

/* Number of threads that the next parallel region of the calling thread asks for. */
int32_t plim_threads_now(void);

#ifdef __cplusplus
}
#endif
#endif

/* Thread count: the affinity mask by default, fixed through OpenMP, verified by counting inside a parallel region. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "runtime/device/threads.h"

#include <omp.h>
#include <sched.h>

int32_t plim_threads_default(void) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return 1;
  int count = CPU_COUNT(&mask);
  return count < 1 ? 1 : count > PLIM_THREADS_MAX ? PLIM_THREADS_MAX : count;
}

/* Every thread adds one: what the region really got, not what OpenMP says that it will get. */
static int32_t count_in_region(void) {
  int32_t count = 0;
#pragma omp parallel
  {
#pragma omp atomic
    count++;
  }
  return count;
}

plim_status plim_threads_fix(plim_context *ctx, int32_t threads, int32_t *fixed) {
  if (threads < 0 || threads > PLIM_THREADS_MAX) {
    return plim_fail(ctx, PLIM_EUSAGE, "%d threads: give 1 to %d, or 0 for the %d of the affinity mask", (int)threads,
                     (int)PLIM_THREADS_MAX, (int)plim_threads_default());
  }
  if (threads == 0) threads = plim_threads_default();
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
  int32_t got = count_in_region();
  if (got != threads) {
    return plim_fail(ctx, PLIM_EDEVICE,
                     "%d threads were asked for and a parallel region got %d; look at OMP_THREAD_LIMIT (%d)",
                     (int)threads, (int)got, omp_get_thread_limit());
  }
  *fixed = threads;
  return PLIM_OK;
}

int32_t plim_threads_now(void) {
  return omp_get_max_threads();
}

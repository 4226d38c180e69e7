/* The number of threads: by default that of the affinity mask, set through OpenMP, checked by counting inside a
 * parallel region. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "runtime/device/threads.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

int32_t plim_threads_default(void) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return 1;
  int count = CPU_COUNT(&mask);
  return count < 1 ? 1 : count > PLIM_THREADS_MAX ? PLIM_THREADS_MAX : count;
}

int32_t plim_threads_share(int32_t threads, int32_t devices) {
  return (threads > 0 ? threads : plim_threads_default()) / devices;
}

/* Count the threads that a region really gets: each adds one. OpenMP reports only the number that it intends to use. */
static int32_t count_in_region(void) {
  int32_t count = 0;
#pragma omp parallel
  {
#pragma omp atomic
    count++;
  }
  return count;
}

static void *pass(void *gate) {
  (void)pthread_mutex_lock(gate);
  (void)pthread_mutex_unlock(gate);
  return NULL;
}

/* Start n threads at once, and end them. libgomp ends the process when it cannot start a thread, so this is tried
 * first. The C library keeps the stacks for the threads of libgomp. */
static plim_status try_threads(plim_context *ctx, int32_t n) {
  static atomic_int most_tried;
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  pthread_t *thread = NULL;
  int32_t started = 0;
  int code = 0;
  if (n <= atomic_load(&most_tried)) return PLIM_OK;
  PLIM_TRY(plim_allocate(ctx, n, sizeof *thread, &thread));
  (void)pthread_mutex_lock(&gate);
  while (started < n && (code = pthread_create(&thread[started], NULL, pass, &gate)) == 0) started++;
  (void)pthread_mutex_unlock(&gate);
  for (int32_t i = 0; i < started; i++) (void)pthread_join(thread[i], NULL);
  plim_release(ctx, thread, n, sizeof *thread);
  if (started == n) {
    atomic_store(&most_tried, n);
    return PLIM_OK;
  }
  return plim_fail(ctx, PLIM_ENOMEM,
                   "thread %d of %d cannot be started: %s; each takes memory for its stack, which ulimit -v and ulimit "
                   "-u may refuse",
                   (int)started + 2, (int)n + 1, strerror(code));
}

plim_status plim_threads_fix(plim_context *ctx, int32_t threads, int32_t *fixed) {
  if (threads < 0 || threads > PLIM_THREADS_MAX) {
    return plim_fail(ctx, PLIM_EUSAGE, "%d threads: give 1 to %d, or 0 for the %d of the affinity mask", (int)threads,
                     (int)PLIM_THREADS_MAX, (int)plim_threads_default());
  }
  if (threads == 0) threads = plim_threads_default();
  PLIM_TRY(try_threads(ctx, threads - 1));
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

void plim_threads_adopt(int32_t threads) {
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
}

int32_t plim_threads_now(void) {
  return omp_get_max_threads();
}

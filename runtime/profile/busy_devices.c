/* Busy devices are what the executor makes of a further device: a thread with as many threads for its parallel regions
 * as the device has, with kernels and memory of its own. No thread is bound to a CPU there, so none is here.
 *
 * A measurement is a fork and a join. The caller publishes a case and waits until each device has begun. Then it runs
 * the case itself, sets `stop`, and waits until no device works. A device that has nothing to do sleeps. Fields that
 * are not atomic are guarded by the mutex, or written while no device works. */
#include "runtime/profile/busy_devices.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/context_internal.h"
#include "runtime/device/threads.h"

typedef struct busy_device {
  plim_busy_devices *busy;
  plim_measurement measurement;
  void **kernel;            /* [busy->n_cases] NULL: not prepared yet */
  plim_profile_case member; /* the case that it runs, with its own kernel */
  pthread_t thread;
  char error[PLIM_ERROR_BYTES]; /* the context's sentence on this thread */
} busy_device;

struct plim_busy_devices {
  plim_profile_set *set;
  int32_t n, n_started, n_cases;
  busy_device *device; /* [n] */
  const plim_profile_group *group;
  _Atomic int stop;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  /* guarded by the mutex */
  int64_t fork;                   /* number of forks so far */
  int32_t idle, working, closing; /* devices that have not begun the last fork; that have not ended it */
  plim_status failed;             /* of the last fork; PLIM_OK: nothing has */
  const char *why;                /* the sentence of the failure */
};

/* ---- the threads ---- */

static void leave(plim_busy_devices *busy, int32_t *count) {
  (void)pthread_mutex_lock(&busy->mutex);
  --*count;
  (void)pthread_cond_broadcast(&busy->changed);
  (void)pthread_mutex_unlock(&busy->mutex);
}

static void note_failure(busy_device *own, plim_status status) {
  plim_busy_devices *busy = own->busy;
  (void)pthread_mutex_lock(&busy->mutex);
  if (busy->failed == PLIM_OK) {
    busy->failed = status;
    busy->why = own->error;
  }
  (void)pthread_mutex_unlock(&busy->mutex);
}

/* Run the case until the join, at least once. */
static void work(busy_device *own) {
  plim_busy_devices *busy = own->busy;
  plim_status status;
  leave(busy, &busy->idle);
  do {
    int64_t time_ns;
    status = plim_measure_run(&own->measurement, busy->group, &own->member, &time_ns);
  } while (status == PLIM_OK && !atomic_load(&busy->stop));
  if (status != PLIM_OK) note_failure(own, status);
  leave(busy, &busy->working);
}

/* Wait for the next fork after number `last`. Returns 0 when there is none. */
static int wait_for_fork(plim_busy_devices *busy, int64_t last) {
  (void)pthread_mutex_lock(&busy->mutex);
  while (!busy->closing && busy->fork == last) (void)pthread_cond_wait(&busy->changed, &busy->mutex);
  const int closing = busy->closing;
  (void)pthread_mutex_unlock(&busy->mutex);
  return !closing;
}

static void *device_main(void *user) {
  busy_device *own = user;
  plim_context_fail_into(own->busy->set->device->ctx, own->error);
  plim_threads_adopt(own->busy->set->device->machine.threads);
  for (int64_t last = 0; wait_for_fork(own->busy, last); last++) work(own);
  return NULL;
}

/* ---- fork and join ---- */

static void wait_for_none(plim_busy_devices *busy, const int32_t *count) {
  while (*count > 0) (void)pthread_cond_wait(&busy->changed, &busy->mutex);
}

static void fork_devices(plim_busy_devices *busy) {
  (void)pthread_mutex_lock(&busy->mutex);
  atomic_store(&busy->stop, 0);
  busy->failed = PLIM_OK;
  busy->idle = busy->working = busy->n;
  busy->fork++;
  (void)pthread_cond_broadcast(&busy->changed);
  wait_for_none(busy, &busy->idle);
  (void)pthread_mutex_unlock(&busy->mutex);
}

static plim_status join_devices(plim_busy_devices *busy) {
  atomic_store(&busy->stop, 1);
  (void)pthread_mutex_lock(&busy->mutex);
  wait_for_none(busy, &busy->working);
  (void)pthread_mutex_unlock(&busy->mutex);
  return busy->failed;
}

/* Give each device the case, with a kernel of its own. */
static plim_status set_case(plim_busy_devices *busy, const plim_profile_group *group,
                            const plim_profile_case *profile_case) {
  plim_device *device = busy->set->device;
  const int64_t at = profile_case - busy->set->cases;
  busy->group = group;
  for (int32_t i = 0; i < busy->n; i++) {
    busy_device *own = &busy->device[i];
    if (!own->kernel[at]) {
      PLIM_TRY(device->api->kernels.prepare(device, &group->desc, profile_case->variant.name, &own->kernel[at]));
    }
    own->member = *profile_case;
    own->member.kernel = own->kernel[at];
  }
  return PLIM_OK;
}

plim_status plim_busy_devices_run(plim_busy_devices *busy, plim_measurement *measurement,
                                  const plim_profile_group *group, const plim_profile_case *profile_case,
                                  int64_t *time_ns) {
  if (!busy) return plim_measure_run(measurement, group, profile_case, time_ns);
  PLIM_TRY(set_case(busy, group, profile_case));
  fork_devices(busy);
  const plim_status own = plim_measure_run(measurement, group, profile_case, time_ns);
  const plim_status others = join_devices(busy); /* only after the own run */
  if (own != PLIM_OK || others == PLIM_OK) return own;
  return plim_fail(busy->set->device->ctx, others, "on a device that is busy beside: %s", busy->why);
}

/* ---- open and close ---- */

static plim_status start(busy_device *own, const plim_measure_needs *most, int64_t limit) {
  plim_busy_devices *busy = own->busy;
  plim_context *ctx = busy->set->device->ctx;
  PLIM_TRY(plim_allocate(ctx, busy->n_cases, sizeof *own->kernel, &own->kernel));
  PLIM_TRY(plim_measure_begin(busy->set, most, limit, &own->measurement));
  const int error = pthread_create(&own->thread, NULL, device_main, own);
  if (error != 0) {
    return plim_fail(ctx, PLIM_ENOMEM, "the thread of a busy device cannot be started: %s", strerror(error));
  }
  busy->n_started++;
  return PLIM_OK;
}

plim_status plim_busy_devices_open(plim_profile_set *set, const plim_measure_needs *most, int64_t limit,
                                   plim_busy_devices **out) {
  plim_context *ctx = set->device->ctx;
  plim_busy_devices *busy = NULL;
  *out = NULL;
  if (set->busy_devices == 0) return PLIM_OK;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *busy, &busy));
  busy->set = set;
  busy->n_cases = set->n_cases;
  (void)pthread_mutex_init(&busy->mutex, NULL); /* neither can fail with default attributes here */
  (void)pthread_cond_init(&busy->changed, NULL);
  plim_status status = plim_allocate(ctx, set->busy_devices, sizeof *busy->device, &busy->device);
  if (status == PLIM_OK) busy->n = set->busy_devices;
  for (int32_t i = 0; i < busy->n && status == PLIM_OK; i++) {
    busy->device[i].busy = busy;
    status = start(&busy->device[i], most, limit);
  }
  if (status == PLIM_OK) {
    *out = busy;
  } else {
    plim_busy_devices_close(busy);
  }
  return status;
}

static void free_device(const plim_busy_devices *busy, busy_device *own) {
  plim_device *device = busy->set->device;
  for (int32_t i = 0; i < busy->n_cases && own->kernel; i++) {
    if (own->kernel[i]) device->api->kernels.unprepare(device, own->kernel[i]);
  }
  plim_release(device->ctx, own->kernel, busy->n_cases, sizeof *own->kernel);
  plim_measure_end(&own->measurement);
}

void plim_busy_devices_close(plim_busy_devices *busy) {
  if (!busy) return;
  plim_context *ctx = busy->set->device->ctx;
  (void)pthread_mutex_lock(&busy->mutex);
  busy->closing = 1;
  (void)pthread_cond_broadcast(&busy->changed);
  (void)pthread_mutex_unlock(&busy->mutex);
  for (int32_t i = 0; i < busy->n_started; i++) (void)pthread_join(busy->device[i].thread, NULL);
  for (int32_t i = 0; i < busy->n; i++) free_device(busy, &busy->device[i]);
  (void)pthread_cond_destroy(&busy->changed);
  (void)pthread_mutex_destroy(&busy->mutex);
  plim_release(ctx, busy->device, busy->n, sizeof *busy->device);
  plim_release(ctx, busy, 1, sizeof *busy);
}

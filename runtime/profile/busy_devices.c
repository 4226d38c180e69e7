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
  plim_measurement memory;
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

static void leave(plim_busy_devices *b, int32_t *count) {
  (void)pthread_mutex_lock(&b->mutex);
  --*count;
  (void)pthread_cond_broadcast(&b->changed);
  (void)pthread_mutex_unlock(&b->mutex);
}

static void note_failure(busy_device *d, plim_status status) {
  plim_busy_devices *b = d->busy;
  (void)pthread_mutex_lock(&b->mutex);
  if (b->failed == PLIM_OK) {
    b->failed = status;
    b->why = d->error;
  }
  (void)pthread_mutex_unlock(&b->mutex);
}

/* Run the case until the join, at least once. */
static void work(busy_device *d) {
  plim_busy_devices *b = d->busy;
  plim_status status;
  leave(b, &b->idle);
  do {
    int64_t time_ns;
    status = plim_measure_run(&d->memory, b->group, &d->member, &time_ns);
  } while (status == PLIM_OK && !atomic_load(&b->stop));
  if (status != PLIM_OK) note_failure(d, status);
  leave(b, &b->working);
}

/* Wait for the next fork after number `last`. Returns 0 when there is none. */
static int wait_for_fork(plim_busy_devices *b, int64_t last) {
  (void)pthread_mutex_lock(&b->mutex);
  while (!b->closing && b->fork == last) (void)pthread_cond_wait(&b->changed, &b->mutex);
  const int closing = b->closing;
  (void)pthread_mutex_unlock(&b->mutex);
  return !closing;
}

static void *device_main(void *user) {
  busy_device *d = user;
  plim_context_fail_into(d->busy->set->device->ctx, d->error);
  plim_threads_adopt(d->busy->set->device->machine.threads);
  for (int64_t last = 0; wait_for_fork(d->busy, last); last++) work(d);
  return NULL;
}

/* ---- fork and join ---- */

static void wait_for_none(plim_busy_devices *b, const int32_t *count) {
  while (*count > 0) (void)pthread_cond_wait(&b->changed, &b->mutex);
}

static void fork_devices(plim_busy_devices *b) {
  (void)pthread_mutex_lock(&b->mutex);
  atomic_store(&b->stop, 0);
  b->failed = PLIM_OK;
  b->idle = b->working = b->n;
  b->fork++;
  (void)pthread_cond_broadcast(&b->changed);
  wait_for_none(b, &b->idle);
  (void)pthread_mutex_unlock(&b->mutex);
}

static plim_status join_devices(plim_busy_devices *b) {
  atomic_store(&b->stop, 1);
  (void)pthread_mutex_lock(&b->mutex);
  wait_for_none(b, &b->working);
  (void)pthread_mutex_unlock(&b->mutex);
  return b->failed;
}

/* Give each device the case, with a kernel of its own. */
static plim_status set_case(plim_busy_devices *b, const plim_profile_group *group, const plim_profile_case *c) {
  plim_device *device = b->set->device;
  const int64_t at = c - b->set->cases;
  b->group = group;
  for (int32_t i = 0; i < b->n; i++) {
    busy_device *d = &b->device[i];
    if (!d->kernel[at]) PLIM_TRY(device->api->kernels.prepare(device, &group->desc, c->variant.name, &d->kernel[at]));
    d->member = *c;
    d->member.kernel = d->kernel[at];
  }
  return PLIM_OK;
}

plim_status plim_busy_devices_run(plim_busy_devices *b, plim_measurement *m, const plim_profile_group *group,
                                  const plim_profile_case *c, int64_t *time_ns) {
  if (!b) return plim_measure_run(m, group, c, time_ns);
  PLIM_TRY(set_case(b, group, c));
  fork_devices(b);
  const plim_status own = plim_measure_run(m, group, c, time_ns), beside = join_devices(b);
  if (own != PLIM_OK || beside == PLIM_OK) return own;
  return plim_fail(b->set->device->ctx, beside, "on a device that is busy beside: %s", b->why);
}

/* ---- open and close ---- */

static plim_status start(busy_device *d, const plim_measure_needs *most, int64_t limit) {
  plim_busy_devices *b = d->busy;
  plim_context *ctx = b->set->device->ctx;
  PLIM_TRY(plim_allocate(ctx, b->n_cases, sizeof *d->kernel, &d->kernel));
  PLIM_TRY(plim_measure_begin(b->set, most, limit, &d->memory));
  const int error = pthread_create(&d->thread, NULL, device_main, d);
  if (error != 0)
    return plim_fail(ctx, PLIM_ENOMEM, "the thread of a busy device cannot be started: %s", strerror(error));
  b->n_started++;
  return PLIM_OK;
}

plim_status plim_busy_devices_open(plim_profile_set *set, const plim_measure_needs *most, int64_t limit,
                                   plim_busy_devices **out) {
  plim_context *ctx = set->device->ctx;
  plim_busy_devices *b = NULL;
  *out = NULL;
  if (set->beside == 0) return PLIM_OK;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *b, &b));
  b->set = set;
  b->n_cases = set->n_cases;
  (void)pthread_mutex_init(&b->mutex, NULL); /* neither can fail with default attributes here */
  (void)pthread_cond_init(&b->changed, NULL);
  plim_status status = plim_allocate(ctx, set->beside, sizeof *b->device, &b->device);
  if (status == PLIM_OK) b->n = set->beside;
  for (int32_t i = 0; i < b->n && status == PLIM_OK; i++) {
    b->device[i].busy = b;
    status = start(&b->device[i], most, limit);
  }
  if (status == PLIM_OK) {
    *out = b;
  } else {
    plim_busy_devices_close(b);
  }
  return status;
}

static void free_device(const plim_busy_devices *b, busy_device *d) {
  plim_device *device = b->set->device;
  for (int32_t i = 0; i < b->n_cases && d->kernel; i++) {
    if (d->kernel[i]) device->api->kernels.unprepare(device, d->kernel[i]);
  }
  plim_release(device->ctx, d->kernel, b->n_cases, sizeof *d->kernel);
  plim_measure_end(&d->memory);
}

void plim_busy_devices_close(plim_busy_devices *b) {
  if (!b) return;
  plim_context *ctx = b->set->device->ctx;
  (void)pthread_mutex_lock(&b->mutex);
  b->closing = 1;
  (void)pthread_cond_broadcast(&b->changed);
  (void)pthread_mutex_unlock(&b->mutex);
  for (int32_t i = 0; i < b->n_started; i++) (void)pthread_join(b->device[i].thread, NULL);
  for (int32_t i = 0; i < b->n; i++) free_device(b, &b->device[i]);
  (void)pthread_cond_destroy(&b->changed);
  (void)pthread_mutex_destroy(&b->mutex);
  plim_release(ctx, b->device, b->n, sizeof *b->device);
  plim_release(ctx, b, 1, sizeof *b);
}

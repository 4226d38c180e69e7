/* The reader and its thread. One thread serves one request at a time, which is handed over under a mutex. The thread
 * owns the destination while a request is open; otherwise the caller does. */
#include "runtime/data/reader.h"

#include <pthread.h>
#include <string.h>

typedef enum reader_state { IDLE, REQUESTED, READY, QUIT } reader_state;

struct plim_reader {
  plim_context *ctx;
  plim_sampler *sampler;
  uint8_t *image; /* where it writes: changed only while nothing is requested */
  int32_t *label;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  reader_state state; /* guarded by mutex, as the three below */
  plim_reader_part part;
  int64_t number;
  int failed; /* 1: there is no batch, and the sampler knows why */
};

static int prepare(plim_reader *r, plim_reader_part part, int64_t number) {
  if (part == PLIM_READ_TRAIN) return plim_sampler_train(r->sampler, number, r->image, r->label);
  return plim_sampler_test(r->sampler, number, r->image, r->label);
}

static void *reader_main(void *user) {
  plim_reader *r = user;
  (void)pthread_mutex_lock(&r->mutex);
  while (r->state != QUIT) {
    if (r->state == REQUESTED) {
      plim_reader_part part = r->part;
      int64_t number = r->number;
      (void)pthread_mutex_unlock(&r->mutex);
      const int failed = !prepare(r, part, number);
      (void)pthread_mutex_lock(&r->mutex);
      r->failed = failed;
      if (r->state == REQUESTED) r->state = READY;
      (void)pthread_cond_broadcast(&r->changed);
    } else {
      (void)pthread_cond_wait(&r->changed, &r->mutex);
    }
  }
  (void)pthread_mutex_unlock(&r->mutex);
  return NULL;
}

plim_status plim_reader_open(plim_context *ctx, plim_sampler *sampler, uint8_t *image, int32_t *label,
                             plim_reader **out) {
  plim_reader *r = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *r, &r));
  r->ctx = ctx;
  r->sampler = sampler;
  r->image = image;
  r->label = label;
  (void)pthread_mutex_init(&r->mutex, NULL); /* neither can fail with default attributes here */
  (void)pthread_cond_init(&r->changed, NULL);
  int error = pthread_create(&r->thread, NULL, reader_main, r);
  if (error != 0) {
    (void)pthread_cond_destroy(&r->changed);
    (void)pthread_mutex_destroy(&r->mutex);
    plim_release(ctx, r, 1, sizeof *r);
    return plim_fail(ctx, PLIM_ENOMEM, "the reader thread cannot be started: %s; it takes memory for its stack",
                     strerror(error));
  }
  *out = r;
  return PLIM_OK;
}

static void set_state(plim_reader *r, reader_state state) {
  r->state = state;
  (void)pthread_cond_broadcast(&r->changed);
}

void plim_reader_close(plim_reader *reader) {
  if (!reader) return;
  (void)pthread_mutex_lock(&reader->mutex);
  set_state(reader, QUIT);
  (void)pthread_mutex_unlock(&reader->mutex);
  (void)pthread_join(reader->thread, NULL);
  (void)pthread_cond_destroy(&reader->changed);
  (void)pthread_mutex_destroy(&reader->mutex);
  plim_release(reader->ctx, reader, 1, sizeof *reader);
}

/* Wait until no request is open. The caller holds the mutex. */
static void wait_ready(plim_reader *r) {
  while (r->state == REQUESTED) (void)pthread_cond_wait(&r->changed, &r->mutex);
}

void plim_reader_request(plim_reader *reader, plim_reader_part part, int64_t number) {
  (void)pthread_mutex_lock(&reader->mutex);
  wait_ready(reader);
  reader->part = part;
  reader->number = number;
  set_state(reader, REQUESTED);
  (void)pthread_mutex_unlock(&reader->mutex);
}

void plim_reader_set_target(plim_reader *reader, uint8_t *image, int32_t *label) {
  (void)pthread_mutex_lock(&reader->mutex);
  wait_ready(reader);
  reader->image = image;
  reader->label = label;
  (void)pthread_mutex_unlock(&reader->mutex);
}

void plim_reader_settle(plim_reader *reader) {
  (void)pthread_mutex_lock(&reader->mutex);
  wait_ready(reader);
  (void)pthread_mutex_unlock(&reader->mutex);
}

plim_status plim_reader_wait(plim_reader *reader) {
  (void)pthread_mutex_lock(&reader->mutex);
  wait_ready(reader);
  const int failed = reader->failed;
  (void)pthread_mutex_unlock(&reader->mutex);
  if (!failed) return PLIM_OK;
  const plim_data_fault *fault = plim_sampler_fault(reader->sampler); /* the thread is idle */
  return plim_fail(reader->ctx, fault->status, "%s", fault->sentence);
}

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

static int prepare(plim_reader *reader, plim_reader_part part, int64_t number) {
  if (part == PLIM_READ_TRAIN) return plim_sampler_train(reader->sampler, number, reader->image, reader->label);
  return plim_sampler_test(reader->sampler, number, reader->image, reader->label);
}

static void *reader_main(void *user) {
  plim_reader *reader = user;
  (void)pthread_mutex_lock(&reader->mutex);
  while (reader->state != QUIT) {
    if (reader->state == REQUESTED) {
      plim_reader_part part = reader->part;
      int64_t number = reader->number;
      (void)pthread_mutex_unlock(&reader->mutex);
      const int failed = !prepare(reader, part, number);
      (void)pthread_mutex_lock(&reader->mutex);
      reader->failed = failed;
      if (reader->state == REQUESTED) reader->state = READY;
      (void)pthread_cond_broadcast(&reader->changed);
    } else {
      (void)pthread_cond_wait(&reader->changed, &reader->mutex);
    }
  }
  (void)pthread_mutex_unlock(&reader->mutex);
  return NULL;
}

plim_status plim_reader_open(plim_context *ctx, plim_sampler *sampler, uint8_t *image, int32_t *label,
                             plim_reader **out) {
  plim_reader *reader = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *reader, &reader));
  reader->ctx = ctx;
  reader->sampler = sampler;
  reader->image = image;
  reader->label = label;
  (void)pthread_mutex_init(&reader->mutex, NULL); /* neither can fail with default attributes here */
  (void)pthread_cond_init(&reader->changed, NULL);
  int error = pthread_create(&reader->thread, NULL, reader_main, reader);
  if (error != 0) {
    (void)pthread_cond_destroy(&reader->changed);
    (void)pthread_mutex_destroy(&reader->mutex);
    plim_release(ctx, reader, 1, sizeof *reader);
    return plim_fail(ctx, PLIM_ENOMEM, "the reader thread cannot be started: %s; it takes memory for its stack",
                     strerror(error));
  }
  *out = reader;
  return PLIM_OK;
}

static void set_state(plim_reader *reader, reader_state state) {
  reader->state = state;
  (void)pthread_cond_broadcast(&reader->changed);
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
static void wait_ready(plim_reader *reader) {
  while (reader->state == REQUESTED) (void)pthread_cond_wait(&reader->changed, &reader->mutex);
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

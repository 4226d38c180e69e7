/* Runs tasks on threads of their own. Threads live for one batch: starting one costs microseconds, tasks take
 * milliseconds and more. */
#include "runtime/base/batch.h"

#include <pthread.h>

typedef struct worker {
  plim_task *task;
  void *user;
  int32_t i;
  int started;
  pthread_t thread;
} worker;

static void *work(void *user) {
  worker *w = user;
  w->task(w->user, w->i);
  return NULL;
}

void plim_batch_run(plim_task *task, void *user, int32_t n) {
  worker worker_of[PLIM_BATCH_MAX];
  for (int32_t i = 0; i < n; i++) {
    worker *w = &worker_of[i];
    *w = (worker){.task = task, .user = user, .i = i};
    w->started = i > 0 && pthread_create(&w->thread, NULL, work, w) == 0;
  }
  for (int32_t i = 0; i < n; i++) {
    if (!worker_of[i].started) (void)work(&worker_of[i]);
  }
  for (int32_t i = 0; i < n; i++) {
    if (worker_of[i].started) (void)pthread_join(worker_of[i].thread, NULL);
  }
}

/* The threads of queues. Each queue has an atomic count of commands that have ended. The number of sleeping threads is
 * atomic too, so that a command that ends takes the mutex only when a thread sleeps. Both are sequentially consistent.
 * A sleeper counts itself before it reads the counts. A command that ends changes its count before it reads the number
 * of sleepers. So at least one of the two sees the other.
 *
 * When a command fails, `stop` is set, and no command that has not begun begins. */
#include "runtime/exec/queues.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/context_internal.h"
#include "runtime/device/threads.h"

/* Turns of a spin before a wait sleeps. They take a few microseconds, since a core that spins does not compute. */
enum { SPINS = 256, WHY_BYTES = 320 };

typedef struct worker {
  plim_queues *queues;
  int32_t queue;
  plim_page_ring *ring; /* NULL: pread and pwrite, or no page file */
  pthread_t thread;
  char error[PLIM_ERROR_BYTES]; /* the context's sentence on this thread */
} worker;

struct plim_queues {
  plim_context *ctx;
  const plim_memory_region *memory; /* [PLIM_PLAN_SPACES] of each space */
  const plim_exec_options *options;
  int32_t n_queues, n_started, threads;
  worker worker[PLIM_PLAN_QUEUES]; /* [0] is not used */
  _Atomic int32_t done[PLIM_PLAN_QUEUES];
  _Atomic int32_t sleepers, stop;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  /* Written only between steps. A thread takes the mutex before it begins the step, and so sees them. */
  int64_t begin_ns; /* when the last step began */
  plim_bound_plan *bound;
  plim_queues_run *run;
  void *run_user;
  /* guarded by the mutex */
  int64_t step;          /* number of steps begun */
  int32_t closing, busy; /* threads that have not ended the step */
  plim_status failed;    /* PLIM_OK: nothing has */
  int32_t failed_command;
  char why[PLIM_ERROR_BYTES];
};

/* ---- waiting ---- */

static int has_stopped(plim_queues *q) {
  return atomic_load(&q->stop);
}

static int has_ended(plim_queues *q, const int32_t *need) {
  for (int32_t i = 0; i < q->n_queues; i++) {
    if (need[i] > 0 && atomic_load(&q->done[i]) < need[i]) return 0;
  }
  return 1;
}

/* Wait until every queue has ended as many commands as `need` says, or until the step has been stopped. */
static void wait_for(plim_queues *q, const int32_t *need) {
  for (int i = 0; i < SPINS; i++) {
    if (has_stopped(q) || has_ended(q, need)) return;
  }
  (void)pthread_mutex_lock(&q->mutex);
  atomic_fetch_add(&q->sleepers, 1);
  while (!has_stopped(q) && !has_ended(q, need)) (void)pthread_cond_wait(&q->changed, &q->mutex);
  atomic_fetch_sub(&q->sleepers, 1);
  (void)pthread_mutex_unlock(&q->mutex);
}

static void note_end(plim_queues *q, int32_t queue) {
  atomic_fetch_add(&q->done[queue], 1);
  if (atomic_load(&q->sleepers) == 0) return;
  (void)pthread_mutex_lock(&q->mutex);
  (void)pthread_cond_broadcast(&q->changed);
  (void)pthread_mutex_unlock(&q->mutex);
}

static void stop(plim_queues *q) {
  (void)pthread_mutex_lock(&q->mutex);
  atomic_store(&q->stop, 1);
  (void)pthread_cond_broadcast(&q->changed);
  (void)pthread_mutex_unlock(&q->mutex);
}

/* Stop the step. The first failure is kept. Returns `status`. */
static plim_status fail(plim_queues *q, int32_t j, plim_status status, const char *why) {
  (void)pthread_mutex_lock(&q->mutex);
  if (q->failed == PLIM_OK) {
    q->failed = status;
    q->failed_command = j;
    (void)snprintf(q->why, sizeof q->why, "%s", why);
  }
  (void)pthread_mutex_unlock(&q->mutex);
  stop(q);
  return status;
}

/* ---- copying ---- */

/* Does the copy write to a page space, a file if there is one? Else it reads from one. */
static int is_page_write(const plim_queues *q, const plim_command *command) {
  return command->from == 0 || q->memory[command->to].fd >= 0;
}

static plim_status copy(plim_queues *q, plim_page_ring *ring, plim_bound_plan *bound, int32_t j) {
  const plim_command *command = &bound->plan->command[j];
  void *const *pointer = bound->pointer + bound->command[j].first;
  plim_copy_call call = {.command = j,
                         .storage = command->storage,
                         .from_space = command->from,
                         .to_space = command->to,
                         .from = pointer[0],
                         .to = pointer[1],
                         .bytes = bound->graph->storage[command->storage].bytes};
  char why[WHY_BYTES] = "";
  if (q->options->before_copy) {
    plim_status status = q->options->before_copy(q->options->user, &call);
    if (status != PLIM_OK) return fail(q, j, status, plim_status_name(status));
  }
  int error = is_page_write(q, command)
                  ? plim_page_write(&q->memory[command->to], ring, call.to, call.from, call.bytes)
                  : plim_page_read(&q->memory[command->from], ring, call.to, call.from, call.bytes);
  if (error == 0) return PLIM_OK;
  if (strerror_r(error, why, sizeof why) != 0) why[0] = '\0';
  return fail(q, j, PLIM_EIO, why);
}

int64_t plim_queues_clock(const plim_queues *q) {
  return plim_now_ns() - q->begin_ns;
}

static plim_status run(plim_queues *q, int32_t j) {
  plim_status status = q->run(q->run_user, j);
  return status == PLIM_OK ? PLIM_OK : fail(q, j, status, plim_context_error(q->ctx));
}

/* Run the commands of a queue up to the end of the step, or until it is stopped. */
static void walk(const worker *w, plim_bound_plan *bound) {
  plim_queues *q = w->queues;
  for (int32_t i = bound->queue_first[w->queue]; i < bound->queue_first[w->queue + 1]; i++) {
    int32_t j = bound->queue_command[i];
    const int32_t *need = bound->wait[j].need;
    const int is_run = bound->plan->command[j].kind == PLIM_COMMAND_RUN;
    const int64_t asked_ns = plim_queues_clock(q);
    const int must_wait = !has_ended(q, need);
    wait_for(q, need);
    if (has_stopped(q)) return;
    bound->begin_ns[j] = plim_queues_clock(q);
    bound->waited_ns[j] = is_run && must_wait ? bound->begin_ns[j] - asked_ns : 0;
    const plim_status status = is_run ? run(q, j) : copy(q, w->ring, bound, j);
    if (status != PLIM_OK) return; /* the step has been stopped */
    bound->time_ns[j] = plim_queues_clock(q) - bound->begin_ns[j];
    note_end(q, w->queue);
  }
}

static void *worker_main(void *user) {
  worker *w = user;
  plim_queues *q = w->queues;
  int64_t step = 0;
  plim_context_fail_into(q->ctx, w->error);
  plim_threads_adopt(q->threads);
  (void)pthread_mutex_lock(&q->mutex);
  while (!q->closing) {
    if (q->step == step) {
      (void)pthread_cond_wait(&q->changed, &q->mutex);
      continue;
    }
    step = q->step;
    plim_bound_plan *bound = q->bound;
    (void)pthread_mutex_unlock(&q->mutex);
    walk(w, bound);
    (void)pthread_mutex_lock(&q->mutex);
    q->busy--;
    (void)pthread_cond_broadcast(&q->changed);
  }
  (void)pthread_mutex_unlock(&q->mutex);
  return NULL;
}

/* ---- a step ---- */

void plim_queues_begin(plim_queues *q, plim_bound_plan *bound, plim_queues_run *compute, void *user) {
  (void)pthread_mutex_lock(&q->mutex);
  for (int32_t i = 0; i < PLIM_PLAN_QUEUES; i++) atomic_store(&q->done[i], 0);
  atomic_store(&q->stop, 0);
  q->failed = PLIM_OK;
  q->bound = bound;
  q->run = compute;
  q->run_user = user;
  q->busy = q->n_started;
  q->step++;
  q->begin_ns = plim_now_ns();
  (void)pthread_cond_broadcast(&q->changed);
  (void)pthread_mutex_unlock(&q->mutex);
}

void plim_queues_wait(plim_queues *q, int32_t j) {
  const plim_bound_wait *wait = &q->bound->wait[j];
  q->bound->waited_ns[j] = 0;
  if (!wait->any || has_ended(q, wait->need)) return;
  int64_t begin_ns = plim_now_ns();
  wait_for(q, wait->need);
  q->bound->waited_ns[j] = plim_now_ns() - begin_ns;
}

int plim_queues_has_stopped(plim_queues *q) {
  return has_stopped(q);
}

void plim_queues_ran(plim_queues *q) {
  note_end(q, 0);
}

void plim_queues_failed(plim_queues *q, int32_t j, plim_status status) {
  (void)fail(q, j, status, plim_context_error(q->ctx));
}

/* Fail with a sentence for a copy: "training step 2, command 4 (copy of "x" of op "f" to disk, page file p): why". */
static plim_status fail_copy(plim_queues *q, int64_t training_step, plim_status failed) {
  enum { PART_BYTES = 512 }; /* longer names are cut */
  const plim_graph *graph = q->bound->graph;
  const plim_command *command = &q->bound->plan->command[q->failed_command];
  const int is_write = is_page_write(q, command);
  const int32_t op = graph->storage[command->storage].producer, space = is_write ? command->to : command->from;
  const plim_memory_region *page = &q->memory[space];
  char of[PART_BYTES] = "", file[PART_BYTES] = "";
  if (op >= 0) (void)snprintf(of, sizeof of, " of op \"%s\"", graph->op[op].name);
  if (page->fd >= 0) (void)snprintf(file, sizeof file, ", page file %s", page->name);
  return plim_fail(q->ctx, failed,
                   "training step %lld, command %d (copy of \"%s\"%s %s %s%s): %s; what the training step has updated "
                   "stays updated: continue from a checkpoint",
                   (long long)training_step, (int)q->failed_command,
                   plim_graph_storage_name(graph, command->storage, ""), of, is_write ? "to" : "from",
                   plim_plan_space_of(q->bound->plan, space).name, file, q->why);
}

plim_status plim_queues_end(plim_queues *q, int completes, int64_t training_step) {
  if (!completes) stop(q);
  (void)pthread_mutex_lock(&q->mutex);
  while (q->busy > 0) (void)pthread_cond_wait(&q->changed, &q->mutex);
  plim_status failed = q->failed;
  (void)pthread_mutex_unlock(&q->mutex);
  if (failed == PLIM_OK) return PLIM_OK;
  if (q->bound->plan->command[q->failed_command].kind == PLIM_COMMAND_COPY) return fail_copy(q, training_step, failed);
  return plim_fail(q->ctx, failed, "%s", q->why); /* it names command and op */
}

int plim_queues_have_rings(const plim_queues *q) {
  return q->n_queues > 1 && q->worker[1].ring != NULL;
}

/* ---- open and close ---- */

/* Open a ring for each thread when there is a page file. All threads get one or none does, so that
 * plim_exec_space_how is true for all copies. */
static void open_rings(plim_queues *q) {
  int files = 0, n = 1;
  for (int32_t space = 0; space < PLIM_PLAN_SPACES; space++) files += q->memory[space].fd >= 0;
  for (; files > 0 && n < q->n_queues; n++) {
    q->worker[n].ring = plim_page_ring_open(q->ctx);
    if (!q->worker[n].ring) break;
  }
  if (n == q->n_queues) return;
  while (n-- > 1) {
    plim_page_ring_close(q->worker[n].ring);
    q->worker[n].ring = NULL;
  }
}

static plim_status start(plim_queues *q) {
  int error = 0;
  for (int32_t i = 1; i < q->n_queues && error == 0; i++) {
    q->worker[i].queues = q;
    q->worker[i].queue = i;
    error = pthread_create(&q->worker[i].thread, NULL, worker_main, &q->worker[i]);
    if (error == 0) q->n_started++;
  }
  if (error == 0) return PLIM_OK;
  return plim_fail(q->ctx, PLIM_ENOMEM, "the thread of queue %d cannot be started: %s", (int)q->n_started + 1,
                   strerror(error));
}

plim_status plim_queues_open(plim_context *ctx, int32_t n_queues, const plim_memory_region *memory,
                             const plim_exec_options *options, int32_t threads, plim_queues **out) {
  plim_queues *q = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *q, &q));
  q->ctx = ctx;
  q->memory = memory;
  q->options = options;
  q->n_queues = n_queues;
  q->threads = threads;
  open_rings(q);
  (void)pthread_mutex_init(&q->mutex, NULL); /* neither can fail with default attributes here */
  (void)pthread_cond_init(&q->changed, NULL);
  plim_status status = start(q);
  if (status == PLIM_OK) {
    *out = q;
  } else {
    plim_queues_close(q);
  }
  return status;
}

void plim_queues_close(plim_queues *q) {
  if (!q) return;
  (void)pthread_mutex_lock(&q->mutex);
  q->closing = 1;
  (void)pthread_cond_broadcast(&q->changed);
  (void)pthread_mutex_unlock(&q->mutex);
  for (int32_t i = 1; i <= q->n_started; i++) (void)pthread_join(q->worker[i].thread, NULL);
  for (int32_t i = 1; i < q->n_queues; i++) plim_page_ring_close(q->worker[i].ring);
  (void)pthread_cond_destroy(&q->changed);
  (void)pthread_mutex_destroy(&q->mutex);
  plim_release(q->ctx, q, 1, sizeof *q);
}

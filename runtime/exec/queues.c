/* Runs plans that page, or run on several devices, on a CPU: each queue but the first has a thread.
 *
 * Each queue has an atomic count of commands that have ended. The number of sleeping threads is atomic too, so that a
 * command that ends takes the mutex only when a thread sleeps. Both are sequentially consistent. A sleeper counts
 * itself before it reads the counts. A command that ends changes its count before it reads the number of sleepers. So
 * at least one of the two sees the other.
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
  int32_t n_queues, n_started;
  int32_t region_threads;                  /* of the parallel regions that runs of a queue start */
  worker worker[PLIM_PLAN_QUEUES];         /* [0] is not used */
  _Atomic int32_t ended[PLIM_PLAN_QUEUES]; /* number of commands of each queue that have ended */
  _Atomic int32_t sleepers, stop;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  /* Written only between steps. A thread takes the mutex before it begins the step, and so sees them. */
  int64_t begin_ns; /* when the last step began */
  plim_bound_plan *bound;
  plim_queues_run *run;
  void *run_user;
  /* guarded by the mutex */
  int64_t generation;    /* number of steps begun: a worker sees by it that there is a new one */
  int32_t closing, busy; /* threads that have not ended the step */
  plim_status failed;    /* PLIM_OK: nothing has */
  int32_t failed_command;
  char why[PLIM_ERROR_BYTES];
};

/* ---- waiting ---- */

static int has_stopped(plim_queues *queues) {
  return atomic_load(&queues->stop);
}

static int has_ended(plim_queues *queues, const int32_t *need) {
  for (int32_t i = 0; i < queues->n_queues; i++) {
    if (need[i] > 0 && atomic_load(&queues->ended[i]) < need[i]) return 0;
  }
  return 1;
}

/* Wait until every queue has ended as many commands as `need` says, or until the step has been stopped. */
static void wait_for(plim_queues *queues, const int32_t *need) {
  for (int i = 0; i < SPINS; i++) {
    if (has_stopped(queues) || has_ended(queues, need)) return;
  }
  (void)pthread_mutex_lock(&queues->mutex);
  atomic_fetch_add(&queues->sleepers, 1);
  while (!has_stopped(queues) && !has_ended(queues, need)) (void)pthread_cond_wait(&queues->changed, &queues->mutex);
  atomic_fetch_sub(&queues->sleepers, 1);
  (void)pthread_mutex_unlock(&queues->mutex);
}

static void note_end(plim_queues *queues, int32_t queue) {
  atomic_fetch_add(&queues->ended[queue], 1);
  if (atomic_load(&queues->sleepers) == 0) return;
  (void)pthread_mutex_lock(&queues->mutex);
  (void)pthread_cond_broadcast(&queues->changed);
  (void)pthread_mutex_unlock(&queues->mutex);
}

static void stop_step(plim_queues *queues) {
  (void)pthread_mutex_lock(&queues->mutex);
  atomic_store(&queues->stop, 1);
  (void)pthread_cond_broadcast(&queues->changed);
  (void)pthread_mutex_unlock(&queues->mutex);
}

/* Stop the step. The first failure is kept. Returns `status`. */
static plim_status fail_step(plim_queues *queues, int32_t j, plim_status status, const char *why) {
  (void)pthread_mutex_lock(&queues->mutex);
  if (queues->failed == PLIM_OK) {
    queues->failed = status;
    queues->failed_command = j;
    (void)snprintf(queues->why, sizeof queues->why, "%s", why);
  }
  (void)pthread_mutex_unlock(&queues->mutex);
  stop_step(queues);
  return status;
}

/* ---- copying ---- */

/* Does the copy write to a page space, a file if there is one? Else it reads from one. */
static int is_page_write(const plim_queues *queues, const plim_command *command) {
  return command->from == 0 || queues->memory[command->to].fd >= 0;
}

static plim_status copy_storage(plim_queues *queues, plim_page_ring *ring, plim_bound_plan *bound, int32_t j) {
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
  if (queues->options->before_copy) {
    plim_status status = queues->options->before_copy(queues->options->user, &call);
    if (status != PLIM_OK) return fail_step(queues, j, status, plim_status_name(status));
  }
  int error = is_page_write(queues, command)
                  ? plim_memory_region_write(&queues->memory[command->to], ring, call.to, call.from, call.bytes)
                  : plim_memory_region_read(&queues->memory[command->from], ring, call.to, call.from, call.bytes);
  if (error == 0) return PLIM_OK;
  if (strerror_r(error, why, sizeof why) != 0) why[0] = '\0';
  return fail_step(queues, j, PLIM_EIO, why);
}

int64_t plim_queues_clock(const plim_queues *queues) {
  return plim_now_ns() - queues->begin_ns;
}

static plim_status run_compute(plim_queues *queues, int32_t j) {
  plim_status status = queues->run(queues->run_user, j);
  return status == PLIM_OK ? PLIM_OK : fail_step(queues, j, status, plim_context_error(queues->ctx));
}

/* Run the commands of a queue up to the end of the step, or until it is stopped. */
static void walk(const worker *self, plim_bound_plan *bound) {
  plim_queues *queues = self->queues;
  for (int32_t i = bound->queue_first[self->queue]; i < bound->queue_first[self->queue + 1]; i++) {
    int32_t j = bound->queue_command[i];
    const int32_t *need = bound->wait[j].need;
    const int is_run = bound->plan->command[j].kind == PLIM_COMMAND_RUN;
    const int64_t asked_ns = plim_queues_clock(queues);
    const int must_wait = !has_ended(queues, need);
    wait_for(queues, need);
    if (has_stopped(queues)) return;
    bound->begin_ns[j] = plim_queues_clock(queues);
    bound->waited_ns[j] = is_run && must_wait ? bound->begin_ns[j] - asked_ns : 0;
    const plim_status status = is_run ? run_compute(queues, j) : copy_storage(queues, self->ring, bound, j);
    if (status != PLIM_OK) return; /* the step has been stopped */
    bound->time_ns[j] = plim_queues_clock(queues) - bound->begin_ns[j];
    note_end(queues, self->queue);
  }
}

static void *worker_main(void *user) {
  worker *self = user;
  plim_queues *queues = self->queues;
  int64_t walked = 0; /* generation of the last step that this thread has walked */
  plim_context_fail_into(queues->ctx, self->error);
  plim_threads_adopt(queues->region_threads);
  (void)pthread_mutex_lock(&queues->mutex);
  while (!queues->closing) {
    if (queues->generation == walked) {
      (void)pthread_cond_wait(&queues->changed, &queues->mutex);
      continue;
    }
    walked = queues->generation;
    plim_bound_plan *bound = queues->bound;
    (void)pthread_mutex_unlock(&queues->mutex);
    walk(self, bound);
    (void)pthread_mutex_lock(&queues->mutex);
    queues->busy--;
    (void)pthread_cond_broadcast(&queues->changed);
  }
  (void)pthread_mutex_unlock(&queues->mutex);
  return NULL;
}

/* ---- a step ---- */

void plim_queues_begin(plim_queues *queues, plim_bound_plan *bound, plim_queues_run *compute, void *user) {
  (void)pthread_mutex_lock(&queues->mutex);
  for (int32_t i = 0; i < PLIM_PLAN_QUEUES; i++) atomic_store(&queues->ended[i], 0);
  atomic_store(&queues->stop, 0);
  queues->failed = PLIM_OK;
  queues->bound = bound;
  queues->run = compute;
  queues->run_user = user;
  queues->busy = queues->n_started;
  queues->generation++;
  queues->begin_ns = plim_now_ns();
  (void)pthread_cond_broadcast(&queues->changed);
  (void)pthread_mutex_unlock(&queues->mutex);
}

void plim_queues_wait(plim_queues *queues, int32_t j) {
  const plim_bound_wait *wait = &queues->bound->wait[j];
  queues->bound->waited_ns[j] = 0;
  if (!wait->any || has_ended(queues, wait->need)) return;
  int64_t begin_ns = plim_now_ns();
  wait_for(queues, wait->need);
  queues->bound->waited_ns[j] = plim_now_ns() - begin_ns;
}

int plim_queues_has_stopped(plim_queues *queues) {
  return has_stopped(queues);
}

void plim_queues_ran(plim_queues *queues) {
  note_end(queues, 0);
}

void plim_queues_failed(plim_queues *queues, int32_t j, plim_status status) {
  (void)fail_step(queues, j, status, plim_context_error(queues->ctx));
}

/* Fail with a sentence for a copy: "training step 2, command 4 (copy of "x" of op "f" to disk, page file p): why". */
static plim_status fail_copy(plim_queues *queues, int64_t training_step, plim_status failed) {
  enum { PART_BYTES = 512 }; /* longer names are cut */
  const plim_graph *graph = queues->bound->graph;
  const plim_command *command = &queues->bound->plan->command[queues->failed_command];
  const int is_write = is_page_write(queues, command);
  const int32_t op = graph->storage[command->storage].producer, space = is_write ? command->to : command->from;
  const plim_memory_region *region = &queues->memory[space];
  char of[PART_BYTES] = "", file[PART_BYTES] = "";
  if (op >= 0) (void)snprintf(of, sizeof of, " of op \"%s\"", graph->op[op].name);
  if (region->fd >= 0) (void)snprintf(file, sizeof file, ", page file %s", region->name);
  return plim_fail(queues->ctx, failed,
                   "training step %lld, command %d (copy of \"%s\"%s %s %s%s): %s; what the training step has updated "
                   "stays updated: continue from a checkpoint",
                   (long long)training_step, (int)queues->failed_command,
                   plim_graph_storage_name(graph, command->storage, ""), of, is_write ? "to" : "from",
                   plim_plan_space_of(queues->bound->plan, space).name, file, queues->why);
}

plim_status plim_queues_end(plim_queues *queues, int completes, int64_t training_step) {
  if (!completes) stop_step(queues);
  (void)pthread_mutex_lock(&queues->mutex);
  while (queues->busy > 0) (void)pthread_cond_wait(&queues->changed, &queues->mutex);
  plim_status failed = queues->failed;
  (void)pthread_mutex_unlock(&queues->mutex);
  if (failed == PLIM_OK) return PLIM_OK;
  if (queues->bound->plan->command[queues->failed_command].kind == PLIM_COMMAND_COPY) {
    return fail_copy(queues, training_step, failed);
  }
  return plim_fail(queues->ctx, failed, "%s", queues->why); /* it names command and op */
}

int plim_queues_have_rings(const plim_queues *queues) {
  return queues->n_queues > 1 && queues->worker[1].ring != NULL;
}

/* ---- open and close ---- */

/* Open a ring for each thread when there is a page file. All threads get one or none does, so that
 * plim_exec_space_how is true for all copies. */
static void open_rings(plim_queues *queues) {
  int files = 0, n = 1;
  for (int32_t space = 0; space < PLIM_PLAN_SPACES; space++) files += queues->memory[space].fd >= 0;
  for (; files > 0 && n < queues->n_queues; n++) {
    queues->worker[n].ring = plim_page_ring_open(queues->ctx);
    if (!queues->worker[n].ring) break;
  }
  if (n == queues->n_queues) return;
  while (n-- > 1) {
    plim_page_ring_close(queues->worker[n].ring);
    queues->worker[n].ring = NULL;
  }
}

static plim_status start(plim_queues *queues) {
  int error = 0;
  for (int32_t i = 1; i < queues->n_queues && error == 0; i++) {
    queues->worker[i].queues = queues;
    queues->worker[i].queue = i;
    error = pthread_create(&queues->worker[i].thread, NULL, worker_main, &queues->worker[i]);
    if (error == 0) queues->n_started++;
  }
  if (error == 0) return PLIM_OK;
  return plim_fail(queues->ctx, PLIM_ENOMEM, "the thread of queue %d cannot be started: %s", (int)queues->n_started + 1,
                   strerror(error));
}

plim_status plim_queues_open(plim_context *ctx, int32_t n_queues, const plim_memory_region *memory,
                             const plim_exec_options *options, int32_t region_threads, plim_queues **out) {
  plim_queues *queues = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *queues, &queues));
  queues->ctx = ctx;
  queues->memory = memory;
  queues->options = options;
  queues->n_queues = n_queues;
  queues->region_threads = region_threads;
  open_rings(queues);
  (void)pthread_mutex_init(&queues->mutex, NULL); /* neither can fail with default attributes here */
  (void)pthread_cond_init(&queues->changed, NULL);
  plim_status status = start(queues);
  if (status == PLIM_OK) {
    *out = queues;
  } else {
    plim_queues_close(queues);
  }
  return status;
}

void plim_queues_close(plim_queues *queues) {
  if (!queues) return;
  (void)pthread_mutex_lock(&queues->mutex);
  queues->closing = 1;
  (void)pthread_cond_broadcast(&queues->changed);
  (void)pthread_mutex_unlock(&queues->mutex);
  for (int32_t i = 1; i <= queues->n_started; i++) (void)pthread_join(queues->worker[i].thread, NULL);
  for (int32_t i = 1; i < queues->n_queues; i++) plim_page_ring_close(queues->worker[i].ring);
  (void)pthread_cond_destroy(&queues->changed);
  (void)pthread_mutex_destroy(&queues->mutex);
  plim_release(queues->ctx, queues, 1, sizeof *queues);
}

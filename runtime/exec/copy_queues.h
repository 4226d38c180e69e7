/* Queues beside queue 0, which the calling thread runs: a thread a queue, which walks the queue's commands of a bound
 * plan in their order. They are copies, or the runs of another space that computes.
 *
 * Each queue counts its commands that have ended. A command waits until the counts of other queues are what its `wait`
 * asks for: it spins for a bounded time, then sleeps. A step allocates nothing. */
#ifndef PLIM_RUNTIME_EXEC_COPY_QUEUES_H
#define PLIM_RUNTIME_EXEC_COPY_QUEUES_H

#include "runtime/exec/bind.h"
#include "runtime/exec/exec.h"
#include "runtime/exec/page_memory.h"

typedef struct plim_copy_queues plim_copy_queues;

/* Compute command j of a bound plan; on failure the context has the sentence on that thread. */
typedef plim_status plim_queue_run(void *user, int32_t j);

/* Threads for queues 1 to n_queues - 1. page [PLIM_PAGE_SPACES] and options must outlive them.
 *   threads  in  of the parallel regions that runs of a queue start
 * PLIM_ENOMEM: a thread cannot be started. */
PLIM_MUST_USE plim_status plim_copy_queues_open(plim_context *ctx, int32_t n_queues, const plim_page_memory *page,
                                                const plim_exec_options *options, int32_t threads,
                                                plim_copy_queues **out);
void plim_copy_queues_close(plim_copy_queues *queues); /* NULL is legal */

/* A step begins: the threads start with their commands of `bound`, which is theirs until plim_copy_queues_end.
 *   compute, user  in  the runs among them, on their threads */
void plim_copy_queues_begin(plim_copy_queues *queues, plim_bound *bound, plim_queue_run *compute, void *user);

/* Before command j of queue 0: wait for what it waits for. 0: a command has failed, the step ends. */
int plim_copy_queues_wait(plim_copy_queues *queues, int32_t j);

/* After a command of queue 0. */
void plim_copy_queues_ran(plim_copy_queues *queues);

/* Command j of queue 0 has failed; the context has the sentence. */
void plim_copy_queues_failed(plim_copy_queues *queues, int32_t j, plim_status status);

/* Since plim_copy_queues_begin. */
int64_t plim_copy_queues_clock(const plim_copy_queues *queues);

/* The step ends. whole: 1: every command is waited for; 0: those that have not begun are left out. PLIM_OK, or the
 * first failure of a command on any queue, and its sentence; of a copy with its training step, command, storage and
 * file. */
PLIM_MUST_USE plim_status plim_copy_queues_end(plim_copy_queues *queues, int whole, int64_t training_step);

/* Do page files go through io_uring? */
int plim_copy_queues_have_rings(const plim_copy_queues *queues);

#endif

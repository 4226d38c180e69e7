/* Copy queues: a thread a queue, which walks the copies of a bound plan in their order. The calling thread runs queue
 * 0.
 *
 * Each queue counts its commands that have ended. A command waits until the counts of other queues are what its `wait`
 * asks for: it spins for a bounded time, then sleeps. A step allocates nothing. */
#ifndef PLIM_RUNTIME_EXEC_COPY_QUEUES_H
#define PLIM_RUNTIME_EXEC_COPY_QUEUES_H

#include "runtime/exec/bind.h"
#include "runtime/exec/exec.h"
#include "runtime/exec/page_memory.h"

typedef struct plim_copy_queues plim_copy_queues;

/* Threads for queues 1 to n_queues - 1. page [PLIM_PAGE_SPACES] and options must outlive them. PLIM_ENOMEM: a thread
 * cannot be started. */
PLIM_MUST_USE plim_status plim_copy_queues_open(plim_context *ctx, int32_t n_queues, const plim_page_memory *page,
                                                const plim_exec_options *options, plim_copy_queues **out);
void plim_copy_queues_close(plim_copy_queues *queues); /* NULL is legal */

/* A step begins: the threads start with the copies of `bound`, which is theirs until plim_copy_queues_end. */
void plim_copy_queues_begin(plim_copy_queues *queues, plim_bound *bound);

/* Before command j of queue 0: wait for what it waits for. 0: a copy has failed, the step ends. */
int plim_copy_queues_wait(plim_copy_queues *queues, int32_t j);

/* After a command of queue 0. */
void plim_copy_queues_ran(plim_copy_queues *queues);

/* Since plim_copy_queues_begin. */
int64_t plim_copy_queues_clock(const plim_copy_queues *queues);

/* The step ends. whole: 1: every copy is waited for; 0: copies that have not begun are left out. PLIM_OK, or the first
 * failure of a copy, with its training step, command, storage and file. */
PLIM_MUST_USE plim_status plim_copy_queues_end(plim_copy_queues *queues, int whole, int64_t training_step);

/* Do page files go through io_uring? */
int plim_copy_queues_have_rings(const plim_copy_queues *queues);

#endif

/* The queues of a plan but queue 0, which the calling thread runs. Each has a thread that runs the queue's commands of
 * a bound plan in their order. The commands are copies, or the runs of another space that computes.
 *
 * Each queue counts its commands that have ended. A command waits until the counts of other queues reach those of its
 * `wait`: its thread spins for a bounded time, then sleeps. A step allocates nothing. Functions are called on the
 * thread of the executor. */
#ifndef PLIM_RUNTIME_EXEC_QUEUES_H
#define PLIM_RUNTIME_EXEC_QUEUES_H

#include "runtime/device/memory_region.h"
#include "runtime/exec/bind.h"
#include "runtime/exec/exec.h"

typedef struct plim_queues plim_queues;

/* Compute command j of a bound plan, on the thread of its queue. On failure that thread has the context's sentence. */
typedef plim_status plim_queues_run(void *user, int32_t j);

/* Start the threads of queues 1 to n_queues - 1.
 *   memory          [PLIM_PLAN_SPACES]  in   of each space; must outlive the queues, as must `options`
 *   region_threads                      in   number of threads of the parallel regions that runs of a queue start
 *   out             [1]                 out  close with plim_queues_close
 * PLIM_ENOMEM: no memory, or a thread cannot be started. */
PLIM_MUST_USE plim_status plim_queues_open(plim_context *ctx, int32_t n_queues, const plim_memory_region *memory,
                                           const plim_exec_options *options, int32_t region_threads, plim_queues **out);
void plim_queues_close(plim_queues *queues); /* NULL is legal */

/* Begin a step: the threads start to run their commands of `bound`, which they use until plim_queues_end.
 *   compute, user  in  computes the runs among them, on the threads of their queues */
void plim_queues_begin(plim_queues *queues, plim_bound_plan *bound, plim_queues_run *compute, void *user);

/* Wait until command j of queue 0 may begin, or until the step has been stopped. */
void plim_queues_wait(plim_queues *queues, int32_t j);

/* Has the step been stopped, since a command has failed? Then no command may begin. */
int plim_queues_has_stopped(plim_queues *queues);

/* Report that a command of queue 0 has ended. */
void plim_queues_ran(plim_queues *queues);

/* Report that command j of queue 0 has failed; the context has the sentence. */
void plim_queues_failed(plim_queues *queues, int32_t j, plim_status status);

/* Time since plim_queues_begin, ns. */
int64_t plim_queues_clock(const plim_queues *queues);

/* End the step and wait for the threads.
 *   completes  in  1: every command runs; 0: commands that have not begun are left out
 * PLIM_OK, or the status and sentence of the first command that failed, on any queue. The sentence of a copy names
 * training step, command, storage and file. */
PLIM_MUST_USE plim_status plim_queues_end(plim_queues *queues, int completes, int64_t training_step);

/* Are page files read and written by io_uring? */
int plim_queues_have_rings(const plim_queues *queues);

#endif

/* A bound plan: for every operand of every command the buffer it lies in, in flat arrays that a training step walks
 * once. Functions are called on the thread of the executor. During a step the queues' threads read the arrays, and
 * write the times of their own commands. Graph, plan, kernels and variants' names must outlive the bound plan. */
#ifndef PLIM_RUNTIME_EXEC_BIND_H
#define PLIM_RUNTIME_EXEC_BIND_H

#include "runtime/base/array.h"
#include "runtime/device/device.h"
#include "runtime/device/memory_region.h"

typedef struct plim_bound_command {
  void *kernel; /* prepared by the device; NULL with own kernels */
  const char *variant;
  int32_t op, queue, space; /* op PLIM_NONE: a copy */
  /* Its operands are [first, first of the next command): inputs, outputs, updates, workspace; of a copy its source and
   * its target. */
  int32_t first;
  int32_t n_in, n_out, n_upd, n_workspace;
  int64_t workspace_bytes; /* that the device asks for */
} plim_bound_command;

typedef struct plim_bound_operand {
  int32_t buffer; /* of the plan; PLIM_NONE: the storage has no bytes, and so no buffer */
  int64_t offset; /* of the value in its storage */
} plim_bound_operand;

/* Size and end of a buffer, found without what the plan says of them, so that the memory meter can compare. */
typedef struct plim_bound_buffer {
  int64_t bytes; /* rounded up, from the graph's storage or the device's workspace */
  int64_t held;  /* bytes that the meter counts as live now: `bytes` or 0 */
  /* The command after the last one that binds it, or the command that overwrites it in place. Outputs, and persistent
   * storages at home: the number of commands. */
  int32_t end;
} plim_bound_buffer;

/* How many commands of each queue must have ended before a command begins. */
typedef struct plim_bound_wait {
  int32_t any;     /* 0: the command waits for no other queue */
  int32_t awaited; /* 1: it is the last one that a command of another queue needs */
  int32_t need[PLIM_PLAN_QUEUES];
} plim_bound_wait;

typedef struct plim_bound_plan {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_plan *plan;
  plim_block memory; /* of all arrays */
  int32_t n_operands;
  plim_bound_command *command; /* [n_commands + 1] the last one only ends the operands */
  plim_bound_operand *operand; /* [n_operands] */
  void **pointer;              /* [n_operands] */
  plim_bound_buffer *buffer;   /* [n_buffers] */
  int32_t *ending_first; /* [n_commands + 2] buffers that end at j are ending[ending_first[j] .. ending_first[j + 1]) */
  int32_t *ending;       /* [n_buffers] */
  /* [n_storages] the buffer of each storage before the first command, and after the last one: of a persistent storage
   * the one at its home, in any space; of others the one in the arena that began last, or PLIM_NONE */
  int32_t *buffer_before, *buffer_after;
  int64_t *time_ns; /* [n_commands] of the last step */
  /* The rest is NULL for plans without page spaces, which have queue 0 alone. The commands of queue q are
   * queue_command[queue_first[q] .. queue_first[q + 1]) */
  plim_bound_wait *wait;  /* [n_commands] */
  int32_t *queue_command; /* [n_commands] */
  int32_t queue_first[PLIM_PLAN_QUEUES + 1];
  int64_t *begin_ns;  /* [n_commands] when each began in the last step, from the begin of the step */
  int64_t *waited_ns; /* [n_commands] how long each run waited for other queues in the last step; 0 for copies */
} plim_bound_plan;

/* Allocate for the plan and fill in commands, operands and buffers.
 *   kernel           [spaces][n_variants]  in   prepared for the plan's variants, in each space that computes
 *   workspace_bytes  [n_variants]          in   workspaces that the device asks for; >= 0
 *   bound            [1]                   out  call plim_bound_plan_free also on failure
 * PLIM_EPLAN: an operand has no buffer. PLIM_EOVERFLOW: more than INT32_MAX operands. PLIM_ENOMEM.
 * O(operands + buffers + spaces x storages). */
PLIM_MUST_USE plim_status plim_bind(plim_context *ctx, const plim_graph *graph, const plim_plan *plan,
                                    void *const *kernel, const int64_t *workspace_bytes, plim_bound_plan *bound);
void plim_bound_plan_free(plim_bound_plan *bound); /* a zeroed one is legal */

/* May the plan have other queues than 0? Then it has page spaces, and the arrays of its queues. */
static inline int plim_bound_plan_has_queues(const plim_bound_plan *bound) {
  return bound->wait != NULL;
}

/* Set the pointer of every operand.
 *   memory  [n_page_spaces + 1]  in  of each space, from the arena on
 * O(operands). */
void plim_bound_plan_set_addresses(plim_bound_plan *bound, const plim_memory_region *memory);

/* Arguments of the kernel of command j: operands and workspace; seed and step are 0. O(1), allocates nothing. */
plim_kernel_args plim_bound_plan_args(const plim_bound_plan *bound, int32_t j);

#endif

/* One plan, bound: for every operand of every command the buffer it lies in, in flat arrays that a training step walks
 * once. On the thread of the executor; the copy threads read what is bound. Graph, plan, kernels and variants' names
 * must outlive the bound plan. */
#ifndef PLIM_RUNTIME_EXEC_BIND_H
#define PLIM_RUNTIME_EXEC_BIND_H

#include "runtime/device/device.h"

typedef struct plim_bound_command {
  void *kernel; /* what the device prepared; NULL with own kernels */
  const char *variant;
  int32_t op, queue, space; /* op -1: a copy */
  int32_t first; /* its operands are [first, first of the next command): inputs, outputs, updates, workspace. Those of a
                    copy are its source and its target */
  int32_t n_in, n_out, n_upd, n_workspace;
  int64_t workspace_bytes; /* asked from the device */
} plim_bound_command;

typedef struct plim_bound_operand {
  int32_t buffer; /* of the plan; -1: the storage has no bytes, and so no buffer */
  int64_t offset; /* of the value in its storage */
} plim_bound_operand;

/* What a buffer really is, whatever the plan says of its size and end. */
typedef struct plim_bound_buffer {
  int64_t bytes; /* rounded up, from the graph's storage or the device's workspace */
  int64_t held;  /* counted as live at the moment: bytes or 0 */
  int32_t end;   /* after the last command that binds it, or the command that writes over it. Persistent storages and
                    outputs: the number of commands */
} plim_bound_buffer;

/* How many commands of each queue must have ended before a command begins. */
typedef struct plim_bound_wait {
  int32_t any; /* 0: none of another queue */
  int32_t need[PLIM_PLAN_QUEUES];
} plim_bound_wait;

typedef struct plim_bound {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_plan *plan;
  int32_t n_operands;
  plim_bound_command *command; /* [n_commands + 1] the last one only ends the operands */
  plim_bound_operand *operand; /* [n_operands] */
  void **pointer;              /* [n_operands] */
  plim_bound_buffer *buffer;   /* [n_buffers] */
  int32_t *ending_first; /* [n_commands + 2] buffers that end at j are ending[ending_first[j] .. ending_first[j + 1]) */
  int32_t *ending;       /* [n_buffers] */
  int64_t *time_ns;      /* [n_commands] of the last step */
  /* Of a plan with page spaces; else NULL. The commands of queue q > 0 are
   * queue_command[queue_first[q] .. queue_first[q + 1]) */
  plim_bound_wait *wait;  /* [n_commands] */
  int32_t *queue_command; /* [n_commands] */
  int32_t queue_first[PLIM_PLAN_QUEUES + 1];
  int64_t *begin_ns;  /* [n_commands] in the last step, from its begin */
  int64_t *waited_ns; /* [n_commands] runs: for copies, in the last step */
} plim_bound;

/* Allocate for the plan and fill in commands, operands and buffers.
 *   kernel           [spaces][n_variants]  in   what was prepared for the plan's variants, in each space that computes
 *   workspace_bytes  [n_variants]          in   what the device asks for; >= 0
 *   bound            [1]                   out  plim_bound_free in any case
 * PLIM_EPLAN: an operand has no buffer. PLIM_ENOMEM. O(operands + buffers x their uses). */
PLIM_MUST_USE plim_status plim_bind(plim_context *ctx, const plim_graph *graph, const plim_plan *plan,
                                    void *const *kernel, const int64_t *workspace_bytes, plim_bound *bound);
void plim_bound_free(plim_bound *bound); /* a zeroed one is legal */

/* Point every operand into its space: base [n_pages + 1] of the arena, then of the page spaces. O(operands). */
void plim_bind_arena(plim_bound *bound, char *const *base);

/* Operands and workspace of command j as its kernel takes them; seed and step are 0. O(1), allocates nothing. */
plim_kernel_args plim_bound_args(const plim_bound *bound, int32_t j);

/* Is the buffer that of a persistent storage at its home, where it is before the first command? */
int plim_bound_is_home(const plim_bound *bound, int32_t buffer);

/* The buffer of a storage in the arena that contains command j, else the last that began before it, -1 when none did.
 * Of a persistent storage the one at its home, in whatever space. O(n_buffers). */
int32_t plim_bound_find_buffer(const plim_bound *bound, int32_t storage, int32_t j);

#endif

/* The memory meter: live bytes and the arena size in use, measured while a step runs. Functions run on the thread of
 * the executor.
 *
 * Commands are counted in the order of the plan. Where one queue runs them, that is the order in time. Over several
 * queues it is not: a command may begin before commands of other queues that precede it in the plan, or end after
 * commands that follow it. Then live bytes and their peak are those of the plan's order, and no sum at one moment. The
 * arena size does not depend on the order: it is the highest address that a command was given. */
#ifndef PLIM_RUNTIME_EXEC_MEMORY_METER_H
#define PLIM_RUNTIME_EXEC_MEMORY_METER_H

#include "runtime/exec/bind.h"

typedef struct plim_memory_meter {
  struct plim_meter_space {
    const char *base;   /* of its memory; NULL: buffers have allocations of their own, no arena size */
    int64_t live_bytes; /* after the commands that were counted */
    int64_t peak_bytes, packed_bytes;
  } space[PLIM_PLAN_SPACES]; /* the arena, then the page spaces */
} plim_memory_meter;

/* Begin a step: count the buffers that hold bytes before the first command, those of persistent storages and inputs.
 *   memory  [n_page_spaces + 1]  in  of each space, from the arena on; base NULL: no arena size is measured
 * O(n_buffers). */
void plim_memory_meter_begin(plim_memory_meter *meter, plim_bound_plan *bound, const plim_memory_region *memory);

/* Call before command j runs with the pointers in `bound`. Subtracts buffers that have ended, and adds buffers that its
 * arguments bind for the first time. O(operands + buffers that end here). */
void plim_memory_meter_command(plim_memory_meter *meter, plim_bound_plan *bound, int32_t j);

/* PLIM_EDIFF when the peak or the arena size of a space differs from the plan's; the sentence has both numbers. */
PLIM_MUST_USE plim_status plim_memory_meter_compare(const plim_memory_meter *meter, const plim_bound_plan *bound);

#endif

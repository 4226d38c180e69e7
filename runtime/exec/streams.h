/* Plans with copies on a device whose queues run beside the host: every command is put on the queue of the plan, and
 * waits for other queues by events. The host waits at the end of the step alone. Functions are called on the thread of
 * the executor. */
#ifndef PLIM_RUNTIME_EXEC_STREAMS_H
#define PLIM_RUNTIME_EXEC_STREAMS_H

#include "runtime/exec/exec_internal.h"

/* Does the device of the executor have queues of its own for copies? 0 for cpu: there plim_queues has threads. */
int plim_streams_has(const plim_exec *exec);

/* Before command j is put, and after it. The first command begins the other queues after what queue 0 has, and queue 0
 * continues after the last command of all of them, so a step can be captured as a whole. The errors of the device. */
PLIM_MUST_USE plim_status plim_streams_before(const plim_exec *exec, const plim_bound_plan *bound, int32_t j);
PLIM_MUST_USE plim_status plim_streams_after(const plim_exec *exec, const plim_bound_plan *bound, int32_t j);

/* Put the copy that command j is on its queue. The errors of the device. */
PLIM_MUST_USE plim_status plim_streams_copy(const plim_exec *exec, const plim_bound_plan *bound, int32_t j);

/* Allocate a page space of `bytes` > 0, page-locked and zeroed, or enlarge it; its contents stay. Free it. The device's
 * errors, with which the space is as it was. */
PLIM_MUST_USE plim_status plim_streams_grow_page(const plim_exec *exec, plim_memory_region *page, int64_t bytes);
void plim_streams_close_page(const plim_exec *exec, plim_memory_region *page);

#endif

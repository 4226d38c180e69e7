/* What an executor asks of its device: memory, copies, the clock, what the device can do. Without a device the host
 * answers (own_kernels). All such calls go through this file, except copies on other queues than 0 (streams.h). open.c
 * checks at open whether there is one. The arguments and errors are those of plim_device_api and of guarded.h. */
#ifndef PLIM_RUNTIME_EXEC_EXEC_DEVICE_H
#define PLIM_RUNTIME_EXEC_EXEC_DEVICE_H

#include "runtime/exec/exec_internal.h"

/* Allocate `bytes` > 0.
 *   resident  in  1: host memory without a device is resident when the call returns */
PLIM_MUST_USE plim_status plim_exec_device_alloc(const plim_exec *exec, int64_t bytes, int resident, void **out);
void plim_exec_device_release(const plim_exec *exec, void *ptr, int64_t bytes); /* NULL is legal */

/* Change the accessible bytes of the arena; *returned out, untouched where the device cannot return a part. */
PLIM_MUST_USE plim_status plim_exec_device_resize(const plim_exec *exec, int64_t to_bytes, int64_t *returned);

/* Copy on queue 0, complete after the next sync. */
PLIM_MUST_USE plim_status plim_exec_device_copy(const plim_exec *exec, void *to, const void *from, int64_t bytes);

/* Wait until all commands and copies are complete. */
PLIM_MUST_USE plim_status plim_exec_device_sync(const plim_exec *exec);

int64_t plim_exec_device_clock(const plim_exec *exec); /* ns of the device's clock */

/* The device's functions that see whole steps; NULL: there are none. */
const plim_device_watch *plim_exec_device_watch(const plim_exec *exec);

/* Number of queues that run beside the host. 0: there are none, and plim_queues has threads for the other queues. */
int32_t plim_exec_device_queues(const plim_exec *exec);

/* Number of threads of a parallel region; 1 without a device. */
int32_t plim_exec_device_threads(const plim_exec *exec);

/* May the host read and write the arena while no command uses it? */
int plim_exec_device_host_visible(const plim_exec *exec);

#endif

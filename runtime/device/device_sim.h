/* The sim device: no arithmetic, a virtual clock that each step of a plan moves on by its variant's time.
 *
 * Memory is real but comes only where it is touched, so that a plan larger than the machine can be replayed; what ops
 * would write is never written. A caller's own kernels are not called either. */
#ifndef PLIM_RUNTIME_DEVICE_DEVICE_SIM_H
#define PLIM_RUNTIME_DEVICE_DEVICE_SIM_H

#include "runtime/device/device.h"
#include "runtime/graph/space/space_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fault injection: let `calls` further calls of alloc, prepare, run, copy and fill (or steps of a plan) succeed, then
 * fail with PLIM_EDEVICE until this is called again. -1: never. */
void plim_sim_fail_after(plim_device *sim, int64_t calls);

/* Every queue has a clock. The next run or copy on a queue moves its clock by `time_ns`, later ones by nothing; mark
 * and wait carry times from queue to queue; sync moves all clocks to the latest. */
void plim_sim_take(plim_device *device, int64_t time_ns);

/* The clock of a queue; 0 where nothing was put on it. */
int64_t plim_sim_queue_ns(plim_device *device, int32_t queue);

/* Replay a plan over spaces on the device's queues: each command is put on its queue after waits for what it waits for,
 * and a meter counts the buffers by space. Figures as of plim_space_plan_simulate, from the clocks and the meter;
 * arrays are the caller's. The queues begin where they stand. PLIM_EDEVICE: an injected failure. */
PLIM_MUST_USE plim_status plim_sim_replay(plim_device *sim, const plim_space_plan *plan, plim_space_figures *out);

#ifdef __cplusplus
}
#endif
#endif

/* The sim device: it computes nothing, and has a virtual clock that each command of a plan advances by its variant's
 * time.
 *
 * Memory is real, but the system provides a page only when it is touched. So a plan that is larger than the machine's
 * memory can be replayed: no op writes its outputs. A caller's own kernels are not called either.
 * sim_replay.c replays plans over spaces, device_sim.c has the rest. */
#ifndef PLIM_RUNTIME_DEVICE_DEVICE_SIM_H
#define PLIM_RUNTIME_DEVICE_DEVICE_SIM_H

#include "runtime/device/device.h"
#include "runtime/graph/space/space_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Inject faults: `calls` further calls of alloc, prepare, run, copy and fill, and commands of a plan, succeed. Later
 * ones fail with PLIM_EDEVICE until this function is called again. PLIM_NONE: none fails. */
void plim_sim_fail_after(plim_device *sim, int64_t calls);

/* Set the time of the next run or copy: it advances the clock of its queue by `time_ns`, and later ones by 0. Mark and
 * wait carry times from queue to queue; sync sets all clocks to the latest. */
void plim_sim_take(plim_device *device, int64_t time_ns);

/* The clock of a queue, ns; 0 when nothing was put on it. */
int64_t plim_sim_queue_ns(plim_device *device, int32_t queue);

/* Replay a plan over spaces on the device's queues. Each command is put on its queue, after waits for the commands that
 * it waits for. A meter counts the buffers by space.
 *   out  in/out  figures as those of plim_space_plan_simulate, from the clocks and the meter; its arrays are the
 *                caller's
 * Clocks are not reset before. PLIM_EDEVICE: an injected failure. PLIM_ENOMEM, PLIM_EOVERFLOW. */
PLIM_MUST_USE plim_status plim_sim_replay(plim_device *sim, const plim_space_plan *plan, plim_space_figures *out);

#ifdef __cplusplus
}
#endif
#endif

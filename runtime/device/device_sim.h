/* The sim device: no arithmetic, a virtual clock that each step of a plan moves on by its variant's time.
 *
 * Memory is real but comes only where it is touched, so that a plan larger than the machine can be replayed; what ops
 * would write is never written. A caller's own kernels are not called either. */
#ifndef PLIM_RUNTIME_DEVICE_DEVICE_SIM_H
#define PLIM_RUNTIME_DEVICE_DEVICE_SIM_H

#include "runtime/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fault injection: let `calls` further calls of alloc, prepare, run, copy and fill (or steps of a plan) succeed, then
 * fail with PLIM_EDEVICE until this is called again. -1: never. */
void plim_sim_fail_after(plim_device *sim, int64_t calls);

#ifdef __cplusplus
}
#endif
#endif

/* Describes this machine and build by the strings that profiles, plans and checkpoints record. */
#ifndef PLIM_RUNTIME_DEVICE_MACHINE_H
#define PLIM_RUNTIME_DEVICE_MACHINE_H

#include "kernels/table.h"
#include "runtime/device/device.h"
#include "runtime/graph/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fill every field: CPU model of /proc/cpuinfo ("" when it has none), instruction set and library of the op table,
 * version and content hash of our kernels. */
void plim_machine_describe(const char *device, const plim_kernel_table *table, int32_t threads, plim_machine *out);

/* Fill every field for a GPU: its name as the CPU model, its compute capability as the instruction set ("sm_90"), the
 * libraries that were found ("cuda 13.0, cudnn 9.28.0"), and one thread. */
void plim_machine_describe_gpu(const char *name, int32_t major, int32_t minor, const char *libraries,
                               plim_machine *out);

/* Set the layouts of a device with kernels for a CPU: channels last, and blocks as wide as a vector register. */
void plim_machine_layouts(plim_device *device);

#ifdef __cplusplus
}
#endif
#endif

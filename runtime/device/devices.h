/* The tables of the built-in devices, for the list in device.c. */
#ifndef PLIM_RUNTIME_DEVICE_DEVICES_H
#define PLIM_RUNTIME_DEVICE_DEVICES_H

#include "runtime/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const plim_device_api plim_device_cpu;
extern const plim_device_api plim_device_sim;
extern const plim_device_api plim_device_cuda;

/* Status and sentence of a result of kernels/table.h; `what` was being done. */
PLIM_MUST_USE plim_status plim_kernel_status(plim_context *ctx, int result, const char *what);

/* The context's hook, for kernels. The context must outlive them. */
plim_kernel_memory plim_device_kernel_memory(plim_context *ctx);

/* The op table of `options->isa`; PLIM_EUNSUPPORTED when this CPU lacks that instruction set. */
PLIM_MUST_USE plim_status plim_device_table(plim_context *ctx, const plim_device_options *options,
                                            plim_kernel_table **out);

#ifdef __cplusplus
}
#endif
#endif

/* The tables of the built-in devices, for the list in device.c. Functions run on the thread of the device. */
#ifndef PLIM_RUNTIME_DEVICE_DEVICE_INTERNAL_H
#define PLIM_RUNTIME_DEVICE_DEVICE_INTERNAL_H

#include "runtime/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const plim_device_api plim_device_cpu;
extern const plim_device_api plim_device_sim;
extern const plim_device_api plim_device_cuda;

/* The status, with a sentence, of a result code of kernels/table.h.
 *   what  in  what was being done, for the sentence */
PLIM_MUST_USE plim_status plim_device_kernel_status(plim_context *ctx, int result, const char *what);

/* The context's memory hook, for kernels. The context must outlive them. */
plim_kernel_memory plim_device_kernel_memory(plim_context *ctx);

/* Make the op table of `options->isa`. PLIM_EUNSUPPORTED: the instruction set is unknown, or this CPU lacks it.
 * PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_device_table(plim_context *ctx, const plim_device_options *options,
                                            plim_kernel_table **out);

#ifdef __cplusplus
}
#endif
#endif

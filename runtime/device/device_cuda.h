/* The cuda device: a GPU behind a driver table. A plan's step is queued kernel by kernel the first time, captured the
 * second time and replayed from then on: its addresses never change. Seed and step number, which do change, lie in
 * device memory. */
#ifndef PLIM_RUNTIME_DEVICE_DEVICE_CUDA_H
#define PLIM_RUNTIME_DEVICE_DEVICE_CUDA_H

#include "kernels/cuda/driver.h"
#include "runtime/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Open GPU `index` through a driver table: what plim_device_open("cuda:N") does with the real one. PLIM_EDEVICE, with
 * a sentence, where there is no driver, no such GPU, or one older than compute capability 7.5. */
PLIM_MUST_USE plim_status plim_device_cuda_open(plim_context *ctx, const plim_cuda_driver *driver, int32_t index,
                                                const plim_device_options *options, plim_device **out);

/* Bytes of the GPU's memory that have gone since just before the device was opened, less what alloc has given: context,
 * modules, captured steps, and whatever other programs took meanwhile. *free_bytes: what is left. */
PLIM_MUST_USE plim_status plim_device_cuda_outside(plim_device *device, int64_t *outside_bytes, int64_t *free_bytes);

/* Why convolutions and linear layers have no variants by a library, "" when they have. */
const char *plim_device_cuda_missing(const plim_device *device);

#ifdef __cplusplus
}
#endif
#endif

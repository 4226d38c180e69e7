/* The cuda device: a GPU after a driver table. A plan's step is queued kernel by kernel the first time, captured the
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

/* Where the GPU's memory is. */
typedef struct plim_cuda_memory {
  int64_t outside_bytes; /* gone since just before the device was opened, less what alloc has given: context, libraries,
                            modules, captured steps, and whatever other programs took meanwhile. Where the driver's
                            management library cannot tell what the context took: everything that is gone */
  int64_t settled_bytes; /* the same after the last run of a plan in a way that was new (queued first, captured): from
                            then on it should not grow; -1: no plan has run */
  int64_t free_bytes;
  int32_t context_known; /* 0: the management library could not tell, so that other programs' memory counts as well */
} plim_cuda_memory;
/* PLIM_EUSAGE on a device that is no GPU. */
PLIM_MUST_USE plim_status plim_device_cuda_memory(plim_device *device, plim_cuda_memory *out);

/* What an event with a time costs on the GPU, ns; it is subtracted from what is measured between two. -1: nothing has
 * been measured yet. */
int64_t plim_device_cuda_timing_event_ns(const plim_device *device);

/* The libraries that were not found, with what was looked for; "" when all were. Without cuDNN convolutions are matrix
 * products of cuBLAS, without cuBLAS they and linear layers are our own. */
const char *plim_device_cuda_missing(const plim_device *device);

#ifdef __cplusplus
}
#endif
#endif

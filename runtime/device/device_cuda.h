/* The cuda device: a GPU that is used through a table of driver functions. A plan's step is queued kernel by kernel the
 * first time, captured the second time, and replayed from then on, because its addresses never change. Seed and step
 * number, which do change, lie in device memory.
 *
 * device_cuda.c opens it, device_cuda_memory.c and device_cuda_times.c measure; device_cuda_internal.h has all files.
 */
#ifndef PLIM_RUNTIME_DEVICE_DEVICE_CUDA_H
#define PLIM_RUNTIME_DEVICE_DEVICE_CUDA_H

#include "kernels/cuda/driver.h"
#include "runtime/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Open GPU `index` through a driver table, as plim_device_open("cuda:N") does with the real driver.
 *   driver   in   must outlive the device; NULL: PLIM_EDEVICE
 *   options  in   NULL: plim_device_options_default
 *   out      out  close with plim_device_close
 * PLIM_EDEVICE: there is no driver, no such GPU, or it is older than compute capability 7.5. PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_device_cuda_open(plim_context *ctx, const plim_cuda_driver *driver, int32_t index,
                                                const plim_device_options *options, plim_device **out);

/* How the GPU's memory is used. */
typedef struct plim_cuda_memory {
  /* Bytes that are not free any more since just before the device was opened, without allocations by alloc: context,
   * libraries, modules, captured steps, and memory that other programs took meanwhile. When the driver's management
   * library does not know the bytes of the context, all bytes that are not free count. */
  int64_t outside_bytes;
  /* outside_bytes after the last of the first two runs of a plan, which load and capture; it should not grow later.
   * PLIM_UNKNOWN: no plan has run */
  int64_t settled_bytes;
  int64_t free_bytes;
  int32_t context_known; /* 0: the bytes of the context are unknown, and all memory of other programs counts */
} plim_cuda_memory;
/* Measure the memory of a GPU. PLIM_EUSAGE: the device is no GPU. PLIM_EDEVICE: the driver failed. */
PLIM_MUST_USE plim_status plim_device_cuda_memory(plim_device *device, plim_cuda_memory *out);

/* Energy that the GPU has drawn for all programs since some time before, millijoule. -1: the device is no GPU, or its
 * driver does not tell. Takes some milliseconds. */
int64_t plim_device_cuda_energy_mj(const plim_device *device);

/* The cost of a timing event on the GPU, ns; it is subtracted from each time between two events. PLIM_UNKNOWN: it has
 * not been measured yet. */
int64_t plim_device_cuda_timing_event_ns(const plim_device *device);

/* The libraries that were not found, and where they were looked for; "" when all were found. Without cuDNN,
 * convolutions are matrix products of cuBLAS. Without cuBLAS, they and linear layers use our own kernels. */
const char *plim_device_cuda_missing(const plim_device *device);

#ifdef __cplusplus
}
#endif
#endif

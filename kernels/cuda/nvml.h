/* What the driver's management library tells of a GPU. It needs no context: what a context takes can be told by asking
 * before and after it is made. A question takes some milliseconds, since the library is opened for it alone. */
#ifndef PLIM_KERNELS_CUDA_NVML_H
#define PLIM_KERNELS_CUDA_NVML_H

#include <stdint.h>

/* Of the GPU at a PCI bus id: its free memory; the energy that it has drawn since the driver was loaded, millijoule. -1
 * where there is no such library, it is too old for the question, or it does not know. */
int64_t plim_nvml_free_bytes(const char *bus_id);
int64_t plim_nvml_energy_mj(const char *bus_id);

#endif

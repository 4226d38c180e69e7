/* Free memory of a GPU by the driver's management library, which needs no context: what a context takes can be told by
 * asking before and after it is made. */
#ifndef PLIM_KERNELS_CUDA_NVML_H
#define PLIM_KERNELS_CUDA_NVML_H

#include <stdint.h>

/* Of the GPU at a PCI bus id; -1 where there is no such library or it does not know. */
int64_t plim_nvml_free_bytes(const char *bus_id);

#endif

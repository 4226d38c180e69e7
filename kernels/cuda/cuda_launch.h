/* The kernels compiled for CUDA. */
#ifndef PLIM_KERNELS_CUDA_CUDA_LAUNCH_H
#define PLIM_KERNELS_CUDA_CUDA_LAUNCH_H

#include "kernels/call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Queue a kernel's tiles, which may be 0, on a stream (cudaStream_t), compiled for one storage type. Returns a
 * cudaError_t, 0 when the launch was accepted. */
int k_cuda_launch_float(k_kernel kernel, const k_call *call, int64_t tiles, void *stream);
int k_cuda_launch_bf16(k_kernel kernel, const k_call *call, int64_t tiles, void *stream);

/* The one for the call's storage type. */
static inline int k_cuda_launch(k_kernel kernel, const k_call *call, int64_t tiles, void *stream) {
  return (call->type == K_TYPE_BF16 ? k_cuda_launch_bf16 : k_cuda_launch_float)(kernel, call, tiles, stream);
}

#ifdef __cplusplus
}
#endif
#endif

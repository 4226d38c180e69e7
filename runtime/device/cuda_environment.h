/* Variables of the environment that decide bits or times of cuBLAS and cuDNN. */
#ifndef PLIM_RUNTIME_DEVICE_CUDA_ENVIRONMENT_H
#define PLIM_RUNTIME_DEVICE_CUDA_ENVIRONMENT_H

#include <stdint.h>

/* A hash of these variables with their values, independent of their order; 0: none is set. The variables are
 * NVIDIA_TF32_OVERRIDE, and those that begin with CUBLAS_, CUBLASLT_ or CUDNN_, except variables of logs.
 *   environment  in  ends with NULL
 * Safe from any thread; deterministic. */
uint32_t plim_cuda_environment_hash(char *const *environment);

#endif

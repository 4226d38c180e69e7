/* Variables of the environment that decide bits or times of cuBLAS and cuDNN. */
#ifndef PLIM_RUNTIME_DEVICE_CUDA_ENVIRONMENT_H
#define PLIM_RUNTIME_DEVICE_CUDA_ENVIRONMENT_H

#include <stdint.h>

/* A hash of all of them with their values, whatever their order; 0: none is set. Those are NVIDIA_TF32_OVERRIDE and
 * what begins with CUBLAS_, CUBLASLT_ or CUDNN_, but for variables of logs. */
uint32_t plim_cuda_environment_hash(char *const *environment);

#endif

/* cuBLAS, opened when it is first asked for: the part of the driver table that multiplies. */
#ifndef PLIM_KERNELS_CUDA_CUBLAS_H
#define PLIM_KERNELS_CUDA_CUBLAS_H

#include "kernels/cuda/driver.h"

/* Its error codes are returned as PLIM_CUBLAS_CODES + code. */
enum { PLIM_CUBLAS_CODES = 100000 };

int plim_cublas_open(const plim_kernel_memory *memory, void **blas, int32_t *version, char *why, size_t why_bytes);
int plim_cublas_close(void *blas);
int plim_cublas_multiply(void *blas, const plim_cuda_product *product, const void *a, const void *b, void *c,
                         void *workspace, int64_t workspace_bytes, void *stream);

#endif

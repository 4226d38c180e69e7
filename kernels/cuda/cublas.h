/* cuBLAS, opened when it is first asked for: the part of the driver table that multiplies. */
#ifndef PLIM_KERNELS_CUDA_CUBLAS_H
#define PLIM_KERNELS_CUDA_CUBLAS_H

#include "kernels/cuda/driver.h"

/* All functions return 0 or an error code: the library's as PLIM_CUBLAS_CODES + code, else the driver's. They run on
 * the thread whose current device the handle belongs to. */
enum { PLIM_CUBLAS_CODES = 100000 };

/* *blas out: a handle, which plim_cublas_close frees; NULL with status 0: there is no library that can be used, and
 * why [why_bytes] says why. *version out: the library's. */
int plim_cublas_open(const plim_kernel_memory *memory, void **blas, int32_t *version, char *why, size_t why_bytes);
int plim_cublas_close(void *blas);
/* Queue the product on the stream. workspace [workspace_bytes]: the library's own until the product has run. */
int plim_cublas_multiply(void *blas, const plim_cuda_product *product, const void *a, const void *b, void *c,
                         void *workspace, int64_t workspace_bytes, void *stream);

#endif

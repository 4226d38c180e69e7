/* The libraries of a GPU: which were found, and what they are. */
#ifndef PLIM_RUNTIME_DEVICE_CUDA_LIBRARIES_H
#define PLIM_RUNTIME_DEVICE_CUDA_LIBRARIES_H

#include "kernels/cuda/kernels.h"

enum { PLIM_CUDA_WHY_BYTES = 160 };

typedef struct plim_cuda_libraries {
  int32_t blas_version;                      /* 10000 x major + 100 x minor + patch */
  char no_blas[PLIM_CUDA_WHY_BYTES];         /* why there is no cuBLAS, or not all of it; "": there is */
  char no_dnn[PLIM_CUDA_WHY_BYTES];          /* why there is no cuDNN */
  char missing[2 * PLIM_CUDA_WHY_BYTES + 2]; /* both */
  char found[96];                            /* "cuda 13.0, cublas 13.1.0, cudnn 9.28.0, environment 3f2a91c4" */
} plim_cuda_libraries;

/* Open what there is into engine->blas and engine->dnn, for a GPU on which `stream` runs. Returns the driver's code of
 * what failed, *what says what that was; a library that is not there is no failure. */
int plim_cuda_libraries_open(plim_cuda_libraries *libraries, plim_cuda_engine *engine, const plim_cuda_facts *facts,
                             void *stream, const char **what);
void plim_cuda_libraries_close(plim_cuda_engine *engine);

#endif

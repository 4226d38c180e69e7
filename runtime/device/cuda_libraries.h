/* Opens the libraries of a GPU, cuBLAS and cuDNN, and describes those that were found. */
#ifndef PLIM_RUNTIME_DEVICE_CUDA_LIBRARIES_H
#define PLIM_RUNTIME_DEVICE_CUDA_LIBRARIES_H

#include "kernels/cuda/kernels.h"

enum { PLIM_CUDA_WHY_BYTES = 160 };

typedef struct plim_cuda_libraries {
  int32_t blas_version;                      /* 10000 x major + 100 x minor + patch */
  char no_blas[PLIM_CUDA_WHY_BYTES];         /* why there is no cuBLAS, or not all of it; "": all of it was found */
  char no_dnn[PLIM_CUDA_WHY_BYTES];          /* why there is no cuDNN; "": it was found */
  char missing[2 * PLIM_CUDA_WHY_BYTES + 2]; /* both reasons */
  char found[96];                            /* "cuda 13.0, cublas 13.1.0, cudnn 9.28.0, environment 3f2a91c4" */
} plim_cuda_libraries;

/* Open the libraries that are found into engine->blas and engine->dnn.
 *   facts, stream  in   of the GPU
 *   what           out  what was being done, for the sentence of a failure
 * Returns 0 or the driver's code of the failure. A missing library is no failure. */
int plim_cuda_libraries_open(plim_cuda_libraries *libraries, plim_cuda_engine *engine, const plim_cuda_facts *facts,
                             void *stream, const char **what);
void plim_cuda_libraries_close(plim_cuda_engine *engine); /* of libraries that were not opened, too */

#endif

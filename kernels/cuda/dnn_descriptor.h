/* Descriptors of cuDNN made in one go, from a table of attributes. Results are the library's codes. */
#ifndef PLIM_KERNELS_CUDA_DNN_DESCRIPTOR_H
#define PLIM_KERNELS_CUDA_DNN_DESCRIPTOR_H

#include "kernels/cuda/cudnn_api.h"

typedef struct plim_dnn_attribute {
  int name, type;
  int64_t count;
  const void *values;
} plim_dnn_attribute;

/* Make, set, finalize; nothing is left when one of them fails. */
int plim_dnn_build(const plim_cudnn_api *api, int kind, const plim_dnn_attribute *attribute, int n, void **out);

/* Free it and forget it; NULL is legal. */
void plim_dnn_unmake(const plim_cudnn_api *api, void **descriptor);

#endif

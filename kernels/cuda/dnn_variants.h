/* What cuDNN offers for a problem, as variants: each with a numerics key made of the library's version, the engine and
 * its knobs. */
#ifndef PLIM_KERNELS_CUDA_DNN_VARIANTS_H
#define PLIM_KERNELS_CUDA_DNN_VARIANTS_H

#include "kernels/cuda/dnn.h"
#include "kernels/cuda/kernels.h"

/* A problem, and what kernels of ours do around it. */
typedef struct plim_dnn_variants {
  plim_dnn_problem problem;
  int64_t our_bytes; /* of workspace, before the library's */
  const char *mark;  /* the end of the numerics key: "" or "+b" */
} plim_dnn_variants;

/* As plim_cuda_list, plim_cuda_make and plim_cuda_conv_recall. make: *workspace_bytes out is that of the variant. */
int plim_dnn_variants_list(const plim_cuda_engine *engine, const plim_dnn_variants *v, plim_kernel_info *info,
                           int capacity);
int plim_dnn_variants_make(const plim_cuda_engine *engine, const plim_dnn_variants *v, const char *variant,
                           plim_dnn_kernel **out, int64_t *workspace_bytes);
void plim_dnn_variants_recall(const plim_cuda_engine *engine, const plim_dnn_variants *v, const plim_kernel_info *info,
                              int n);

#endif

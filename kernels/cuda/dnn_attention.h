/* Causal attention as it is described to cuDNN: one operation, forward or backward, with the mask as a graph of its own
 * on the scores. Libraries before PLIM_DNN_ATTENTION_SINCE know no such mask. */
#ifndef PLIM_KERNELS_CUDA_DNN_ATTENTION_H
#define PLIM_KERNELS_CUDA_DNN_ATTENTION_H

#include "kernels/cuda/dnn_descriptor.h"
#include "kernels/op.h"

enum { PLIM_DNN_ATTENTION_SINCE = 92100 };

/* Its tensors. Forward has the first five. These are their unique ids, less one. The statistics are the logarithms of
 * the sums of exp(score), floats [B][H][T]. */
enum {
  PLIM_DNN_Q,
  PLIM_DNN_K,
  PLIM_DNN_V,
  PLIM_DNN_O,
  PLIM_DNN_STATS,
  PLIM_DNN_FORWARD_TENSORS,
  PLIM_DNN_DO = PLIM_DNN_FORWARD_TENSORS,
  PLIM_DNN_DQ,
  PLIM_DNN_DK,
  PLIM_DNN_DV,
  PLIM_DNN_TENSORS
};

/* Numbers that the host hands over with the tensors, whose ids follow. */
enum { PLIM_DNN_SCALE = PLIM_DNN_TENSORS, PLIM_DNN_FILL, PLIM_DNN_ATTENTION_END };

/* Without padding: two are equal when their bytes are. */
typedef struct plim_dnn_attention {
  int64_t backward, sequences, heads, tokens, depth; /* B, H, T, D */
} plim_dnn_attention;

/* The attention of an op; 0 when it is none that the library may know: in bf16, of a depth that is a multiple of 8. */
int plim_dnn_attention_of(const plim_op_desc *op, plim_dnn_attention *attention);

/* Its operation graph. */
int plim_dnn_attention_graph(const plim_cudnn_api *api, void *handle, const plim_dnn_attention *attention,
                             plim_dnn_graph *graph);

#endif

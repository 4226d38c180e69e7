/* A convolution as it is described to cuDNN. */
#ifndef PLIM_KERNELS_CUDA_DNN_CONV_H
#define PLIM_KERNELS_CUDA_DNN_CONV_H

#include "kernels/cuda/dnn_descriptor.h"
#include "kernels/op.h"

typedef enum plim_dnn_direction { PLIM_DNN_FORWARD, PLIM_DNN_DATA, PLIM_DNN_WEIGHTS } plim_dnn_direction;

/* Where the three operands lie: x (or its gradient), weights, y. These are their unique ids, less one. */
enum { PLIM_DNN_X, PLIM_DNN_W, PLIM_DNN_Y, PLIM_DNN_OPERANDS };

/* Without padding, and every field has one value for one convolution: two are equal when their bytes are. */
typedef struct plim_dnn_conv {
  int64_t dim[PLIM_DNN_OPERANDS][4], step[PLIM_DNN_OPERANDS][4]; /* elements; [N][C][H][W], [O][I][R][S] */
  int64_t stride[2], pad[2];
  int32_t data_type; /* DNN_DATA_*; sums are always of floats */
  int32_t y_type;    /* of y, which is floats where a bias is added to it */
  int32_t direction; /* plim_dnn_direction */
  int32_t strict;    /* 1: products of floats are floats, not TF32 */
} plim_dnn_conv;

/* The convolution of an op whose operands fit together, without the bias; 0 when it is none or has blocked layouts. All
 * operands are of the activations' type, but for the sums that a bias is added to, and where activations have their
 * channels last, so have the weights: *copied is 1 when the weights or their gradient do not lie so in the graph. */
int plim_dnn_conv_of(const plim_op_desc *op, plim_dnn_conv *conv, int *copied);

/* Its operation graph. */
int plim_dnn_graph_make(const plim_cudnn_api *api, void *handle, const plim_dnn_conv *conv, plim_dnn_graph *graph);

#endif

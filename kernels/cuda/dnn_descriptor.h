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

/* An operation graph of one operation with all that it refers to, in the order in which they were made; the graph is
 * the last. NULL: there is none. */
enum { PLIM_DNN_GRAPH_PARTS = 20, PLIM_DNN_GRAPH = PLIM_DNN_GRAPH_PARTS - 1 };
typedef struct plim_dnn_graph {
  void *part[PLIM_DNN_GRAPH_PARTS];
} plim_dnn_graph;

/* A graph of `operation` alone. */
int plim_dnn_graph_of(const plim_cudnn_api *api, void *handle, void *operation, void **out);
void plim_dnn_graph_free(const plim_cudnn_api *api, plim_dnn_graph *graph);

#endif

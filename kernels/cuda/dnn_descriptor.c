/* Building descriptors. */
#include "kernels/cuda/dnn_descriptor.h"

int plim_dnn_build(const plim_cudnn_api *api, int kind, const plim_dnn_attribute *attribute, int n, void **out) {
  void *made = NULL;
  int code = api->make(kind, &made);
  for (int i = 0; i < n && code == 0; i++) {
    code = api->set(made, attribute[i].name, attribute[i].type, attribute[i].count, attribute[i].values);
  }
  if (code == 0) code = api->finalize(made);
  if (code == 0) {
    *out = made;
  } else {
    plim_dnn_unmake(api, &made);
  }
  return code;
}

void plim_dnn_unmake(const plim_cudnn_api *api, void **descriptor) {
  if (*descriptor) (void)api->unmake(*descriptor);
  *descriptor = NULL;
}

int plim_dnn_graph_of(const plim_cudnn_api *api, void *handle, void *operation, void **out) {
  const plim_dnn_attribute attribute[] = {{DNN_ATTR_OPERATIONGRAPH_HANDLE, DNN_TYPE_HANDLE, 1, &handle},
                                          {DNN_ATTR_OPERATIONGRAPH_OPS, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &operation}};
  return plim_dnn_build(api, DNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, attribute, 2, out);
}

void plim_dnn_graph_free(const plim_cudnn_api *api, plim_dnn_graph *graph) {
  for (int i = PLIM_DNN_GRAPH_PARTS - 1; i >= 0; i--) plim_dnn_unmake(api, &graph->part[i]);
}

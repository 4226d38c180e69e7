/* From an op to an operation graph of one node. Weights lie as [O][I][R][S] in our graphs. The library's fast engines
 * need either all three operands with channels innermost, or none of them. */
#include "kernels/cuda/dnn_conv.h"

#include <string.h>

enum { ALIGNMENT = 16 }; /* bytes; engines read so many at a time, and values lie at multiples of 512 */

/* Which operand of the op is x, weights, y: inputs from 0, the output as OUT. */
enum { OUT = -1 };
static const struct {
  plim_op_kind kind;
  int place[PLIM_DNN_OPERANDS];
} directions[] = {[PLIM_DNN_FORWARD] = {PLIM_OP_CONV2D, {0, 1, OUT}},
                  [PLIM_DNN_DATA] = {PLIM_OP_CONV2D_BWD_DATA, {OUT, 1, 0}},
                  [PLIM_DNN_WEIGHTS] = {PLIM_OP_CONV2D_BWD_WEIGHTS, {1, OUT, 0}}};
enum { DIRECTIONS = sizeof directions / sizeof *directions };

static int direction_of(plim_op_kind kind) {
  for (int i = 0; i < DIRECTIONS; i++) {
    if (directions[i].kind == kind) return i;
  }
  return -1;
}

static void set_steps(const int64_t dim[4], int channels_last, int64_t step[4]) {
  const int64_t area = dim[2] * dim[3];
  const int64_t last[4] = {area * dim[1], 1, dim[3] * dim[1], dim[1]}, first[4] = {dim[1] * area, area, dim[3], 1};
  memcpy(step, channels_last ? last : first, 4 * sizeof *step);
}

int plim_dnn_conv_of(const plim_op_desc *op, plim_dnn_conv *conv, int *copied) {
  int direction = direction_of(op->kind);
  if (direction < 0 || op->n_out != 1 || op->n_upd != 0) return 0;
  if (op->n_in != 2 && !(direction == PLIM_DNN_FORWARD && op->n_in == 3)) return 0;
  memset(conv, 0, sizeof *conv);
  *copied = 0;
  plim_layout layout = op->in[0].layout; /* y forward, dy backward: an activation */
  for (int i = 0; i < PLIM_DNN_OPERANDS; i++) {
    int place = directions[direction].place[i];
    const plim_shape *shape = place == OUT ? &op->out[0] : &op->in[place];
    if (shape->rank != 4 || shape->layout != (i == PLIM_DNN_W ? PLIM_FLAT : layout)) return 0;
    *copied |= shape->dtype != op->in[0].dtype;
    memcpy(conv->dim[i], shape->dim, sizeof conv->dim[i]);
    set_steps(conv->dim[i], layout == PLIM_NHWC, conv->step[i]);
  }
  if (layout != PLIM_NHWC && layout != PLIM_FLAT) return 0;
  for (int i = 0; i < 2; i++) {
    conv->stride[i] = op->attrs.stride[i];
    conv->pad[i] = op->attrs.pad[i];
  }
  conv->direction = direction;
  conv->data_type = op->in[0].dtype == PLIM_BF16 ? DNN_DATA_BFLOAT16 : DNN_DATA_FLOAT;
  conv->y_type = op->n_in == 3 ? DNN_DATA_FLOAT : conv->data_type;
  conv->strict = op->in[0].dtype == PLIM_F32 && !op->attrs.tf32;
  *copied |= layout == PLIM_NHWC && conv->dim[PLIM_DNN_W][2] * conv->dim[PLIM_DNN_W][3] > 1;
  return 1;
}

/* ---- the graph ---- */

static int make_tensor(const plim_cudnn_api *api, const plim_dnn_conv *conv, int operand, void **out) {
  const int64_t id = operand + 1, alignment = ALIGNMENT;
  const int32_t type = operand == PLIM_DNN_Y ? conv->y_type : conv->data_type;
  const plim_dnn_attribute attribute[] = {
      {DNN_ATTR_TENSOR_UNIQUE_ID, DNN_TYPE_INT64, 1, &id},
      {DNN_ATTR_TENSOR_DATA_TYPE, DNN_TYPE_DATA_TYPE, 1, &type},
      {DNN_ATTR_TENSOR_BYTE_ALIGNMENT, DNN_TYPE_INT64, 1, &alignment},
      {DNN_ATTR_TENSOR_DIMENSIONS, DNN_TYPE_INT64, 4, conv->dim[operand]},
      {DNN_ATTR_TENSOR_STRIDES, DNN_TYPE_INT64, 4, conv->step[operand]},
  };
  return plim_dnn_build(api, DNN_BACKEND_TENSOR_DESCRIPTOR, attribute, sizeof attribute / sizeof *attribute, out);
}

static int make_convolution(const plim_cudnn_api *api, const plim_dnn_conv *conv, void **out) {
  const int32_t sums = DNN_DATA_FLOAT, mode = DNN_CROSS_CORRELATION;
  const int64_t dims = 2, dilation[2] = {1, 1};
  const plim_dnn_attribute attribute[] = {
      {DNN_ATTR_CONVOLUTION_COMP_TYPE, DNN_TYPE_DATA_TYPE, 1, &sums},
      {DNN_ATTR_CONVOLUTION_CONV_MODE, DNN_TYPE_CONVOLUTION_MODE, 1, &mode},
      {DNN_ATTR_CONVOLUTION_SPATIAL_DIMS, DNN_TYPE_INT64, 1, &dims},
      {DNN_ATTR_CONVOLUTION_DILATIONS, DNN_TYPE_INT64, 2, dilation},
      {DNN_ATTR_CONVOLUTION_FILTER_STRIDES, DNN_TYPE_INT64, 2, conv->stride},
      {DNN_ATTR_CONVOLUTION_PRE_PADDINGS, DNN_TYPE_INT64, 2, conv->pad},
      {DNN_ATTR_CONVOLUTION_POST_PADDINGS, DNN_TYPE_INT64, 2, conv->pad},
  };
  return plim_dnn_build(api, DNN_BACKEND_CONVOLUTION_DESCRIPTOR, attribute, sizeof attribute / sizeof *attribute, out);
}

static const struct {
  int kind, operand[PLIM_DNN_OPERANDS], convolution, alpha, beta;
} operations[] = {
    [PLIM_DNN_FORWARD] = {DNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                          {DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                           DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
                          DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                          DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                          DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    [PLIM_DNN_DATA] = {DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                       {DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                        DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
                       DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                       DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                       DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    [PLIM_DNN_WEIGHTS] = {DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                          {DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                           DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
                          DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                          DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                          DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

/* part: the tensors, then the convolution. */
static int make_operation(const plim_cudnn_api *api, const plim_dnn_conv *conv, void *const *part, void **out) {
  const float one = 1, zero = 0;
  const int *operand = operations[conv->direction].operand;
  const plim_dnn_attribute attribute[] = {
      {operand[PLIM_DNN_X], DNN_TYPE_BACKEND_DESCRIPTOR, 1, &part[PLIM_DNN_X]},
      {operand[PLIM_DNN_W], DNN_TYPE_BACKEND_DESCRIPTOR, 1, &part[PLIM_DNN_W]},
      {operand[PLIM_DNN_Y], DNN_TYPE_BACKEND_DESCRIPTOR, 1, &part[PLIM_DNN_Y]},
      {operations[conv->direction].convolution, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &part[PLIM_DNN_OPERANDS]},
      {operations[conv->direction].alpha, DNN_TYPE_FLOAT, 1, &one},
      {operations[conv->direction].beta, DNN_TYPE_FLOAT, 1, &zero},
  };
  return plim_dnn_build(api, operations[conv->direction].kind, attribute, sizeof attribute / sizeof *attribute, out);
}

int plim_dnn_graph_make(const plim_cudnn_api *api, void *handle, const plim_dnn_conv *conv, plim_dnn_graph *graph) {
  int code = 0;
  void **part = graph->part, **operation = &part[PLIM_DNN_OPERANDS + 1];
  memset(graph, 0, sizeof *graph);
  for (int i = 0; i < PLIM_DNN_OPERANDS && code == 0; i++) code = make_tensor(api, conv, i, &part[i]);
  if (code == 0) code = make_convolution(api, conv, &part[PLIM_DNN_OPERANDS]);
  if (code == 0) code = make_operation(api, conv, part, operation);
  if (code == 0) code = plim_dnn_graph_of(api, handle, *operation, &part[PLIM_DNN_GRAPH]);
  if (code != 0) plim_dnn_graph_free(api, graph);
  return code;
}

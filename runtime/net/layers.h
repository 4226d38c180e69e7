/* The net as a list of layers, shared by the files of runtime/net. A tensor's handle is the index of the layer that
 * makes it. The functions stand in net.c, that of micro-batches in accumulate.c. Functions run on the thread of the
 * context. */
#ifndef PLIM_RUNTIME_NET_LAYERS_H
#define PLIM_RUNTIME_NET_LAYERS_H

#include "runtime/net/net.h"

enum { PLIM_NET_NAME_BYTES = 64, PLIM_NET_PARAMS = 3, PLIM_NET_SUFFIX_BYTES = 48 };

typedef enum plim_net_kind {
  PLIM_NET_IMAGE,
  PLIM_NET_CONV2D,
  PLIM_NET_DEPTHWISE_CONV2D,
  PLIM_NET_CONV_TRANSPOSE2D,
  PLIM_NET_BATCH_NORM,
  PLIM_NET_RELU,
  PLIM_NET_ADD,
  PLIM_NET_MAX_POOL,
  PLIM_NET_AVG_POOL,
  PLIM_NET_GLOBAL_AVG_POOL,
  PLIM_NET_FLATTEN,
  PLIM_NET_LINEAR,
  PLIM_NET_DROPOUT,
  PLIM_NET_SOFTMAX_XENT,
  PLIM_NET_EMBEDDING,
  PLIM_NET_LAYER_NORM,
  PLIM_NET_RMS_NORM,
  PLIM_NET_GELU,
  PLIM_NET_SILU,
  PLIM_NET_ATTENTION,
  PLIM_NET_TIED_XENT,
  PLIM_NET_OP, /* any op kind, by its row (runtime/net/op_layers.c) */
  PLIM_NET_KIND_COUNT
} plim_net_kind;

/* A layer: its inputs, what the caller chose, and the shape of the tensor that it makes. */
typedef struct plim_net_layer {
  plim_net_kind kind;
  char name[PLIM_NET_NAME_BYTES];
  int32_t n_in;
  plim_tensor in[2];    /* batch norm with attrs.add: x, shortcut */
  plim_tensor *many_in; /* [n_in] owned by the net, in place of `in` where there are more; else NULL */
  plim_attrs attrs;
  int32_t bias;   /* conv2d, linear: 1: a bias is added */
  int32_t heads;  /* attention */
  plim_shape out; /* shape of the tensor that the layer makes; softmax_xent: of the logits */
  /* PLIM_NET_OP: the op's operands are the tensors, then the parameters */
  plim_op_kind op;
  int32_t n_params, n_out;
  plim_shape param[PLIM_NET_PARAMS], more[PLIM_ROW_OPERANDS - 1]; /* more: outputs after the first */
} plim_net_layer;

struct plim_net {
  plim_context *ctx;
  char name[PLIM_NET_NAME_BYTES];
  plim_net_options options;
  int32_t n_layers, capacity;
  plim_net_layer *layer; /* [n_layers], every input before its reader */
  plim_status status;    /* the first failure */
  char error[256];       /* the first failure's sentence */
};

/* Record a failure, if it is the net's first. Returns PLIM_NONE, the handle of no tensor. */
plim_tensor plim_net_fail(plim_net *net, plim_status status, const char *format, ...) PLIM_PRINTF(3, 4);

/* Append a layer, after checking its name, its inputs and the size of its tensor. Returns its handle; PLIM_NONE when
 * the net has failed. */
plim_tensor plim_net_append(plim_net *net, const char *name, const plim_net_layer *layer);

/* The layer's inputs, wherever they lie: [n_in]. */
const plim_tensor *plim_net_inputs(const plim_net_layer *layer);

/* Shape of a tensor. NULL when x is no tensor's handle; the net has then failed, with a sentence that names the layer
 * `reader`. */
const plim_shape *plim_net_shape(plim_net *net, const char *reader, plim_tensor x);

/* Whether the layer is a loss, which ends a net and makes no tensor. */
int plim_net_is_loss(const plim_net_layer *layer);

/* The op of a layer that multiplies by weights; PLIM_OP_CUSTOM: the layer does not. */
plim_op_kind plim_net_product_of(const plim_net_layer *layer);

/* Shape of a layer's weights: [O][I][R][S] of a convolution, [C][1][R][S] of a depthwise one, [I][O][R][S] of a
 * transposed one, [O][I] of a linear layer. */
plim_shape plim_net_weight_shape(const plim_net *net, const plim_net_layer *layer);

/* Number of images or sequences of a micro-batch. */
int32_t plim_net_micro_batch(const plim_net *net);

/* The element type of activations and their gradients. */
plim_dtype plim_net_dtype(const plim_net *net);

/* The layout of rank-4 activations with so many channels. */
plim_layout plim_net_layout(const plim_net_options *options, int64_t channels);

#endif

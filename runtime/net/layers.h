/* The net as a list of layers; shared by the files of runtime/net. A tensor handle is the index of the layer
 * that makes it. */
#ifndef PLIM_RUNTIME_NET_LAYERS_H
#define PLIM_RUNTIME_NET_LAYERS_H

#include "runtime/net/net.h"

enum { NET_NAME_BYTES = 64 };

typedef enum net_kind {
  NET_IMAGE,
  NET_CONV2D,
  NET_BATCH_NORM,
  NET_RELU,
  NET_ADD,
  NET_MAX_POOL,
  NET_AVG_POOL,
  NET_GLOBAL_AVG_POOL,
  NET_FLATTEN,
  NET_LINEAR,
  NET_DROPOUT,
  NET_SOFTMAX_XENT,
  NET_KIND_COUNT
} net_kind;

typedef struct net_layer {
  net_kind kind;
  char name[NET_NAME_BYTES];
  int32_t n_in;
  plim_tensor in[2]; /* batch norm with attrs.add: x, shortcut */
  plim_attrs attrs;
  int32_t bias;   /* conv2d, linear: 1 = a bias is added */
  plim_shape out; /* of the tensor it makes; softmax_xent: of the probabilities */
} net_layer;

struct plim_net {
  plim_context *ctx;
  char name[NET_NAME_BYTES];
  plim_net_options options;
  int32_t n_layers, capacity;
  net_layer *layer;   /* [n_layers], every input before its reader */
  plim_status status; /* the first failure ... */
  char error[256];    /* ... and its sentence */
};

/* Keep the first failure of the net; the tensor handle that says so. */
plim_tensor net_fail(plim_net *net, plim_status status, const char *format, ...) PLIM_PRINTF(3, 4);

/* Append a layer: checks name, inputs and the size of what it makes. -1 when the net has failed. */
plim_tensor net_append(plim_net *net, const char *name, const net_layer *layer);

/* Shape of a tensor, NULL (and the net has failed) when the handle is none. */
const plim_shape *net_shape(plim_net *net, const char *reader, plim_tensor x);

/* Weights of a convolution [O][I][KH][KW] or a linear layer [O][I]. */
plim_shape net_weight_shape(const plim_net *net, const net_layer *layer);

/* The layout of rank-4 activations of that many channels. */
plim_layout net_layout(const plim_net_options *options, int64_t channels);

#endif

/* Emission: what forward.c and backward.c share while a net becomes a graph. The first failure is kept in `status`, and
 * everything after it does nothing, so that emission reads as the list of ops that it is.
 *
 * Names: layer L makes the value "L"; its further values and ops are "L.<what>". The gradient of parameter p is
 * "p.grad". The gradient that layer L hands to its input is "L.dx"; where several readers of one tensor T hand
 * back a gradient their sum is "T.grad". */
#ifndef PLIM_RUNTIME_NET_EMIT_H
#define PLIM_RUNTIME_NET_EMIT_H

#include "runtime/net/layers.h"

/* A value and its storage: a view needs the storage of what it looks at. */
typedef struct emit_ref {
  int32_t value, storage; /* -1: none */
} emit_ref;

/* A trained parameter and the state of its update. */
typedef struct emit_param {
  emit_ref value, velocity;
} emit_param;

/* What the emission knows of one layer. */
typedef struct emit_layer {
  int32_t trains;                  /* 1: a parameter sits in it or below it, so a gradient goes through it */
  emit_ref y;                      /* its tensor */
  emit_ref saved;                  /* kept for its backward op: ReLU or dropout mask, max pool's index, probabilities */
  emit_ref stats, running;         /* batch norm */
  emit_param weight, bias, affine; /* those that the kind has */
  int32_t n_grads;                 /* gradients of y handed back so far and not summed yet */
  emit_ref grad[2];
  int32_t n_sums; /* additions emitted for y's gradient */
} emit_layer;

typedef struct emit {
  const plim_net *net;
  plim_graph_builder *builder;
  int32_t training; /* 1: a training step, 0: an evaluation step */
  emit_layer *at;   /* [n_layers] */
  emit_ref image, label, hyper;
  plim_status status;
} emit;

/* A new storage and the value "<layer><suffix>" over all of it. */
emit_ref emit_value(emit *e, const char *layer, const char *suffix, plim_role role, const plim_shape *shape);

/* A second value over the storage of `of`, of equal bytes. */
emit_ref emit_view(emit *e, const char *layer, const char *suffix, emit_ref of, const plim_shape *shape);

/* The op "<layer><suffix>"; `spec` has everything but name and time. */
void emit_op(emit *e, const char *layer, const char *suffix, const plim_op_spec *spec);

plim_shape emit_vector(plim_dtype dtype, int64_t n);              /* [n] */
plim_shape emit_statistics(const net_layer *layer);               /* [2][C] of a batch norm */
plim_shape emit_typed(const plim_shape *shape, plim_dtype dtype); /* with another element type */

/* Parameters, states and staging of all layers, in an order that does not depend on `training`; then the inputs. */
void emit_persistent(emit *e);

void emit_forward(emit *e);
void emit_backward(emit *e);

#endif

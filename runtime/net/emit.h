/* Emission: the state and functions that the files of runtime/net share while a net becomes a graph. The first failure
 * is kept in `status`, and later calls do nothing. So the callers read as a list of ops, without checks. Functions run
 * on the thread of the context.
 *
 * Names: layer L makes the value "L"; its other values and ops are "L.<what>". The gradient of parameter p is "p.grad",
 * its cast to bf16 "p.bf16". The gradient that layer L gives its input is "L.dx". When several readers of a tensor T
 * give it a gradient, the sum is "T.grad". In a step of several micro-batches, the values of micro-batch m end in "@m".
 * A value of all micro-batches has the plain name.
 *
 * Functions stand in emit.c but for these: parameters, forward and backward in forward.c and backward.c, updates in
 * update.c, sums over micro-batches in accumulate.c, layers of kind PLIM_NET_OP in op_layers.c. */
#ifndef PLIM_RUNTIME_NET_EMIT_H
#define PLIM_RUNTIME_NET_EMIT_H

#include "runtime/net/layers.h"

/* A value and its storage. Both are kept because a view shares the storage of another value. */
typedef struct plim_net_ref {
  int32_t value, storage; /* or PLIM_NONE */
} plim_net_ref;

/* A trained parameter and the states of its update. */
typedef struct plim_net_param {
  plim_net_ref value, state[PLIM_OPTIMIZER_STATES]; /* state: the first plim_optimizer_row.n_states are used */
  plim_shape shape;
} plim_net_param;

/* A sum over micro-batches: of a gradient, or of losses with their hits. Each level of the tree of sums holds at most
 * one sum, which waits for its neighbour (accumulate.c). */
typedef struct plim_net_sum {
  plim_net_ref value, hits;
} plim_net_sum;
enum { PLIM_NET_LEVELS = 11 /* 2^(levels - 1) is at least PLIM_ACCUMULATE_MAX */ };

/* An update that waits for the norm of all gradients. */
typedef struct plim_net_update {
  const char *layer, *suffix;
  plim_net_param param;
  plim_net_ref gradient;
  int32_t decay; /* 1: weights of the parameter decay */
} plim_net_update;

/* An operand of a layer's forward op, and its gradient, where there is one. */
typedef struct plim_net_operand {
  plim_net_ref value, gradient;
  int32_t has_gradient, is_used; /* PLIM_NET_OP: is_used: it has been passed on or used for an update */
} plim_net_operand;

/* The values of one layer that have been emitted. */
typedef struct plim_net_emitted {
  int32_t trains;              /* 1: the layer or one below it has a parameter, so a gradient passes through it */
  plim_net_ref y;              /* the layer's tensor */
  plim_net_ref saved;          /* kept for the backward op: ReLU or dropout mask, max pool's index, probabilities */
  plim_net_ref stats, running; /* batch norm */
  plim_net_param weight, bias, affine; /* those that the kind has; an embedding has its words in `weight` */
  plim_net_param positions;            /* embedding */
  plim_net_ref tied;                   /* embedding: the gradient of the words that the loss has given back */
  int32_t n_grads;                     /* gradients of y that are not yet summed */
  plim_net_ref grad[2];
  int32_t n_sums; /* additions emitted for y's gradient */
  /* the forward op: its kind, operands and results */
  plim_op_kind kind;
  int32_t n_operands, n_results;
  plim_net_operand *operand; /* [n_operands] a part of plim_net_emit.operand */
  plim_net_ref result[PLIM_ROW_OPERANDS];
  /* PLIM_NET_OP: its parameters */
  plim_net_param param[PLIM_NET_PARAMS];
  char suffix[PLIM_NET_PARAMS][PLIM_NET_SUFFIX_BYTES]; /* of the parameters' names */
} plim_net_emitted;

/* A graph of a net while it is emitted. */
typedef struct plim_net_emit {
  const plim_net *net;
  plim_graph_builder *builder;
  int32_t training;          /* 1: a training step, 0: an evaluation step */
  plim_net_emitted *at;      /* [n_layers] */
  plim_net_operand *operand; /* [n_operands] of all layers */
  int32_t *list;             /* [n_operands] values of a long list of the op that is emitted */
  int64_t n_operands;
  plim_net_ref all_images, all_labels, hyper; /* all_images: or the tokens */
  plim_net_ref image, label;                  /* those of the micro-batch */
  int32_t micro; /* the micro-batch; PLIM_NONE: there is only one, or the values are of all */
  plim_net_sum loss, losses[PLIM_NET_LEVELS];
  plim_net_sum (*sum)[PLIM_NET_LEVELS]; /* [3 x layers] by parameter, in the order of updates */
  int32_t n_sums;                       /* parameters whose gradient of this micro-batch has been added */
  plim_net_update *update;              /* [3 x layers] updates that wait for the norm of all gradients */
  int32_t n_updates;
  plim_net_ref squares; /* sum of squares of the gradients so far */
  plim_status status;
} plim_net_emit;

/* The shape [sequences of a micro-batch][context][columns] of rows over tokens; the bytes are those of `shape`. */
plim_shape plim_net_emit_sequences(const plim_net *net, const plim_shape *shape);

/* The weights "<layer><suffix>" in the type of the activations: the parameter itself, or a cast of it. The cast may be
 * recomputed, as every op that reads the parameter may. */
plim_net_ref plim_net_emit_factor(plim_net_emit *emit, const char *layer, const char *suffix, plim_net_ref weight,
                                  const plim_shape *shape);

/* Emit the update of a parameter; with clipped gradients, only note it for plim_net_emit_updates. decay 1: a matrix or
 * table, which decays with Adam. The strings must stay valid until plim_net_emit_updates. */
void plim_net_emit_update(plim_net_emit *emit, const char *layer, const char *suffix, const plim_net_param *param,
                          plim_net_ref gradient, int32_t decay);
/* Emit the updates that wait for the norm of all gradients. */
void plim_net_emit_updates(plim_net_emit *emit);

/* Add a storage, and the value "<layer><suffix>" over all of it. */
plim_net_ref plim_net_emit_value(plim_net_emit *emit, const char *layer, const char *suffix, plim_role role,
                                 const plim_shape *shape);

/* Add a value over a part of the storage of `of`, from byte `offset` on. */
plim_net_ref plim_net_emit_part(plim_net_emit *emit, const char *name, plim_net_ref of, int64_t offset,
                                const plim_shape *shape);

/* Add a second value over the storage of `of`, of equal bytes. */
plim_net_ref plim_net_emit_view(plim_net_emit *emit, const char *layer, const char *suffix, plim_net_ref of,
                                const plim_shape *shape);

/* Add the op "<layer><suffix>". `spec` has everything but the name and the time. */
void plim_net_emit_op(plim_net_emit *emit, const char *layer, const char *suffix, const plim_op_spec *spec);

plim_shape plim_net_emit_vector(plim_dtype dtype, int64_t n);              /* [n] */
plim_shape plim_net_emit_statistics(const plim_net_layer *layer);          /* [2][C] of a batch norm */
plim_shape plim_net_emit_norm(const plim_net_layer *layer);                /* [2][C]; of an RMS norm [C] */
plim_shape plim_net_emit_typed(const plim_shape *shape, plim_dtype dtype); /* with another element type */

/* The shape of `batch` images, or sequences of tokens; and of their labels. */
plim_shape plim_net_emit_inputs(const plim_net_options *options, int32_t batch);
plim_shape plim_net_emit_labels(const plim_net_options *options, int32_t batch);

/* Begin a micro-batch: emit its parts of the inputs, and set `at` to a copy of `before`.
 *   before  [n_layers]  in  the layers as they were before the first micro-batch */
void plim_net_emit_micro_batch(plim_net_emit *emit, const plim_net_emitted *before, int32_t micro);

/* Add the gradient of a parameter to those of the previous micro-batches. Returns 1 when *gradient has become the mean
 * of all. Each micro-batch must call this for the same parameters in the same order. */
int plim_net_emit_mean(plim_net_emit *emit, const char *layer, const char *suffix, const plim_shape *shape,
                       plim_net_ref *gradient);

/* Add the values of the loss and the hits, of the micro-batch or of all. After a micro-batch's forward ops, the second
 * function emits its share of the mean loss and of the sum of hits. */
void plim_net_emit_loss(plim_net_emit *emit, plim_net_sum *out);
void plim_net_emit_mean_loss(plim_net_emit *emit);

/* Emit the forward ops of all layers; the backward ops and updates. */
void plim_net_emit_forward(plim_net_emit *emit);
void plim_net_emit_backward(plim_net_emit *emit);

/* Emit the parameters, the forward op, and the backward ops with updates of one layer of kind PLIM_NET_OP. */
void plim_net_emit_op_persistent(plim_net_emit *emit, int32_t i);
void plim_net_emit_op_forward(plim_net_emit *emit, int32_t i);
void plim_net_emit_op_backward(plim_net_emit *emit, int32_t i);

/* Add the parameter "<layer><suffix>" and the states of its update. */
plim_net_param plim_net_emit_param(plim_net_emit *emit, const char *layer, const char *suffix, const plim_shape *shape);

/* Give the layer that makes a tensor a gradient of it, which one of the tensor's readers has emitted. */
void plim_net_hand_back(plim_net_emit *emit, int32_t tensor, plim_net_ref gradient);
/* The gradient of a layer's tensor as one value, summed where readers gave several. */
plim_net_ref plim_net_gradient_of(plim_net_emit *emit, int32_t i);

#endif

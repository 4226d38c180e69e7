/* Emission: what forward.c and backward.c share while a net becomes a graph. The first failure is kept in `status`, and
 * everything after it does nothing, so that emission reads as the list of ops that it is.
 *
 * Names: layer L makes the value "L"; its further values and ops are "L.<what>". The gradient of parameter p is
 * "p.grad", its cast to bf16 "p.bf16". The gradient that layer L hands to its input is "L.dx"; where several readers of
 * one tensor T hand back a gradient their sum is "T.grad". In a step of several micro-batches "@m" follows what number
 * m makes; what all of them make together has the plain name. */
#ifndef PLIM_RUNTIME_NET_EMIT_H
#define PLIM_RUNTIME_NET_EMIT_H

#include "runtime/net/layers.h"

/* A value and its storage: a view needs the storage of what it looks at. */
typedef struct plim_net_ref {
  int32_t value, storage; /* -1: none */
} plim_net_ref;

/* A trained parameter and the states of its update. */
typedef struct plim_net_param {
  plim_net_ref value, state[2]; /* [n] as the optimizer has */
  plim_shape shape;
} plim_net_param;

/* A sum over micro-batches: of a gradient, or of losses with their hits. A level of the tree of sums has one that
 * waits for its neighbour. */
typedef struct plim_net_sum {
  plim_net_ref value, hits;
} plim_net_sum;
enum { PLIM_NET_LEVELS = 11 /* 2^(levels - 1) is at least PLIM_ACCUMULATE_MOST */ };

/* A kind of update: its op, what it reads and what it keeps. */
typedef struct plim_net_optimizer {
  plim_op_kind kind;
  const char *op; /* suffix of its op */
  int32_t hyper;  /* numbers of "hyper" */
  int32_t states; /* [1 or 2], suffixes of their names */
  const char *state[2];
} plim_net_optimizer;
const plim_net_optimizer *plim_net_optimizer_of(const plim_net *net);

/* An update that waits for the norm of all gradients. */
typedef struct plim_net_update {
  const char *layer, *suffix;
  plim_net_param param;
  plim_net_ref gradient;
  int32_t decay; /* 1: weights of the parameter decay */
} plim_net_update;

/* What the emission knows of one layer. */
typedef struct plim_net_emitted {
  int32_t trains;              /* 1: a parameter sits in it or below it, so a gradient goes through it */
  plim_net_ref y;              /* its tensor */
  plim_net_ref saved;          /* kept for its backward op: ReLU or dropout mask, max pool's index, probabilities */
  plim_net_ref stats, running; /* batch norm */
  plim_net_param weight, bias, affine; /* those that the kind has; an embedding has its words in `weight` */
  plim_net_param positions;            /* of an embedding */
  plim_net_ref tied;                   /* of an embedding: the gradient of the words that the loss has handed back */
  int32_t n_grads;                     /* gradients of y handed back so far and not summed yet */
  plim_net_ref grad[2];
  int32_t n_sums; /* additions emitted for y's gradient */
  /* the forward op: its kind, operands and results; gradients of its operands that are there */
  plim_op_kind kind;
  int32_t n_operands, n_results, has_gradient[PLIM_OP_MAX_IN];
  plim_net_ref operand[PLIM_OP_MAX_IN], result[PLIM_OP_MAX_OUT], gradient[PLIM_OP_MAX_IN];
  /* PLIM_NET_OP: parameters; 1 for operands whose gradient was handed on or used for an update */
  plim_net_param param[PLIM_NET_PARAMS];
  char suffix[PLIM_NET_PARAMS][PLIM_NET_SUFFIX_BYTES]; /* of their names */
  int32_t is_used[PLIM_OP_MAX_IN];
} plim_net_emitted;

typedef struct plim_net_emit {
  const plim_net *net;
  plim_graph_builder *builder;
  int32_t training;                           /* 1: a training step, 0: an evaluation step */
  plim_net_emitted *at;                       /* [n_layers] */
  plim_net_ref all_images, all_labels, hyper; /* images: or tokens */
  plim_net_ref image, label;                  /* of the micro-batch */
  int32_t micro; /* number of the micro-batch; -1: there is one, or what is made is of all */
  plim_net_sum loss, losses[PLIM_NET_LEVELS];
  plim_net_sum (*sum)[PLIM_NET_LEVELS]; /* [room for three a layer], by parameter in the order of updates */
  int32_t n_sums;                       /* parameters whose gradient of this micro-batch was summed */
  plim_net_update *update;              /* [n_updates], where they wait; room for three a layer */
  int32_t n_updates;
  plim_net_ref squares; /* sum of squares of the gradients so far */
  plim_status status;
} plim_net_emit;

/* The shape [batch][context][columns of x] of rows over tokens, of the same bytes. */
plim_shape plim_net_emit_sequences(const plim_net *net, const plim_shape *x);

/* The weights "<layer><suffix>" in the type of the activations: the parameter, or a copy that a cast makes, which may
 * run again like everything that reads the parameter. */
plim_net_ref plim_net_emit_factor(plim_net_emit *e, const char *layer, const char *suffix, plim_net_ref weight,
                                  const plim_shape *shape);

/* Update a parameter: at once, or where gradients are clipped in plim_net_emit_updates. decay 1: it is a matrix or a
 * table, which decays with Adam. Strings are borrowed until then. */
void plim_net_emit_update(plim_net_emit *e, const char *layer, const char *suffix, const plim_net_param *param,
                          plim_net_ref gradient, int32_t decay);
/* Those that wait. */
void plim_net_emit_updates(plim_net_emit *e);

/* A new storage and the value "<layer><suffix>" over all of it. */
plim_net_ref plim_net_emit_value(plim_net_emit *e, const char *layer, const char *suffix, plim_role role,
                                 const plim_shape *shape);

/* A value over a part of the storage of `of`, from byte `offset` on. */
plim_net_ref plim_net_emit_part(plim_net_emit *e, const char *name, plim_net_ref of, int64_t offset,
                                const plim_shape *shape);

/* A second value over the storage of `of`, of equal bytes. */
plim_net_ref plim_net_emit_view(plim_net_emit *e, const char *layer, const char *suffix, plim_net_ref of,
                                const plim_shape *shape);

/* The op "<layer><suffix>"; `spec` has everything but name and time. */
void plim_net_emit_op(plim_net_emit *e, const char *layer, const char *suffix, const plim_op_spec *spec);

plim_shape plim_net_emit_vector(plim_dtype dtype, int64_t n);              /* [n] */
plim_shape plim_net_emit_statistics(const plim_net_layer *layer);          /* [2][C] of a batch norm */
plim_shape plim_net_emit_norm(const plim_net_layer *layer);                /* [2][C]; of an RMS norm [C] */
plim_shape plim_net_emit_typed(const plim_shape *shape, plim_dtype dtype); /* with another element type */

/* Parameters, states and staging of all layers, in an order that does not depend on `training`; then the inputs. */
void plim_net_emit_persistent(plim_net_emit *e);

/* So many images, or sequences of tokens; and their labels. */
plim_shape plim_net_emit_inputs(const plim_net_options *o, int32_t batch);
plim_shape plim_net_emit_labels(const plim_net_options *o, int32_t batch);

/* Begin a micro-batch: its parts of the inputs; `at` becomes `before`, [n_layers]. */
void plim_net_emit_micro_batch(plim_net_emit *e, const plim_net_emitted *before, int32_t micro);

/* Add the gradient of a parameter to those of the micro-batches before. 1: *gradient is the mean of all now. Each
 * micro-batch calls this for the same parameters in the same order. */
int plim_net_emit_mean(plim_net_emit *e, const char *layer, const char *suffix, const plim_shape *shape,
                       plim_net_ref *gradient);

/* The values of the loss and the hits, of the micro-batch or of all; then, after forward, their mean and sum. */
void plim_net_emit_loss(plim_net_emit *e, plim_net_sum *out);
void plim_net_emit_mean_loss(plim_net_emit *e);

void plim_net_emit_forward(plim_net_emit *e);
void plim_net_emit_backward(plim_net_emit *e);

/* The same for one layer of kind PLIM_NET_OP. */
void plim_net_emit_op_persistent(plim_net_emit *e, int32_t i);
void plim_net_emit_op_forward(plim_net_emit *e, int32_t i);
void plim_net_emit_op_backward(plim_net_emit *e, int32_t i);

/* The parameter "<layer><suffix>" and the states of its update. */
plim_net_param plim_net_emit_param(plim_net_emit *e, const char *layer, const char *suffix, const plim_shape *shape);

/* Hand a gradient to the tensor's maker; the gradient of a layer's tensor, as one value. */
void plim_net_hand_back(plim_net_emit *e, int32_t tensor, plim_net_ref gradient);
plim_net_ref plim_net_gradient_of(plim_net_emit *e, int32_t i);

#endif

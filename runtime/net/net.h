/* A net is a description in layers. It yields a graph of a training step (forward, backward, updates) or of an
 * evaluation step. Both graphs have the same persistent storages in the same order.
 *
 * Standard value names: "image" or "tokens", and "label" (inputs), "hyper" (input: plim_rate_schedule_hyper),
 * "next_image" or "next_tokens", and "next_label" (staging), "loss" and "hits" (outputs). A parameter p has
 * "p.velocity" (state), with sgd none, or with Adam "p.first" and "p.second"; a batch norm b has "b.affine" (param
 * [2,C]) and "b.running" (state [2,C]). In a step of several micro-batches, the values of micro-batch m end in "@m".
 *
 * layers.c, layers_text.c and op_layers.c add layers. emit.c makes graphs, init.c start weights, models.c models;
 * optimizers.c has the table of optimizers. */
#ifndef PLIM_RUNTIME_NET_NET_H
#define PLIM_RUNTIME_NET_NET_H

#include "runtime/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ==== optimizers ==== */

/* A row each: the op of an update, its states, and what training takes where a caller says nothing. All have the
 * schedule of runtime/train/rate_schedule.h: a warm-up, then half a cosine. These functions read only their arguments
 * and static memory: they are safe from any thread, deterministic and O(optimizers). */
enum { PLIM_OPTIMIZER_STATES = 2 /* the most that one has */ };

typedef enum plim_optimizer {
  PLIM_OPTIMIZER_MOMENTUM, /* sgd with a velocity: where options are 0 */
  PLIM_OPTIMIZER_SGD,      /* without; the momentum of its schedule is 0 */
  PLIM_OPTIMIZER_ADAM,
  PLIM_OPTIMIZER_ADAMW,
  PLIM_OPTIMIZER_COUNT
} plim_optimizer;

typedef struct plim_optimizer_row {
  const char *name;
  plim_op_kind kind;                        /* of an update */
  int32_t hypers[2];                        /* elements of "hyper"; [1]: where gradients are clipped */
  int32_t n_states;                         /* of a parameter */
  const char *state[PLIM_OPTIMIZER_STATES]; /* suffixes of the states' names */
  int32_t decays_some;                      /* 1: matrices and tables decay, 0: all parameters do */
  float momentum; /* or the first beta. That of sgd is what a command takes for it: plim_optimizer_with */
  float beta2;    /* 0: there is none */
  float epsilon;
  float weight_decay;
  double rate, rate_mlp; /* highest learning rate; that of the model mlp, which has no norms */
  int32_t rate_batch;    /* the rates are of so many examples, and proportional to the batch; 0: of any batch */
  int32_t warmup_part;   /* steps / warmup_part is the warm-up of a run */
  int32_t warmup_most;   /* but no more steps than these; 0: any */
} plim_optimizer_row;

/* Row of an optimizer, in static memory; NULL: there is none. */
const plim_optimizer_row *plim_optimizer_at(int32_t optimizer);

/* Name of row i of the optimizers, a static string; NULL after the last row. */
const char *plim_optimizer_name(int32_t row);

/* The optimizer of a built-in model. */
plim_optimizer plim_optimizer_default(const char *model);

/* The optimizer that a name and a momentum stand for: `optimizer`, but sgd is momentum where the number is not 0. So a
 * caller who asks for sgd gets velocities where they are needed, and only there. */
plim_optimizer plim_optimizer_with(plim_optimizer optimizer, float momentum);

/* The highest learning rate of a built-in model, for batches of `batch` examples. */
double plim_optimizer_rate(const plim_optimizer_row *row, const char *model, int64_t batch);

/* The warm-up of a run of `steps` steps, in steps. */
int64_t plim_optimizer_warmup(const plim_optimizer_row *row, int64_t steps);

/* ==== nets ==== */

typedef struct plim_net plim_net;
/* Handle of a layer's output; PLIM_NONE once the net has failed (making a graph returns the error). */
typedef int32_t plim_tensor;

typedef struct plim_net_options {
  size_t struct_bytes; /* sizeof(plim_net_options) */
  int32_t batch, channels, height, width, classes;
  int32_t staging_batch;                /* images of the staged next batch; 0: batch */
  plim_layout layout;                   /* of rank-4 activations; NHWC where channels do not suit a blocked layout.
                                         * The image as floats is NHWC beside NHWC, else flat. */
  float pixel_scale[4], pixel_shift[4]; /* the image op, by channel */
  plim_precision precision;             /* bf16: ops cast the weights; tf32: only some devices have it */
  plim_optimizer optimizer;
  int32_t clip; /* 1: updates wait for the global norm of all gradients, which "hyper" bounds */
  /* > 0: the input is tokens, an example is a sequence of `context` tokens, and classes are the words of the
   * vocabulary; height, width and channels are not read */
  int32_t context;
  int32_t layers, units, heads; /* of the model gpt: blocks, width of a token, heads of attention */
  /* Number of micro-batches of a step, 1 to PLIM_ACCUMULATE_MAX, of batch / accumulate examples each. One update uses
   * the mean of their gradients. "loss" is the mean over the batch. Statistics of a batch norm are of a micro-batch. */
  int32_t accumulate;
  plim_dtype states; /* of updates: f32, or bf16, rounded to nearest, ties to even, when it is stored */
} plim_net_options;
enum { PLIM_ACCUMULATE_MAX = 1024 };
/* Batches of 128 images of 3 x 32 x 32 with 10 classes, pixels / 255, NHWC, one micro-batch. Model gpt: 6 blocks of 384
 * units and 6 heads. All other fields are 0. */
plim_net_options plim_net_options_default(void);

/* Make an empty net; `name` is copied. The context must outlive the net. PLIM_EUSAGE: options that are not allowed.
 * PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_net_begin(plim_context *ctx, const char *name, const plim_net_options *options,
                                         plim_net **out);
void plim_net_free(plim_net *net); /* NULL is legal */

/* A square window that moves over an image, in rows and columns. */
typedef struct plim_net_window {
  int kernel; /* side of the window */
  int stride; /* from one place to the next; 0 stands for 1 */
  int pad;    /* zeros around the image, fewer than the kernel has */
} plim_net_window;

/* Append a layer; returns the handle of its output. Names must be unique and are copied. The first failure is kept, and
 * returned when a graph is made. A net belongs to the thread of its context. Shapes of the outputs, with x
 * [N][C][H][W], N images of a micro-batch, and positive sizes:
 *   conv2d           [N][filters][(H + 2 pad - kernel) / stride + 1][the same of W]; bias 1: adds one by filter
 *   depthwise_conv2d  the same with C channels, each with a filter of its own; a kernel of at most 32
 *   conv_transpose2d  [N][filters][(H - 1) stride + kernel - 2 pad][the same of W]
 *   max_pool, avg_pool  as a convolution, with C channels
 *   global_avg_pool  [N][C]
 *   linear           [N][units], of x [N][features]; with bias
 *   batch_norm, relu, add, dropout  the shape of x; operands of add have equal shapes
 * `drop` is the probability of a zero, in [0, 1). */
plim_tensor plim_net_image(plim_net *net); /* the input batch as f32 or bf16 */
plim_tensor plim_net_conv2d(plim_net *net, const char *name, plim_tensor x, int filters, plim_net_window window,
                            int bias);
plim_tensor plim_net_depthwise_conv2d(plim_net *net, const char *name, plim_tensor x, plim_net_window window);
plim_tensor plim_net_conv_transpose2d(plim_net *net, const char *name, plim_tensor x, int filters,
                                      plim_net_window window);
plim_tensor plim_net_batch_norm(plim_net *net, const char *name, plim_tensor x);
plim_tensor plim_net_batch_norm_relu(plim_net *net, const char *name, plim_tensor x);
/* relu(batch_norm(x) + shortcut) in one op */
plim_tensor plim_net_batch_norm_add_relu(plim_net *net, const char *name, plim_tensor x, plim_tensor shortcut);
plim_tensor plim_net_relu(plim_net *net, const char *name, plim_tensor x);
plim_tensor plim_net_add(plim_net *net, const char *name, plim_tensor a, plim_tensor b);
plim_tensor plim_net_add_relu(plim_net *net, const char *name, plim_tensor a, plim_tensor b);
plim_tensor plim_net_max_pool(plim_net *net, const char *name, plim_tensor x, plim_net_window window);
plim_tensor plim_net_avg_pool(plim_net *net, const char *name, plim_tensor x, plim_net_window window);
plim_tensor plim_net_global_avg_pool(plim_net *net, const char *name, plim_tensor x);
plim_tensor plim_net_flatten(plim_net *net, const char *name, plim_tensor x); /* a view [N, C*H*W], memory order */
plim_tensor plim_net_linear(plim_net *net, const char *name, plim_tensor x, int units);
plim_tensor plim_net_dropout(plim_net *net, const char *name, plim_tensor x, float drop);
/* A layer of any op kind of class pure whose row has shape rules for its outputs and gradients: a built-in kind or a
 * program's own (plim_op_kind_add).
 *   attrs  [1]         in  NULL: none
 *   in     [n_in]      in  tensors, the op's first operands
 *   param  [n_params]  in  shapes of the parameters, the op's other operands; at most 3
 * The layer's tensor is the first output. Operand o of layer L is the parameter "L.o". It starts with small normal
 * numbers, ones or zeros, when the row's contents say weights, ones, or anything else. Parameters of a built-in kind
 * whose names end as those of other layers' parameters ("affine", "scale") start as these. */
plim_tensor plim_net_op(plim_net *net, const char *name, plim_op_kind kind, const plim_attrs *attrs, int32_t n_in,
                        const plim_tensor *in, int32_t n_params, const plim_shape *param);
void plim_net_softmax_xent(plim_net *net, plim_tensor logits); /* the loss; once */

/* Layers over tokens, with x [N][C], N = context times the sequences of a micro-batch.
 *   embedding   [N][units]: a row of a table by word, plus one by position
 *   layer_norm, rms_norm, gelu, silu  the shape of x; norms are of a row
 *   attention   [N][C / 3]: causal, of queries, keys and values side by side, a third of x each; `heads` divides them
 *   tied_xent   the loss, of logits that are products of x with the embedding's table of words; once */
plim_tensor plim_net_embedding(plim_net *net, const char *name, int units);
plim_tensor plim_net_layer_norm(plim_net *net, const char *name, plim_tensor x);
plim_tensor plim_net_rms_norm(plim_net *net, const char *name, plim_tensor x);
plim_tensor plim_net_gelu(plim_net *net, const char *name, plim_tensor x);
plim_tensor plim_net_silu(plim_net *net, const char *name, plim_tensor x);
plim_tensor plim_net_attention(plim_net *net, const char *name, plim_tensor x, int heads);
void plim_net_tied_xent(plim_net *net, plim_tensor x, plim_tensor embedding);

/* Make the graph of a training step or of an evaluation step. The training step has forward and backward ops, and one
 * update for each parameter. The update follows the parameter's gradient and the last reader of the old value, or with
 * `clip` all gradients. The evaluation step has the forward ops with running statistics, "loss" and "hits".
 *   out  [1]  out  free with plim_graph_free; it does not need the net
 * The status is that of the first layer that failed, if any. PLIM_EUSAGE: the net has no loss. PLIM_ENOMEM. O(layers x
 * accumulate). Deterministic. The net stays as it is. */
PLIM_MUST_USE plim_status plim_net_train_graph(const plim_net *net, plim_graph **out);
PLIM_MUST_USE plim_status plim_net_eval_graph(const plim_net *net, plim_graph **out);

/* Built-in models: "mlp", "resnet18", "resnet34", "resnet20", "resnet32", "resnet56", "resnet50", "tinyres", "vgg16",
 * "densenet121", "mobilenet", "unet", "gpt" (over tokens). Sources: models.c.
 *   out  [1]  out  complete with its loss; free with plim_net_free
 * PLIM_EUSAGE: no model has that name (the sentence suggests the nearest), or options that are not allowed.
 * PLIM_ENOMEM. O(layers). Deterministic. */
PLIM_MUST_USE plim_status plim_model_make(plim_context *ctx, const char *model, const plim_net_options *options,
                                          plim_net **out);
/* Name of row i of the models (0, 1, ...), a static string; NULL after the last row. */
const char *plim_model_name(int32_t row);

/* Number of trained parameters: elements of the values with role param. O(values). */
int64_t plim_graph_parameters(const plim_graph *graph);

/* Write the starting contents of a parameter or state. Weights are normal numbers by Philox, keyed by (seed, value
 * name). Biases, velocities and running means are 0; scales and running variances are 1. Weights of convolutions and
 * linear layers have the deviation sqrt(2 / fan-in) (He). Those of the linear layer that feeds the loss have 0.01, so
 * that training starts from even odds and a loss of ln(classes). Nets over tokens have other deviations (init.c).
 *   host  [value.bytes]  out
 * PLIM_EUSAGE: the value has no starting contents, since it is neither a parameter nor a state. O(bytes of the value,
 * and ops). Deterministic; does not depend on layout or batch. */
PLIM_MUST_USE plim_status plim_net_init(const plim_graph *graph, int32_t value, uint64_t seed, void *host);

#ifdef __cplusplus
}
#endif
#endif

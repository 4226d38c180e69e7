/* Layers -> graph. A net is a description; it yields a training step (forward, backward, SGD updates) or an
 * evaluation step with the same persistent storages in the same order.
 *
 * Standard value names: "image" or "tokens", and "label" (inputs), "hyper" (input: plim_rate_schedule_hyper),
 * "next_image" or "next_tokens", and "next_label" (staging), "loss" and "hits" (outputs). A parameter p has
 * "p.velocity" (state), or with Adam "p.first" and "p.second"; a batch norm b has "b.affine" (param [2,C]) and
 * "b.running" (state [2,C]). In a step of several micro-batches, what number m makes ends in "@m". */
#ifndef PLIM_RUNTIME_NET_NET_H
#define PLIM_RUNTIME_NET_NET_H

#include "runtime/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_net plim_net;
/* Handle of a layer's output; -1 once the net has failed (the error surfaces at the end). */
typedef int32_t plim_tensor;

/* How parameters are updated; each is a kind of op (kernels/op.h). sgd has momentum. */
#define PLIM_OPTIMIZERS(X) X(SGD, "sgd") X(ADAM, "adam") X(ADAMW, "adamw")
#define PLIM_X(id, name) PLIM_OPTIMIZER_##id,
typedef enum plim_optimizer { PLIM_OPTIMIZERS(PLIM_X) PLIM_OPTIMIZER_COUNT } plim_optimizer;
#undef PLIM_X
/* Name of row i of the optimizers, a static string; NULL for a row that is not there. */
const char *plim_optimizer_name(int32_t row);

typedef struct plim_net_options {
  size_t struct_bytes; /* sizeof(plim_net_options) */
  int32_t batch, channels, height, width, classes;
  int32_t staging_batch;                /* images of the staged next batch; 0: batch */
  plim_layout layout;                   /* of rank-4 activations; where channels do not suit a blocked layout: NHWC.
                                         * The image as floats is NHWC beside NHWC, else flat. */
  float pixel_scale[4], pixel_shift[4]; /* the image op, by channel */
  plim_precision math;                  /* bf16: casts of weights are ops; tf32: only some devices have it */
  plim_optimizer optimizer;
  int32_t clip; /* 1: updates wait for the global norm of all gradients, which "hyper" bounds; not with sgd */
  /* > 0: the input is tokens, a batch is sequences of `context` tokens, and classes are the words of the vocabulary;
   * height, width and channels are not read */
  int32_t context;
  int32_t layers, units, heads; /* of the model gpt: blocks, width of a token, heads of attention */
  /* A step is so many micro-batches of batch / accumulate each, 1 to PLIM_ACCUMULATE_MOST, and one update by the mean
   * of their gradients. "loss" is the mean over the batch. Statistics of a batch norm are of a micro-batch. */
  int32_t accumulate;
  plim_dtype states; /* of updates: f32, or bf16, rounded to nearest, ties to even, when it is stored */
} plim_net_options;
enum { PLIM_ACCUMULATE_MOST = 1024 };
plim_net_options plim_net_options_default(void);

/* An empty net; `name` is copied. PLIM_EUSAGE: options that are not allowed. The context must outlive the net. */
PLIM_MUST_USE plim_status plim_net_begin(plim_context *ctx, const char *name, const plim_net_options *options,
                                         plim_net **out);
void plim_net_free(plim_net *net); /* NULL is legal */

/* Layers, each with its output's handle. Names must be unique and are copied. The first failure is kept, and returned
 * when a graph is made. A net belongs to the thread of its context. Shapes, with x [N][C][H][W], N images of a
 * micro-batch, and positive sizes:
 *   conv2d           [N][filters][(H + 2 pad - kernel) / stride + 1][the same of W]; bias 1: adds one by filter
 *   depthwise_conv2d  the same with C channels, each with a filter of its own; a kernel of at most 32
 *   conv_transpose2d  [N][filters][(H - 1) stride + kernel - 2 pad][the same of W]
 *   max_pool, avg_pool  as a convolution, with C channels
 *   global_avg_pool  [N][C]
 *   linear           [N][units], of x [N][features]; with bias
 *   batch_norm, relu, add, dropout  the shape of x; operands of add have equal shapes
 * `drop` is the probability of a zero, in [0, 1). */
plim_tensor plim_net_image(plim_net *net); /* the input batch as f32 or bf16 */
plim_tensor plim_net_conv2d(plim_net *net, const char *name, plim_tensor x, int filters, int kernel, int stride,
                            int pad, int bias);
plim_tensor plim_net_depthwise_conv2d(plim_net *net, const char *name, plim_tensor x, int kernel, int stride, int pad);
plim_tensor plim_net_conv_transpose2d(plim_net *net, const char *name, plim_tensor x, int filters, int kernel,
                                      int stride, int pad);
plim_tensor plim_net_batch_norm(plim_net *net, const char *name, plim_tensor x);
plim_tensor plim_net_batch_norm_relu(plim_net *net, const char *name, plim_tensor x);
/* relu(batch_norm(x) + shortcut) in one op */
plim_tensor plim_net_batch_norm_add_relu(plim_net *net, const char *name, plim_tensor x, plim_tensor shortcut);
plim_tensor plim_net_relu(plim_net *net, const char *name, plim_tensor x);
plim_tensor plim_net_add(plim_net *net, const char *name, plim_tensor a, plim_tensor b);
plim_tensor plim_net_add_relu(plim_net *net, const char *name, plim_tensor a, plim_tensor b);
plim_tensor plim_net_max_pool(plim_net *net, const char *name, plim_tensor x, int kernel, int stride, int pad);
plim_tensor plim_net_avg_pool(plim_net *net, const char *name, plim_tensor x, int kernel, int stride, int pad);
plim_tensor plim_net_global_avg_pool(plim_net *net, const char *name, plim_tensor x);
plim_tensor plim_net_flatten(plim_net *net, const char *name, plim_tensor x); /* a view [N, C*H*W], memory order */
plim_tensor plim_net_linear(plim_net *net, const char *name, plim_tensor x, int units);
plim_tensor plim_net_dropout(plim_net *net, const char *name, plim_tensor x, float drop);
/* A layer of any kind of class pure whose row has shape rules for its outputs and gradients: built-in or a program's
 * own (plim_op_kind_add). Operands are the tensors [n_in], then the parameters [n_params, at most 3], whose sizes
 * `param` has; the layer's tensor is the first output. `attrs` NULL: none. Operand o of layer L is the parameter "L.o".
 * It starts with small normal numbers, ones or zeros, as the row's contents say: weights, ones, or else. */
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

/* The training step: forward, backward, and for each parameter one update right after its gradient and the last reader
 * of its old value; with `clip` after all gradients. The evaluation step: forward with running statistics, "loss" and
 * "hits". The net stays as it is.
 *   out  [1]  out  free with plim_graph_free; it does not need the net
 * The first failure of a layer: PLIM_EUSAGE, PLIM_ENOMEM or another. PLIM_EUSAGE: the net has no loss. O(layers).
 * Deterministic. */
PLIM_MUST_USE plim_status plim_net_train_graph(const plim_net *net, plim_graph **out);
PLIM_MUST_USE plim_status plim_net_eval_graph(const plim_net *net, plim_graph **out);

/* Built-in models: "mlp", "resnet18", "resnet34", "resnet20", "resnet32", "resnet56", "resnet50", "tinyres", "vgg16",
 * "densenet121", "mobilenet", "unet", "gpt" (over tokens). Sources: models.c.
 *   out  [1]  out  complete with its loss; free with plim_net_free
 * PLIM_EUSAGE: no model has that name (the sentence has the nearest), or options that are not allowed. PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_model_make(plim_context *ctx, const char *model, const plim_net_options *options,
                                          plim_net **out);
/* Name of row i of the models (0, 1, ...), a static string; NULL for a row that is not there. */
const char *plim_model_name(int32_t row);

/* Number of trained parameters: elements of the values with role param. O(values). */
int64_t plim_graph_parameters(const plim_graph *graph);

/* Starting contents of a parameter or state: normal weights by Philox keyed by (seed, value name), zero biases,
 * velocity and running means, unit scales and running variances. Weights of convolutions and linear layers have the
 * deviation sqrt(2 / fan-in) (He); those of the linear layer that feeds the loss 0.01, so that training starts
 * from even odds and a loss of ln(classes).
 *   host  [value.bytes]  out
 * PLIM_EUSAGE for a value that is neither. Deterministic; does not depend on layout or batch. */
PLIM_MUST_USE plim_status plim_net_init(const plim_graph *graph, int32_t value, uint64_t seed, void *host);

#ifdef __cplusplus
}
#endif
#endif

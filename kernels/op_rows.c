/* The table of op kinds: everything that is to be said of a kind, in one place. docs/ops.md shows it.
 *
 * Operands without a fixed type are f32 or bf16. Sums, statistics, parameters and gradients of parameters are always
 * f32. Of updates that type is the states', which are rounded on their way to memory alone. Sizes: N images, C
 * channels; I inputs and O outputs of a product; H W of what windows lie on, P Q of what has an element a window (of a
 * transposed convolution that is x); R S of a window; K classes; B sequences of T tokens, H heads, V words. In-place
 * pairs stand only where the kernels read an element before they write it. */
#include "kernels/op_rows.h"

#include <stddef.h>

/* ---- attributes, in the order of documents ---- */

#define AT(field) offsetof(plim_attrs, field)
const plim_attr plim_builtin_attrs[] = {
    {"kernel", PLIM_ATTR_INT32, 2, AT(kernel), INT32_MAX, 1},
    {"stride", PLIM_ATTR_INT32, 2, AT(stride), INT32_MAX, 1},
    {"pad", PLIM_ATTR_INT32, 2, AT(pad), INT32_MAX, 1},
    {"relu", PLIM_ATTR_INT32, 1, AT(relu), 1, 1},
    {"add", PLIM_ATTR_INT32, 1, AT(add), 1, 1},
    {"tf32", PLIM_ATTR_INT32, 1, AT(tf32), 1, 1},
    {"eps", PLIM_ATTR_FLOAT, 1, AT(eps), 0, 1},
    {"momentum", PLIM_ATTR_FLOAT, 1, AT(momentum), 0, 1},
    {"drop", PLIM_ATTR_FLOAT, 1, AT(drop), 0, 1},
    {"count", PLIM_ATTR_INT64, 1, AT(count), INT64_MAX, 1},
    {"scale", PLIM_ATTR_FLOAT, 4, AT(scale), 0, 1},
    {"shift", PLIM_ATTR_FLOAT, 4, AT(shift), 0, 1},
    {"decay", PLIM_ATTR_INT32, 1, AT(decay), 1, 5},
    {NULL, PLIM_ATTR_INT32, 0, 0, 0, 0},
};

/* ---- operands ---- */

/* NAME(name, type, shape, ...). Types: 't' the op's own, f32 or bf16; 'f' f32, 'h' bf16, 'i' i32, 'u' u8, 'b' a bit an
 * element. Shapes: kernels/op.h, plim_op_operand. Where no type is given, it is 't' (of indices 'i', of positions 'u').
 * What the profiler writes into an operand is normal numbers, unless its macro says something else. */
/* clang-format off */
#define OPERAND(n, t, s) .name = (n), .type = (t), .shape = (s)
#define TENSOR(n, t, s) {OPERAND(n, t, s)}                    /* there in every op */
#define MAYBE(n, t, s) {OPERAND(n, t, s), .optional = 1}      /* may be left out, with all after it */
#define MANY(n, t, s) {OPERAND(n, t, s), .many = 1}           /* one or more of it */
#define STRIDED(n, s) {OPERAND(n, 't', s), .strided = 1}      /* may have any strides */
#define MOVES(n, s, m) {OPERAND(n, 't', s), .moves = (m)}     /* the op reads m elements, where those are fewer */
#define WITH(n, t, s, c) {OPERAND(n, t, s), .contents = (c)}  /* the profiler writes c, as the next three say */
#define ONES(n, t, s) WITH(n, t, s, PLIM_CONTENTS_ONES)
#define WEIGHTS(n, s) WITH(n, 't', s, PLIM_CONTENTS_WEIGHTS)
#define POSITIONS(n, s) WITH(n, 'u', s, PLIM_CONTENTS_POSITIONS)
#define STRIDED_WEIGHTS(n, s) {OPERAND(n, 't', s), .strided = 1, .contents = PLIM_CONTENTS_WEIGHTS}
#define INDICES(n, s, size) {OPERAND(n, 'i', s), .contents = PLIM_CONTENTS_INDICES, .below = (size)}
#define TYPICAL(n, s, values) \
  {OPERAND(n, 'f', s), .contents = PLIM_CONTENTS_TYPICAL, .typical = (values), \
   .n_typical = (int32_t)(sizeof(values) / sizeof((values)[0]))}
/* clang-format on */

static const float sgd_hyper[] = {0.01F, 0.9F, 1e-4F, 0, 0, 0, 0, 1};
static const float adam_hyper[] = {0.001F, 0.9F, 0.1F, 0.95F, 1e-8F, 0.1F, 0.05F, 1};

/* Only a norm to be bounded needs the last of 8 numbers. */
static int hyper_fits(const plim_op_desc *op) {
  return op->in[1].dim[0] == (op->n_in > 2 ? 8 : 4);
}

/* There is a mask only where there is a ReLU. */
static int mask_of_relu(const plim_op_desc *op) {
  return op->n_out <= (op->attrs.relu ? 2 : 1);
}

static int drop_fits(const plim_op_desc *op) {
  return op->attrs.drop >= 0 && op->attrs.drop < 1;
}

static int heads_divide(const plim_shape *y, const plim_shape *lse) {
  return lse->dim[2] > 0 && y->dim[2] % lse->dim[2] == 0;
}
static int heads_forward(const plim_op_desc *op) {
  return heads_divide(&op->out[0], &op->out[1]);
}
static int heads_backward(const plim_op_desc *op) {
  return heads_divide(&op->in[2], &op->in[3]);
}

/* 1 when y has a place for each window on x, and each window covers at least one position of x and has at most
 * PLIM_WINDOW_PLACES. Numbers of images and channels are not looked at. */
static int windows_fit(const plim_attrs *a, const plim_shape *x, const plim_shape *y) {
  if ((int64_t)a->kernel[0] * a->kernel[1] > PLIM_WINDOW_PLACES) return 0;
  for (int i = 0; i < 2; i++) {
    const int64_t kernel = a->kernel[i], stride = a->stride[i], pad = a->pad[i];
    if (kernel < 1 || stride < 1 || pad < 0 || pad >= kernel || x->dim[2 + i] + 2 * pad < kernel) return 0;
    if (y->dim[2 + i] != (x->dim[2 + i] + 2 * pad - kernel) / stride + 1) return 0;
  }
  return 1;
}
static int windows_forward(const plim_op_desc *op) {
  return windows_fit(&op->attrs, &op->in[0], &op->out[0]);
}
static int windows_backward(const plim_op_desc *op) {
  return windows_fit(&op->attrs, &op->out[0], &op->in[0]);
}
static int windows_weights(const plim_op_desc *op) {
  return windows_fit(&op->attrs, &op->in[1], &op->in[0]);
}

/* The same, with a filter of that size that is not too large for the kernels. */
_Static_assert(PLIM_DEPTHWISE_TAPS == 1024, "the line about depthwise_conv2d has the number");
static int filter_fits(const plim_attrs *a, const plim_shape *w) {
  return a->kernel[0] == w->dim[2] && a->kernel[1] == w->dim[3] && w->dim[2] * w->dim[3] <= PLIM_DEPTHWISE_TAPS;
}
static int depthwise_forward(const plim_op_desc *op) {
  return windows_forward(op) && filter_fits(&op->attrs, &op->in[1]);
}
static int depthwise_backward(const plim_op_desc *op) {
  return windows_backward(op) && filter_fits(&op->attrs, &op->in[1]);
}
static int depthwise_weights(const plim_op_desc *op) {
  return windows_weights(op) && filter_fits(&op->attrs, &op->out[0]);
}

/* Rows lie one after the other in flat layouts alone. */
static int all_flat(const plim_op_desc *op) {
  int flat = 1;
  for (int32_t i = 0; i < op->n_in; i++) flat &= op->in[i].layout == PLIM_FLAT;
  for (int32_t i = 0; i < op->n_out; i++) flat &= op->out[i].layout == PLIM_FLAT;
  return flat;
}

/* ---- the kinds ---- */

/* A row: KIND(NUMBER, "name", VERSION, fields). NUMBER stands for PLIM_OP_NUMBER. VERSION is that of the first graph
 * format with the kind. The fields in use, of all in plim_op_row (kernels/op.h):
 *
 *   .doc              what the op computes
 *   .in, .out, .upd   operands that it reads, writes and updates, each by a macro of the section above
 *   .cls              pure when it is left out
 *   .attrs            names of its attributes
 *   .flops            a product of sizes; when it is left out, 4 for each element of the largest operand
 *   .check            a function above, for what shapes cannot say
 *   IN_PLACE({o, i})  output o may be written over input i
 *   .gradient         BY(inputs, NUMBER, operands): the gradients of those inputs are the outputs of an op of kind
 *                     NUMBER, which reads those operands. dNAME is the gradient of NAME, and NAME? an operand that may
 *                     be absent. With CUSTOM there is no such op: the gradient is the operand itself */
#define KIND(number, text, since, ...) \
  [PLIM_OP_##number] = {.struct_bytes = sizeof(plim_op_row), .name = (text), .version = (since), __VA_ARGS__}
#define IN_PLACE(...) \
  .n_pairs = (int32_t)(sizeof((plim_pair[]){__VA_ARGS__}) / sizeof(plim_pair)), .pair = {__VA_ARGS__}

/* clang-format off */
#define BY(inputs, number, operands) {inputs, PLIM_OP_##number, operands}

const plim_op_row plim_builtin_rows[PLIM_OP_KIND_COUNT] = {
    KIND(CUSTOM, "custom", 1,
         .doc = "whatever the program says that made the graph; class, pairs and time are those of the graph"),

    KIND(IMAGE, "image", 1,
         .doc = "y = image * scale + shift, by channel; the image lies in NHWC",
         .in  = {TENSOR("image", 'u', "N C H W")},
         .out = {TENSOR("y", 't', "N C H W")},
         .attrs = "scale shift"),

    KIND(CONV2D, "conv2d", 1,
         .doc = "y = x convolved with w [+ bias]",
         .in  = {MOVES("x", "N I H W", "N I P Q R S"), WEIGHTS("w", "O I R S"), MAYBE("bias", 'f', "O")},
         .out = {TENSOR("y", 't', "N O P Q")},
         .attrs = "kernel stride pad tf32", .flops = "2 N O P Q I R S", .check = windows_forward,
         .gradient = {BY("bias", BIAS_BWD, "dy"), BY("w", CONV2D_BWD_WEIGHTS, "dy x"),
                      BY("x", CONV2D_BWD_DATA, "dy w")}),

    KIND(CONV2D_BWD_DATA, "conv2d_bwd_data", 1,
         .doc = "gradient of a convolution by x",
         .in  = {TENSOR("dy", 't', "N O P Q"), WEIGHTS("w", "O I R S")},
         .out = {TENSOR("dx", 't', "N I H W")},
         .attrs = "kernel stride pad tf32", .flops = "2 N O P Q I R S", .check = windows_backward),

    KIND(CONV2D_BWD_WEIGHTS, "conv2d_bwd_weights", 1,
         .doc = "gradient of a convolution by w",
         .in  = {TENSOR("dy", 't', "N O P Q"), MOVES("x", "N I H W", "N I P Q R S")},
         .out = {TENSOR("dw", 'f', "O I R S")},
         .attrs = "kernel stride pad tf32", .flops = "2 N O P Q I R S", .check = windows_weights),

    KIND(LINEAR, "linear", 1,
         .doc = "y = x times w transposed [+ bias]",
         .in  = {TENSOR("x", 't', "N I"), WEIGHTS("w", "O I"), MAYBE("bias", 'f', "O")},
         .out = {TENSOR("y", 't', "N O")},
         .attrs = "tf32", .flops = "2 N O I",
         .gradient = {BY("bias", BIAS_BWD, "dy"), BY("w", LINEAR_BWD_WEIGHTS, "dy x"),
                      BY("x", LINEAR_BWD_DATA, "dy w")}),

    KIND(LINEAR_BWD_DATA, "linear_bwd_data", 1,
         .doc = "dx = dy times w",
         .in  = {TENSOR("dy", 't', "N O"), WEIGHTS("w", "O I")},
         .out = {TENSOR("dx", 't', "N I")},
         .attrs = "tf32", .flops = "2 N O I"),

    KIND(LINEAR_BWD_WEIGHTS, "linear_bwd_weights", 1,
         .doc = "dw = dy transposed times x",
         .in  = {TENSOR("dy", 't', "N O"), TENSOR("x", 't', "N I")},
         .out = {TENSOR("dw", 'f', "O I")},
         .attrs = "tf32", .flops = "2 N O I"),

    KIND(BIAS_BWD, "bias_bwd", 1,
         .doc = "sums of dy by channel",
         .in  = {TENSOR("dy", 't', "N C ...")},
         .out = {TENSOR("dbias", 'f', "C")}),

    KIND(BN_STATS, "bn_stats", 1,
         .doc = "mean and biased variance by channel",
         .in  = {TENSOR("x", 't', "N C ...")},
         .out = {TENSOR("stats", 'f', "2 C")}),

    KIND(BN_APPLY, "bn_apply", 1,
         .doc = "y = (x - mean) / sqrt(variance + eps) * scale + shift [+ residual: attrs.add], clamped at 0: "
                "attrs.relu; affine has scale and shift, the mask a bit for each y but 0. With a residual dy is "
                "masked before",
         .in  = {TENSOR("x", 't', "N C ..."), ONES("stats", 'f', "2 C"), TENSOR("affine", 'f', "2 C"),
                 MAYBE("residual", 't', "N C ...")},
         .out = {TENSOR("y", 't', "N C ..."), MAYBE("mask", 'b', "N C ...")},
         .attrs = "relu add eps", IN_PLACE({0, 0}, {0, 3}),
         .gradient = {BY("affine", BN_BWD_REDUCE, "dy x stats mask?"),
                      BY("x", BN_BWD_APPLY, "dy x stats affine daffine mask?")}),

    KIND(BN_RUNNING, "bn_running", 1,
         .doc = "running += momentum * (stats - running), with the variance of attrs.count elements unbiased",
         .in  = {ONES("stats", 'f', "2 C")},
         .upd = {TENSOR("running", 'f', "2 C")},
         .cls = PLIM_OP_EFFECT, .attrs = "momentum count"),

    KIND(BN_BWD_REDUCE, "bn_bwd_reduce", 1,
         .doc = "gradients of scale and shift; attrs.relu: dy counts where the mask is set",
         .in  = {TENSOR("dy", 't', "N C ..."), TENSOR("x", 't', "N C ..."), ONES("stats", 'f', "2 C"),
                 MAYBE("mask", 'b', "N C ...")},
         .out = {TENSOR("daffine", 'f', "2 C")},
         .attrs = "relu eps"),

    KIND(BN_BWD_APPLY, "bn_bwd_apply", 1,
         .doc = "gradient of a batch norm by x; attrs.relu: dy counts where the mask is set",
         .in  = {TENSOR("dy", 't', "N C ..."), TENSOR("x", 't', "N C ..."), ONES("stats", 'f', "2 C"),
                 TENSOR("affine", 'f', "2 C"), TENSOR("daffine", 'f', "2 C"), MAYBE("mask", 'b', "N C ...")},
         .out = {TENSOR("dx", 't', "N C ...")},
         .attrs = "relu eps", IN_PLACE({0, 0}, {0, 1})),

    KIND(RELU, "relu", 1,
         .doc = "y = x clamped at 0; the mask has a bit for each y but 0",
         .in  = {TENSOR("x", 't', "...")},
         .out = {TENSOR("y", 't', "..."), MAYBE("mask", 'b', "...")},
         .attrs = "relu", IN_PLACE({0, 0}),
         .gradient = {BY("x", RELU_BWD, "mask dy")}),

    KIND(RELU_BWD, "relu_bwd", 1,
         .doc = "dx = dy [+ dy2] where the mask is set, else 0",
         .in  = {TENSOR("mask", 'b', "..."), TENSOR("dy", 't', "..."), MAYBE("dy2", 't', "...")},
         .out = {TENSOR("dx", 't', "...")},
         IN_PLACE({0, 1}, {0, 2})),

    KIND(ADD, "add", 1,
         .doc = "y = a + b, clamped at 0: attrs.relu. Then the mask has a bit for each y but 0, and dy is masked "
                "before",
         .in  = {TENSOR("a", 't', "..."), TENSOR("b", 't', "...")},
         .out = {TENSOR("y", 't', "..."), MAYBE("mask", 'b', "...")},
         .attrs = "relu", .check = mask_of_relu, IN_PLACE({0, 0}, {0, 1}),
         .gradient = {BY("a", CUSTOM, "dy"), BY("b", CUSTOM, "dy")}),

    KIND(MAX_POOL, "max_pool", 1,
         .doc = "largest element of each window, and its position in the window",
         .in  = {TENSOR("x", 't', "N C H W")},
         .out = {TENSOR("y", 't', "N C P Q"), TENSOR("index", 'u', "N C P Q")},
         .attrs = "kernel stride pad", .check = windows_forward,
         .gradient = {BY("x", MAX_POOL_BWD, "dy index")}),

    KIND(MAX_POOL_BWD, "max_pool_bwd", 1,
         .doc = "gradient of max_pool",
         .in  = {TENSOR("dy", 't', "N C P Q"), POSITIONS("index", "N C P Q")},
         .out = {TENSOR("dx", 't', "N C H W")},
         .attrs = "kernel stride pad", .check = windows_backward),

    KIND(AVG_POOL, "avg_pool", 1,
         .doc = "mean of each window, in which padding counts as zeros",
         .in  = {TENSOR("x", 't', "N C H W")},
         .out = {TENSOR("y", 't', "N C P Q")},
         .attrs = "kernel stride pad", .check = windows_forward,
         .gradient = {BY("x", AVG_POOL_BWD, "dy")}),

    KIND(AVG_POOL_BWD, "avg_pool_bwd", 1,
         .doc = "gradient of avg_pool",
         .in  = {TENSOR("dy", 't', "N C P Q")},
         .out = {TENSOR("dx", 't', "N C H W")},
         .attrs = "kernel stride pad", .check = windows_backward),

    KIND(GLOBAL_AVG_POOL, "global_avg_pool", 1,
         .doc = "mean of each channel of an image",
         .in  = {TENSOR("x", 't', "N C H W")},
         .out = {TENSOR("y", 't', "N C")},
         .gradient = {BY("x", GLOBAL_AVG_POOL_BWD, "dy")}),

    KIND(GLOBAL_AVG_POOL_BWD, "global_avg_pool_bwd", 1,
         .doc = "gradient of global_avg_pool",
         .in  = {TENSOR("dy", 't', "N C")},
         .out = {TENSOR("dx", 't', "N C H W")}),

    KIND(DROPOUT, "dropout", 1,
         .doc = "y = x / (1 - drop) where the mask is set, else 0; a bit of the mask is set with probability 1 - "
                "drop",
         .in  = {TENSOR("x", 't', "...")},
         .out = {TENSOR("y", 't', "..."), TENSOR("mask", 'b', "...")},
         .cls = PLIM_OP_RANDOM, .attrs = "drop", .check = drop_fits, IN_PLACE({0, 0}),
         .gradient = {BY("x", DROPOUT_BWD, "dy mask")}),

    KIND(DROPOUT_BWD, "dropout_bwd", 1,
         .doc = "dx = dy / (1 - drop) where the mask is set, else 0",
         .in  = {TENSOR("dy", 't', "..."), TENSOR("mask", 'b', "...")},
         .out = {TENSOR("dx", 't', "...")},
         .attrs = "drop", .check = drop_fits, IN_PLACE({0, 0})),

    KIND(SOFTMAX_XENT, "softmax_xent", 1,
         .doc = "mean cross entropy over labels >= 0 (-1: ignored), labels hit and counted, and the softmax",
         .in  = {TENSOR("logits", 't', "N K"), INDICES("label", "N", "K")},
         .out = {TENSOR("loss", 'f', "1"), TENSOR("hits", 'i', "2"), TENSOR("prob", 'f', "N K")},
         IN_PLACE({2, 0}),
         .gradient = {BY("logits", SOFTMAX_XENT_BWD, "prob label")}),

    KIND(SOFTMAX_XENT_BWD, "softmax_xent_bwd", 1,
         .doc = "gradient of softmax_xent",
         .in  = {TENSOR("prob", 'f', "N K"), INDICES("label", "N", "K")},
         .out = {TENSOR("dlogits", 't', "N K")},
         IN_PLACE({0, 0})),

    KIND(SGD, "sgd", 1,
         .doc = "velocity = momentum * velocity + (grad + decay * param); param -= rate * velocity; without a "
                "velocity param -= rate * (grad + decay * param). hyper has rate, momentum, decay, 0. With "
                "squares, hyper has the 8 numbers of adam, and grad is clipped",
         .in  = {TENSOR("grad", 'f', "..."), TYPICAL("hyper", "H", sgd_hyper), MAYBE("squares", 'f', "1")},
         .upd = {TENSOR("param", 'f', "..."), MAYBE("velocity", 't', "...")},
         .cls = PLIM_OP_EFFECT, .check = hyper_fits),

    KIND(CAST, "cast", 1,
         .doc = "y = x rounded to bf16",
         .in  = {TENSOR("x", 'f', "...")},
         .out = {TENSOR("y", 'h', "...")}),

    KIND(GELU, "gelu", 5,
         .doc = "y = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))",
         .in  = {TENSOR("x", 't', "...")},
         .out = {TENSOR("y", 't', "...")},
         IN_PLACE({0, 0}),
         .gradient = {BY("x", GELU_BWD, "dy x")}),

    KIND(GELU_BWD, "gelu_bwd", 5,
         .doc = "gradient of gelu",
         .in  = {TENSOR("dy", 't', "..."), TENSOR("x", 't', "...")},
         .out = {TENSOR("dx", 't', "...")},
         IN_PLACE({0, 0}, {0, 1})),

    KIND(SILU, "silu", 5,
         .doc = "y = x / (1 + exp(-x))",
         .in  = {TENSOR("x", 't', "...")},
         .out = {TENSOR("y", 't', "...")},
         IN_PLACE({0, 0}),
         .gradient = {BY("x", SILU_BWD, "dy x")}),

    KIND(SILU_BWD, "silu_bwd", 5,
         .doc = "gradient of silu",
         .in  = {TENSOR("dy", 't', "..."), TENSOR("x", 't', "...")},
         .out = {TENSOR("dx", 't', "...")},
         IN_PLACE({0, 0}, {0, 1})),

    KIND(LAYER_NORM, "layer_norm", 5,
         .doc = "y = (x - mean) / sqrt(variance + eps) * scale + shift, by row; affine has scale, shift",
         .in  = {TENSOR("x", 't', "N C"), TENSOR("affine", 'f', "2 C")},
         .out = {TENSOR("y", 't', "N C")},
         .attrs = "eps", IN_PLACE({0, 0}),
         .gradient = {BY("x affine", LAYER_NORM_BWD, "dy x affine")}),

    KIND(LAYER_NORM_BWD, "layer_norm_bwd", 5,
         .doc = "gradients of layer_norm; statistics are recomputed",
         .in  = {TENSOR("dy", 't', "N C"), TENSOR("x", 't', "N C"), TENSOR("affine", 'f', "2 C")},
         .out = {TENSOR("dx", 't', "N C"), TENSOR("daffine", 'f', "2 C")},
         .attrs = "eps", IN_PLACE({0, 0}, {0, 1})),

    KIND(RMS_NORM, "rms_norm", 5,
         .doc = "y = x / sqrt(mean of x^2 + eps) * scale, by row",
         .in  = {TENSOR("x", 't', "N C"), TENSOR("scale", 'f', "C")},
         .out = {TENSOR("y", 't', "N C")},
         .attrs = "eps", IN_PLACE({0, 0}),
         .gradient = {BY("x scale", RMS_NORM_BWD, "dy x scale")}),

    KIND(RMS_NORM_BWD, "rms_norm_bwd", 5,
         .doc = "gradients of rms_norm; the mean is recomputed",
         .in  = {TENSOR("dy", 't', "N C"), TENSOR("x", 't', "N C"), TENSOR("scale", 'f', "C")},
         .out = {TENSOR("dx", 't', "N C"), TENSOR("dscale", 'f', "C")},
         .attrs = "eps", IN_PLACE({0, 0}, {0, 1})),

    KIND(EMBEDDING, "embedding", 5,
         .doc = "y = row of words by token [+ row of positions by place in the sequence]; zeros for a token that "
                "is no word",
         .in  = {INDICES("token", "B T", "V"), {OPERAND("words", 'f', "V C"), .moves = "B T C"},
                 MAYBE("positions", 'f', "T C")},
         .out = {TENSOR("y", 't', "B T C")},
         .gradient = {BY("words positions?", EMBEDDING_BWD, "dy token")}),

    KIND(EMBEDDING_BWD, "embedding_bwd", 5,
         .doc = "gradients of embedding, each a sum in the order of tokens [+ before, the gradient by another "
                "reader of words]",
         .in  = {TENSOR("dy", 't', "B T C"), INDICES("token", "B T", "V"), MAYBE("before", 'f', "V C")},
         .out = {TENSOR("dwords", 'f', "V C"), MAYBE("dpositions", 'f', "T C")},
         IN_PLACE({0, 2})),

    KIND(ATTENTION, "attention", 5,
         .doc = "causal attention by heads, of queries, keys and values side by side, of a token [3][H][D], C = H D; "
                "lse is the logarithm of the sum over keys of exp(score)",
         .in  = {TENSOR("qkv", 't', "B T 3C")},
         .out = {TENSOR("y", 't', "B T C"), TENSOR("lse", 'f', "B T H")},
         .flops = "2 B T T C", .check = heads_forward,
         .gradient = {BY("qkv", ATTENTION_BWD, "dy qkv y lse")}),

    KIND(ATTENTION_BWD, "attention_bwd", 5,
         .doc = "gradient of attention; scores are recomputed",
         .in  = {TENSOR("dy", 't', "B T C"), TENSOR("qkv", 't', "B T 3C"), TENSOR("y", 't', "B T C"),
                 TENSOR("lse", 'f', "B T H")},
         .out = {TENSOR("dqkv", 't', "B T 3C")},
         .flops = "5 B T T C", .check = heads_backward),

    KIND(LINEAR_XENT, "linear_xent", 5,
         .doc = "mean cross entropy of logits x times w transposed over labels >= 0 (-1: ignored), by blocks of "
                "words; labels hit and counted; lse is the logarithm of the sum of exp(logit)",
         .in  = {TENSOR("x", 't', "N C"), INDICES("label", "N", "V"), WEIGHTS("w", "V C")},
         .out = {TENSOR("loss", 'f', "1"), TENSOR("hits", 'i', "2"), TENSOR("lse", 'f', "N")},
         .flops = "2 N V C",
         .gradient = {BY("x w", LINEAR_XENT_BWD, "x label w lse")}),

    KIND(LINEAR_XENT_BWD, "linear_xent_bwd", 5,
         .doc = "gradients of linear_xent; logits are recomputed",
         .in  = {TENSOR("x", 't', "N C"), INDICES("label", "N", "V"), WEIGHTS("w", "V C"), TENSOR("lse", 'f', "N")},
         .out = {TENSOR("dx", 't', "N C"), TENSOR("dw", 'f', "V C")},
         .flops = "8 N V C"),

    KIND(ADAM, "adam", 5,
         .doc = "Adam: param -= rate * mean / (sqrt(mean of squares) + epsilon) of grad + decay * param; hyper "
                "has rate, beta1, decay, beta2, epsilon, 1 - beta1^t, 1 - beta2^t, largest norm. With squares, "
                "grad is clipped",
         .in  = {TENSOR("grad", 'f', "..."), TYPICAL("hyper", "8", adam_hyper), MAYBE("squares", 'f', "1")},
         .upd = {TENSOR("param", 'f', "..."), TENSOR("first", 't', "..."), TENSOR("second", 't', "...")},
         .cls = PLIM_OP_EFFECT, .attrs = "decay"),

    KIND(ADAMW, "adamw", 5,
         .doc = "as adam, but param shrinks by rate * decay, and decay does not go through the means",
         .in  = {TENSOR("grad", 'f', "..."), TYPICAL("hyper", "8", adam_hyper), MAYBE("squares", 'f', "1")},
         .upd = {TENSOR("param", 'f', "..."), TENSOR("first", 't', "..."), TENSOR("second", 't', "...")},
         .cls = PLIM_OP_EFFECT, .attrs = "decay"),

    KIND(SUM_SQUARES, "sum_squares", 5,
         .doc = "sum of squares of all elements [+ before]",
         .in  = {TENSOR("grad", 'f', "..."), MAYBE("before", 'f', "1")},
         .out = {TENSOR("sum", 'f', "1")}),

    KIND(ACCUMULATE, "accumulate", 5,
         .doc = "y = a + b: sums of gradients over micro-batches. With attrs.count, their mean: (a + b) / count",
         .in  = {TENSOR("a", 'f', "..."), TENSOR("b", 'f', "...")},
         .out = {TENSOR("y", 'f', "...")},
         .attrs = "count", IN_PLACE({0, 0}, {0, 1})),

    KIND(MEAN_LOSS, "mean_loss", 5,
         .doc = "the mean of two mean losses, weighted by the labels that each has counted, and the sums of "
                "labels hit and counted",
         .in  = {TENSOR("a", 'f', "1"), TENSOR("a_hits", 'i', "2"), TENSOR("b", 'f', "1"),
                 TENSOR("b_hits", 'i', "2")},
         .out = {TENSOR("loss", 'f', "1"), TENSOR("hits", 'i', "2")}),

    KIND(CONCAT, "concat", 5,
         .doc = "y = the inputs side by side, by channel",
         .in  = {MANY("x", 't', "N +C ...")},
         .out = {TENSOR("y", 't', "N C ...")},
         .gradient = {BY("x", SPLIT, "dy")}),

    KIND(SPLIT, "split", 5,
         .doc = "the outputs are neighbouring channels of x, in order; the gradient of concat",
         .in  = {TENSOR("x", 't', "N C ...")},
         .out = {MANY("y", 't', "N +C ...")}),

    KIND(DEPTHWISE_CONV2D, "depthwise_conv2d", 5,
         .doc = "each channel of x convolved with a filter of its own, of at most 1,024 taps",
         .in  = {MOVES("x", "N C H W", "N C P Q R S"), WEIGHTS("w", "C 1 R S")},
         .out = {TENSOR("y", 't', "N C P Q")},
         .attrs = "kernel stride pad", .flops = "2 N C P Q R S", .check = depthwise_forward,
         .gradient = {BY("w", DEPTHWISE_CONV2D_BWD_WEIGHTS, "dy x"), BY("x", DEPTHWISE_CONV2D_BWD_DATA, "dy w")}),

    KIND(DEPTHWISE_CONV2D_BWD_DATA, "depthwise_conv2d_bwd_data", 5,
         .doc = "gradient of a depthwise convolution by x",
         .in  = {TENSOR("dy", 't', "N C P Q"), WEIGHTS("w", "C 1 R S")},
         .out = {TENSOR("dx", 't', "N C H W")},
         .attrs = "kernel stride pad", .flops = "2 N C P Q R S", .check = depthwise_backward),

    KIND(DEPTHWISE_CONV2D_BWD_WEIGHTS, "depthwise_conv2d_bwd_weights", 5,
         .doc = "gradient of a depthwise convolution by w",
         .in  = {TENSOR("dy", 't', "N C P Q"), MOVES("x", "N C H W", "N C P Q R S")},
         .out = {TENSOR("dw", 'f', "C 1 R S")},
         .attrs = "kernel stride pad", .flops = "2 N C P Q R S", .check = depthwise_weights),

    KIND(CONV_TRANSPOSE2D, "conv_transpose2d", 5,
         .doc = "transposed convolution: what the gradient of a convolution by its input computes from dy, here "
                "from x",
         .in  = {TENSOR("x", 't', "N I P Q"), WEIGHTS("w", "I O R S")},
         .out = {TENSOR("y", 't', "N O H W")},
         .attrs = "kernel stride pad tf32", .flops = "2 N O P Q I R S", .check = windows_backward,
         .gradient = {BY("w", CONV2D_BWD_WEIGHTS, "x dy"), BY("x", CONV2D, "dy w")}),

    KIND(SOFTMAX, "softmax", 5,
         .doc = "y = exp(x) / sum of exp(x), by row of the last size",
         .in  = {TENSOR("x", 't', "... C")},
         .out = {TENSOR("y", 't', "... C")},
         .check = all_flat, IN_PLACE({0, 0}),
         .gradient = {BY("x", SOFTMAX_BWD, "dy y")}),

    KIND(SOFTMAX_BWD, "softmax_bwd", 5,
         .doc = "dx = y * (dy - sum of dy * y), by row; the gradient of softmax",
         .in  = {TENSOR("dy", 't', "... C"), TENSOR("y", 't', "... C")},
         .out = {TENSOR("dx", 't', "... C")},
         .check = all_flat, IN_PLACE({0, 0}, {0, 1})),

    KIND(MATMUL, "matmul", 5,
         .doc = "y = a times b, a product for each index of the sizes before the last two",
         .in  = {STRIDED("a", "... M K"), STRIDED_WEIGHTS("b", "... K N")},
         .out = {TENSOR("y", 't', "... M N")},
         .attrs = "tf32", .flops = "2 ... M N K", .check = all_flat,
         .gradient = {BY("b", MATMUL_TN, "a dy"), BY("a", MATMUL_NT, "dy b")}),

    KIND(MATMUL_NT, "matmul_nt", 5,
         .doc = "y = a times b transposed, as matmul",
         .in  = {STRIDED("a", "... M K"), STRIDED_WEIGHTS("b", "... N K")},
         .out = {TENSOR("y", 't', "... M N")},
         .attrs = "tf32", .flops = "2 ... M N K", .check = all_flat,
         .gradient = {BY("b", MATMUL_TN, "dy a"), BY("a", MATMUL, "dy b")}),

    KIND(MATMUL_TN, "matmul_tn", 5,
         .doc = "y = a transposed times b, as matmul",
         .in  = {STRIDED("a", "... K M"), STRIDED_WEIGHTS("b", "... K N")},
         .out = {TENSOR("y", 't', "... M N")},
         .attrs = "tf32", .flops = "2 ... M N K", .check = all_flat,
         .gradient = {BY("b", MATMUL, "a dy"), BY("a", MATMUL_NT, "b dy")}),
};
/* clang-format on */

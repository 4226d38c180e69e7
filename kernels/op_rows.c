/* The table of op kinds: everything that is to be said of a kind, in one place. docs/ops.md shows it.
 *
 * Operands without a fixed type are f32 or bf16. Sums, statistics, parameters and gradients of parameters are always
 * f32. Of updates that type is the states', which are rounded on their way to memory alone. Sizes: N images, C
 * channels; I inputs and O outputs of a product; H W of the larger image, P Q of the smaller one (of a transposed
 * convolution that is x); R S of a window; K classes; B sequences of T tokens, H heads, V words. In-place pairs stand
 * only where the kernels read an element before they write it. */
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

#define OPERAND(n, t, s) .name = (n), .type = (t), .shape = (s)
#define TENSOR(n, t, s) \
  { OPERAND(n, t, s) }
#define MAYBE(n, t, s) \
  { OPERAND(n, t, s), .optional = 1 }
#define MANY(n, t, s) \
  { OPERAND(n, t, s), .many = 1 }
#define WITH(n, t, s, c) \
  { OPERAND(n, t, s), .contents = (c) }
#define ONES(n, t, s) WITH(n, t, s, PLIM_CONTENTS_ONES)
#define WEIGHTS(n, s) WITH(n, 't', s, PLIM_CONTENTS_WEIGHTS)
#define STRIDED(n, s) \
  { OPERAND(n, 't', s), .strided = 1 }
#define STRIDED_WEIGHTS(n, s) \
  { OPERAND(n, 't', s), .strided = 1, .contents = PLIM_CONTENTS_WEIGHTS }
#define POSITIONS(n, s) WITH(n, 'u', s, PLIM_CONTENTS_POSITIONS)
#define MOVES(n, s, m) \
  { OPERAND(n, 't', s), .moves = (m) }
#define INDICES(n, s, size) \
  { OPERAND(n, 'i', s), .contents = PLIM_CONTENTS_INDICES, .below = (size) }
#define TYPICAL(n, s, values)                                                        \
  {                                                                                  \
    OPERAND(n, 'f', s), .contents = PLIM_CONTENTS_TYPICAL, .typical = (values),      \
                        .n_typical = (int32_t)(sizeof(values) / sizeof((values)[0])) \
  }

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
  return y->dim[2] % lse->dim[2] == 0;
}
static int heads_forward(const plim_op_desc *op) {
  return heads_divide(&op->out[0], &op->out[1]);
}
static int heads_backward(const plim_op_desc *op) {
  return heads_divide(&op->in[2], &op->in[3]);
}

/* 1 when the smaller image has a place for each window of the larger one, and each window covers at least one position
 * of that and has at most PLIM_WINDOW_PLACES. Numbers of images and channels are not looked at. */
static int windows_fit(const plim_attrs *a, const plim_shape *larger, const plim_shape *smaller) {
  if ((int64_t)a->kernel[0] * a->kernel[1] > PLIM_WINDOW_PLACES) return 0;
  for (int i = 0; i < 2; i++) {
    const int64_t kernel = a->kernel[i], stride = a->stride[i], pad = a->pad[i];
    if (kernel < 1 || stride < 1 || pad < 0 || pad >= kernel || larger->dim[2 + i] + 2 * pad < kernel) return 0;
    if (smaller->dim[2 + i] != (larger->dim[2 + i] + 2 * pad - kernel) / stride + 1) return 0;
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

#define ROW(text) .struct_bytes = sizeof(plim_op_row), .name = (text), .version = 1
#define NEW_ROW(text) .struct_bytes = sizeof(plim_op_row), .name = (text), .version = 5

const plim_op_row plim_builtin_rows[PLIM_OP_KIND_COUNT] =
    {
        [PLIM_OP_CUSTOM] =
            {
                ROW("custom"),
                .doc = "whatever the program says that made the graph; class, pairs and time are those of the graph",
            },

        [PLIM_OP_IMAGE] =
            {
                ROW("image"),
                .in = {TENSOR("image", 'u', "N C H W")},
                .out = {TENSOR("y", 't', "N C H W")},
                .attrs = "scale shift",
                .doc = "y = image * scale + shift, by channel; the image lies in NHWC",
            },

        [PLIM_OP_CONV2D] =
            {
                ROW("conv2d"),
                .in = {MOVES("x", "N I H W", "N I P Q R S"), WEIGHTS("w", "O I R S"), MAYBE("bias", 'f', "O")},
                .out = {TENSOR("y", 't', "N O P Q")},
                .attrs = "kernel stride pad tf32",
                .flops = "2 N O P Q I R S",
                .check = windows_forward,
                .gradient = {{"bias", PLIM_OP_BIAS_BWD, "dy"},
                             {"w", PLIM_OP_CONV2D_BWD_WEIGHTS, "dy x"},
                             {"x", PLIM_OP_CONV2D_BWD_DATA, "dy w"}},
                .doc = "y = x convolved with w [+ bias]",
            },

        [PLIM_OP_CONV2D_BWD_DATA] =
            {
                ROW("conv2d_bwd_data"),
                .in = {TENSOR("dy", 't', "N O P Q"), WEIGHTS("w", "O I R S")},
                .out = {TENSOR("dx", 't', "N I H W")},
                .attrs = "kernel stride pad tf32",
                .flops = "2 N O P Q I R S",
                .check = windows_backward,
                .doc = "gradient of a convolution by x",
            },

        [PLIM_OP_CONV2D_BWD_WEIGHTS] =
            {
                ROW("conv2d_bwd_weights"),
                .in = {TENSOR("dy", 't', "N O P Q"), MOVES("x", "N I H W", "N I P Q R S")},
                .out = {TENSOR("dw", 'f', "O I R S")},
                .attrs = "kernel stride pad tf32",
                .flops = "2 N O P Q I R S",
                .check = windows_weights,
                .doc = "gradient of a convolution by w",
            },

        [PLIM_OP_LINEAR] =
            {
                ROW("linear"),
                .in = {TENSOR("x", 't', "N I"), WEIGHTS("w", "O I"), MAYBE("bias", 'f', "O")},
                .out = {TENSOR("y", 't', "N O")},
                .attrs = "tf32",
                .flops = "2 N O I",
                .gradient = {{"bias", PLIM_OP_BIAS_BWD, "dy"},
                             {"w", PLIM_OP_LINEAR_BWD_WEIGHTS, "dy x"},
                             {"x", PLIM_OP_LINEAR_BWD_DATA, "dy w"}},
                .doc = "y = x times w transposed [+ bias]",
            },

        [PLIM_OP_LINEAR_BWD_DATA] =
            {
                ROW("linear_bwd_data"),
                .in = {TENSOR("dy", 't', "N O"), WEIGHTS("w", "O I")},
                .out = {TENSOR("dx", 't', "N I")},
                .attrs = "tf32",
                .flops = "2 N O I",
                .doc = "dx = dy times w",
            },

        [PLIM_OP_LINEAR_BWD_WEIGHTS] =
            {
                ROW("linear_bwd_weights"),
                .in = {TENSOR("dy", 't', "N O"), TENSOR("x", 't', "N I")},
                .out = {TENSOR("dw", 'f', "O I")},
                .attrs = "tf32",
                .flops = "2 N O I",
                .doc = "dw = dy transposed times x",
            },

        [PLIM_OP_BIAS_BWD] =
            {
                ROW("bias_bwd"),
                .in = {TENSOR("dy", 't', "N C ...")},
                .out = {TENSOR("dbias", 'f', "C")},
                .doc = "sums of dy by channel",
            },

        [PLIM_OP_BN_STATS] =
            {
                ROW("bn_stats"),
                .in = {TENSOR("x", 't', "N C ...")},
                .out = {TENSOR("stats", 'f', "2 C")},
                .doc = "mean and biased variance by channel",
            },

        [PLIM_OP_BN_APPLY] =
            {
                ROW("bn_apply"),
                .in = {TENSOR("x", 't', "N C ..."), ONES("stats", 'f', "2 C"), TENSOR("affine", 'f', "2 C"),
                       MAYBE("residual", 't', "N C ...")},
                .out = {TENSOR("y", 't', "N C ..."), MAYBE("mask", 'b', "N C ...")},
                .attrs = "relu add eps",
                .n_pairs = 2,
                .pair = {{0, 0}, {0, 3}},
                .gradient = {{"affine", PLIM_OP_BN_BWD_REDUCE, "dy x stats mask?"},
                             {"x", PLIM_OP_BN_BWD_APPLY, "dy x stats affine daffine mask?"}},
                .doc = "y = (x - mean) / sqrt(variance + eps) * scale + shift [+ residual: attrs.add], clamped at 0: "
                       "attrs.relu; affine "
                       "has scale and shift, the mask a bit for each y > 0. With a residual dy is masked before",
            },

        [PLIM_OP_BN_RUNNING] =
            {
                ROW("bn_running"),
                .cls = PLIM_OP_EFFECT,
                .in = {ONES("stats", 'f', "2 C")},
                .upd = {TENSOR("running", 'f', "2 C")},
                .attrs = "momentum count",
                .doc = "running += momentum * (stats - running), with the variance of attrs.count elements unbiased",
            },

        [PLIM_OP_BN_BWD_REDUCE] =
            {
                ROW("bn_bwd_reduce"),
                .in = {TENSOR("dy", 't', "N C ..."), TENSOR("x", 't', "N C ..."), ONES("stats", 'f', "2 C"),
                       MAYBE("mask", 'b', "N C ...")},
                .out = {TENSOR("daffine", 'f', "2 C")},
                .attrs = "relu eps",
                .doc = "gradients of scale and shift; attrs.relu: dy counts where the mask is set",
            },

        [PLIM_OP_BN_BWD_APPLY] =
            {
                ROW("bn_bwd_apply"),
                .in = {TENSOR("dy", 't', "N C ..."), TENSOR("x", 't', "N C ..."), ONES("stats", 'f', "2 C"),
                       TENSOR("affine", 'f', "2 C"), TENSOR("daffine", 'f', "2 C"), MAYBE("mask", 'b', "N C ...")},
                .out = {TENSOR("dx", 't', "N C ...")},
                .attrs = "relu eps",
                .n_pairs = 2,
                .pair = {{0, 0}, {0, 1}},
                .doc = "gradient of a batch norm by x; attrs.relu: dy counts where the mask is set",
            },

        [PLIM_OP_RELU] =
            {
                ROW("relu"),
                .in = {TENSOR("x", 't', "...")},
                .out = {TENSOR("y", 't', "..."), MAYBE("mask", 'b', "...")},
                .attrs = "relu",
                .n_pairs = 1,
                .pair = {{0, 0}},
                .gradient = {{"x", PLIM_OP_RELU_BWD, "mask dy"}},
                .doc = "y = x clamped at 0; the mask has a bit for each y > 0",
            },

        [PLIM_OP_RELU_BWD] =
            {
                ROW("relu_bwd"),
                .in = {TENSOR("mask", 'b', "..."), TENSOR("dy", 't', "..."), MAYBE("dy2", 't', "...")},
                .out = {TENSOR("dx", 't', "...")},
                .n_pairs = 2,
                .pair = {{0, 1}, {0, 2}},
                .doc = "dx = dy [+ dy2] where the mask is set, else 0",
            },

        [PLIM_OP_ADD] =
            {
                ROW("add"),
                .in = {TENSOR("a", 't', "..."), TENSOR("b", 't', "...")},
                .out = {TENSOR("y", 't', "..."), MAYBE("mask", 'b', "...")},
                .attrs = "relu",
                .check = mask_of_relu,
                .n_pairs = 2,
                .pair = {{0, 0}, {0, 1}},
                .gradient = {{"a", PLIM_OP_CUSTOM, "dy"}, {"b", PLIM_OP_CUSTOM, "dy"}},
                .doc = "y = a + b, clamped at 0: attrs.relu. Then the mask has a bit for each y > 0, and dy is masked "
                       "before",
            },

        [PLIM_OP_MAX_POOL] =
            {
                ROW("max_pool"),
                .in = {TENSOR("x", 't', "N C H W")},
                .out = {TENSOR("y", 't', "N C P Q"), TENSOR("index", 'u', "N C P Q")},
                .attrs = "kernel stride pad",
                .check = windows_forward,
                .gradient = {{"x", PLIM_OP_MAX_POOL_BWD, "dy index"}},
                .doc = "largest element of each window, and its position in the window",
            },

        [PLIM_OP_MAX_POOL_BWD] =
            {
                ROW("max_pool_bwd"),
                .in = {TENSOR("dy", 't', "N C P Q"), POSITIONS("index", "N C P Q")},
                .out = {TENSOR("dx", 't', "N C H W")},
                .attrs = "kernel stride pad",
                .check = windows_backward,
                .doc = "gradient of max_pool",
            },

        [PLIM_OP_AVG_POOL] =
            {
                ROW("avg_pool"),
                .in = {TENSOR("x", 't', "N C H W")},
                .out = {TENSOR("y", 't', "N C P Q")},
                .attrs = "kernel stride pad",
                .check = windows_forward,
                .gradient = {{"x", PLIM_OP_AVG_POOL_BWD, "dy"}},
                .doc = "mean of each window, in which padding counts as zeros",
            },

        [PLIM_OP_AVG_POOL_BWD] =
            {
                ROW("avg_pool_bwd"),
                .in = {TENSOR("dy", 't', "N C P Q")},
                .out = {TENSOR("dx", 't', "N C H W")},
                .attrs = "kernel stride pad",
                .check = windows_backward,
                .doc = "gradient of avg_pool",
            },

        [PLIM_OP_GLOBAL_AVG_POOL] =
            {
                ROW("global_avg_pool"),
                .in = {TENSOR("x", 't', "N C H W")},
                .out = {TENSOR("y", 't', "N C")},
                .gradient = {{"x", PLIM_OP_GLOBAL_AVG_POOL_BWD, "dy"}},
                .doc = "mean of each channel of an image",
            },

        [PLIM_OP_GLOBAL_AVG_POOL_BWD] =
            {
                ROW("global_avg_pool_bwd"),
                .in = {TENSOR("dy", 't', "N C")},
                .out = {TENSOR("dx", 't', "N C H W")},
                .doc = "gradient of global_avg_pool",
            },

        [PLIM_OP_DROPOUT] =
            {
                ROW("dropout"),
                .cls = PLIM_OP_RANDOM,
                .in = {TENSOR("x", 't', "...")},
                .out = {TENSOR("y", 't', "..."), TENSOR("mask", 'b', "...")},
                .attrs = "drop",
                .check = drop_fits,
                .n_pairs = 1,
                .pair = {{0, 0}},
                .gradient = {{"x", PLIM_OP_DROPOUT_BWD, "dy mask"}},
                .doc = "y = x / (1 - drop) where the mask is set, else 0; a bit of the mask is set with probability 1 "
                       "- drop",
            },

        [PLIM_OP_DROPOUT_BWD] =
            {
                ROW("dropout_bwd"),
                .in = {TENSOR("dy", 't', "..."), TENSOR("mask", 'b', "...")},
                .out = {TENSOR("dx", 't', "...")},
                .attrs = "drop",
                .check = drop_fits,
                .n_pairs = 1,
                .pair = {{0, 0}},
                .doc = "dx = dy / (1 - drop) where the mask is set, else 0",
            },

        [PLIM_OP_SOFTMAX_XENT] =
            {
                ROW("softmax_xent"),
                .in = {TENSOR("logits", 't', "N K"), INDICES("label", "N", "K")},
                .out = {TENSOR("loss", 'f', "1"), TENSOR("hits", 'i', "2"), TENSOR("prob", 'f', "N K")},
                .n_pairs = 1,
                .pair = {{2, 0}},
                .gradient = {{"logits", PLIM_OP_SOFTMAX_XENT_BWD, "prob label"}},
                .doc = "mean cross entropy over labels >= 0 (-1: ignored), labels hit and counted, and the softmax",
            },

        [PLIM_OP_SOFTMAX_XENT_BWD] =
            {
                ROW("softmax_xent_bwd"),
                .in = {TENSOR("prob", 'f', "N K"), INDICES("label", "N", "K")},
                .out = {TENSOR("dlogits", 't', "N K")},
                .n_pairs = 1,
                .pair = {{0, 0}},
                .doc = "gradient of softmax_xent",
            },

        [PLIM_OP_SGD] =
            {
                ROW("sgd"),
                .cls = PLIM_OP_EFFECT,
                .in = {TENSOR("grad", 'f', "..."), TYPICAL("hyper", "H", sgd_hyper), MAYBE("squares", 'f', "1")},
                .upd = {TENSOR("param", 'f', "..."), MAYBE("velocity", 't', "...")},
                .check = hyper_fits,
                .doc = "velocity = momentum * velocity + (grad + decay * param); param -= rate * velocity; without a "
                       "velocity param -= rate * (grad + decay * param). hyper has rate, momentum, decay, 0. With "
                       "squares, hyper has the 8 numbers of adam, and grad is clipped",
            },

        [PLIM_OP_CAST] =
            {
                ROW("cast"),
                .in = {TENSOR("x", 'f', "...")},
                .out = {TENSOR("y", 'h', "...")},
                .doc = "y = x rounded to bf16",
            },

        [PLIM_OP_GELU] =
            {
                NEW_ROW("gelu"),
                .in = {TENSOR("x", 't', "...")},
                .out = {TENSOR("y", 't', "...")},
                .n_pairs = 1,
                .pair = {{0, 0}},
                .gradient = {{"x", PLIM_OP_GELU_BWD, "dy x"}},
                .doc = "y = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))",
            },

        [PLIM_OP_GELU_BWD] =
            {
                NEW_ROW("gelu_bwd"),
                .in = {TENSOR("dy", 't', "..."), TENSOR("x", 't', "...")},
                .out = {TENSOR("dx", 't', "...")},
                .n_pairs = 2,
                .pair = {{0, 0}, {0, 1}},
                .doc = "gradient of gelu",
            },

        [PLIM_OP_SILU] =
            {
                NEW_ROW("silu"),
                .in = {TENSOR("x", 't', "...")},
                .out = {TENSOR("y", 't', "...")},
                .n_pairs = 1,
                .pair = {{0, 0}},
                .gradient = {{"x", PLIM_OP_SILU_BWD, "dy x"}},
                .doc = "y = x / (1 + exp(-x))",
            },

        [PLIM_OP_SILU_BWD] =
            {
                NEW_ROW("silu_bwd"),
                .in = {TENSOR("dy", 't', "..."), TENSOR("x", 't', "...")},
                .out = {TENSOR("dx", 't', "...")},
                .n_pairs = 2,
                .pair = {{0, 0}, {0, 1}},
                .doc = "gradient of silu",
            },

        [PLIM_OP_LAYER_NORM] =
            {
                NEW_ROW("layer_norm"),
                .in = {TENSOR("x", 't', "N C"), TENSOR("affine", 'f', "2 C")},
                .out = {TENSOR("y", 't', "N C")},
                .attrs = "eps",
                .n_pairs = 1,
                .pair = {{0, 0}},
                .gradient = {{"x affine", PLIM_OP_LAYER_NORM_BWD, "dy x affine"}},
                .doc = "y = (x - mean) / sqrt(variance + eps) * scale + shift, by row; affine has scale, shift",
            },

        [PLIM_OP_LAYER_NORM_BWD] =
            {
                NEW_ROW("layer_norm_bwd"),
                .in = {TENSOR("dy", 't', "N C"), TENSOR("x", 't', "N C"), TENSOR("affine", 'f', "2 C")},
                .out = {TENSOR("dx", 't', "N C"), TENSOR("daffine", 'f', "2 C")},
                .attrs = "eps",
                .n_pairs = 2,
                .pair = {{0, 0}, {0, 1}},
                .doc = "gradients of layer_norm; statistics are recomputed",
            },

        [PLIM_OP_RMS_NORM] =
            {
                NEW_ROW("rms_norm"),
                .in = {TENSOR("x", 't', "N C"), TENSOR("scale", 'f', "C")},
                .out = {TENSOR("y", 't', "N C")},
                .attrs = "eps",
                .n_pairs = 1,
                .pair = {{0, 0}},
                .gradient = {{"x scale", PLIM_OP_RMS_NORM_BWD, "dy x scale"}},
                .doc = "y = x / sqrt(mean of x^2 + eps) * scale, by row",
            },

        [PLIM_OP_RMS_NORM_BWD] =
            {
                NEW_ROW("rms_norm_bwd"),
                .in = {TENSOR("dy", 't', "N C"), TENSOR("x", 't', "N C"), TENSOR("scale", 'f', "C")},
                .out = {TENSOR("dx", 't', "N C"), TENSOR("dscale", 'f', "C")},
                .attrs = "eps",
                .n_pairs = 2,
                .pair = {{0, 0}, {0, 1}},
                .doc = "gradients of rms_norm; the mean is recomputed",
            },

        [PLIM_OP_EMBEDDING] =
            {
                NEW_ROW("embedding"),
                .in = {INDICES("token", "B T", "V"),
                       {OPERAND("words", 'f', "V C"), .moves = "B T C"},
                       MAYBE("positions", 'f', "T C")},
                .out = {TENSOR("y", 't', "B T C")},
                .gradient = {{"words positions?", PLIM_OP_EMBEDDING_BWD, "dy token"}},
                .doc = "y = row of words by token [+ row of positions by place in the sequence]; zeros for a token "
                       "that is no word",
            },

        [PLIM_OP_EMBEDDING_BWD] =
            {
                NEW_ROW("embedding_bwd"),
                .in = {TENSOR("dy", 't', "B T C"), INDICES("token", "B T", "V"), MAYBE("before", 'f', "V C")},
                .out = {TENSOR("dwords", 'f', "V C"), MAYBE("dpositions", 'f', "T C")},
                .n_pairs = 1,
                .pair = {{0, 2}},
                .doc = "gradients of embedding, each a sum in the order of tokens [+ before, the gradient by another "
                       "reader of words]",
            },

        [PLIM_OP_ATTENTION] =
            {
                NEW_ROW("attention"),
                .in = {TENSOR("qkv", 't', "B T 3C")},
                .out = {TENSOR("y", 't', "B T C"), TENSOR("lse", 'f', "B T H")},
                .flops = "2 B T T C",
                .check = heads_forward,
                .gradient = {{"qkv", PLIM_OP_ATTENTION_BWD, "dy qkv y lse"}},
                .doc = "causal attention by heads, of queries, keys and values side by side; lse is the logarithm of "
                       "the sum over keys of exp(score)",
            },

        [PLIM_OP_ATTENTION_BWD] =
            {
                NEW_ROW("attention_bwd"),
                .in = {TENSOR("dy", 't', "B T C"), TENSOR("qkv", 't', "B T 3C"), TENSOR("y", 't', "B T C"),
                       TENSOR("lse", 'f', "B T H")},
                .out = {TENSOR("dqkv", 't', "B T 3C")},
                .flops = "5 B T T C",
                .check = heads_backward,
                .doc = "gradient of attention; scores are recomputed",
            },

        [PLIM_OP_LINEAR_XENT] =
            {
                NEW_ROW("linear_xent"),
                .in = {TENSOR("x", 't', "N C"), INDICES("label", "N", "V"), WEIGHTS("w", "V C")},
                .out = {TENSOR("loss", 'f', "1"), TENSOR("hits", 'i', "2"), TENSOR("lse", 'f', "N")},
                .flops = "2 N V C",
                .gradient = {{"x w", PLIM_OP_LINEAR_XENT_BWD, "x label w lse"}},
                .doc = "mean cross entropy of logits x times w transposed over labels >= 0 (-1: ignored), by blocks of "
                       "words; labels hit and counted; lse is the logarithm of the sum of exp(logit)",
            },

        [PLIM_OP_LINEAR_XENT_BWD] =
            {
                NEW_ROW("linear_xent_bwd"),
                .in = {TENSOR("x", 't', "N C"), INDICES("label", "N", "V"), WEIGHTS("w", "V C"),
                       TENSOR("lse", 'f', "N")},
                .out = {TENSOR("dx", 't', "N C"), TENSOR("dw", 'f', "V C")},
                .flops = "8 N V C",
                .doc = "gradients of linear_xent; logits are recomputed",
            },

        [PLIM_OP_ADAM] =
            {
                NEW_ROW("adam"),
                .cls = PLIM_OP_EFFECT,
                .in = {TENSOR("grad", 'f', "..."), TYPICAL("hyper", "8", adam_hyper), MAYBE("squares", 'f', "1")},
                .upd = {TENSOR("param", 'f', "..."), TENSOR("first", 't', "..."), TENSOR("second", 't', "...")},
                .attrs = "decay",
                .doc = "Adam: param -= rate * mean / (sqrt(mean of squares) + epsilon) of grad + decay * param; hyper "
                       "has rate, beta1, decay, beta2, epsilon, 1 - beta1^t, 1 - beta2^t, largest norm. With squares, "
                       "grad is clipped",
            },

        [PLIM_OP_ADAMW] =
            {
                NEW_ROW("adamw"),
                .cls = PLIM_OP_EFFECT,
                .in = {TENSOR("grad", 'f', "..."), TYPICAL("hyper", "8", adam_hyper), MAYBE("squares", 'f', "1")},
                .upd = {TENSOR("param", 'f', "..."), TENSOR("first", 't', "..."), TENSOR("second", 't', "...")},
                .attrs = "decay",
                .doc = "as adam, but param shrinks by rate * decay, and decay does not go through the means",
            },

        [PLIM_OP_SUM_SQUARES] =
            {
                NEW_ROW("sum_squares"),
                .in = {TENSOR("grad", 'f', "..."), MAYBE("before", 'f', "1")},
                .out = {TENSOR("sum", 'f', "1")},
                .doc = "sum of squares of all elements [+ before]",
            },

        [PLIM_OP_ACCUMULATE] =
            {
                NEW_ROW("accumulate"),
                .in = {TENSOR("a", 'f', "..."), TENSOR("b", 'f', "...")},
                .out = {TENSOR("y", 'f', "...")},
                .attrs = "count",
                .n_pairs = 2,
                .pair = {{0, 0}, {0, 1}},
                .doc = "y = a + b: sums of gradients over micro-batches. With attrs.count, their mean: (a + b) / count",
            },

        [PLIM_OP_MEAN_LOSS] =
            {
                NEW_ROW("mean_loss"),
                .in = {TENSOR("a", 'f', "1"), TENSOR("a_hits", 'i', "2"), TENSOR("b", 'f', "1"),
                       TENSOR("b_hits", 'i', "2")},
                .out = {TENSOR("loss", 'f', "1"), TENSOR("hits", 'i', "2")},
                .doc = "the mean of two mean losses, weighted by the labels that each has counted, and the sums of "
                       "labels hit and counted",
            },

        [PLIM_OP_CONCAT] =
            {
                NEW_ROW("concat"),
                .in = {MANY("x", 't', "N +C ...")},
                .out = {TENSOR("y", 't', "N C ...")},
                .gradient = {{"x", PLIM_OP_SPLIT, "dy"}},
                .doc = "y = the inputs beside each other, by channel",
            },

        [PLIM_OP_SPLIT] =
            {
                NEW_ROW("split"),
                .in = {TENSOR("x", 't', "N C ...")},
                .out = {MANY("y", 't', "N +C ...")},
                .doc = "the outputs are neighbouring channels of x, in order; the gradient of concat",
            },

        [PLIM_OP_DEPTHWISE_CONV2D] =
            {
                NEW_ROW("depthwise_conv2d"),
                .in = {MOVES("x", "N C H W", "N C P Q R S"), WEIGHTS("w", "C 1 R S")},
                .out = {TENSOR("y", 't', "N C P Q")},
                .attrs = "kernel stride pad",
                .flops = "2 N C P Q R S",
                .check = depthwise_forward,
                .gradient = {{"w", PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS, "dy x"},
                             {"x", PLIM_OP_DEPTHWISE_CONV2D_BWD_DATA, "dy w"}},
                .doc = "each channel of x convolved with a filter of its own, of at most 1,024 taps",
            },

        [PLIM_OP_DEPTHWISE_CONV2D_BWD_DATA] =
            {
                NEW_ROW("depthwise_conv2d_bwd_data"),
                .in = {TENSOR("dy", 't', "N C P Q"), WEIGHTS("w", "C 1 R S")},
                .out = {TENSOR("dx", 't', "N C H W")},
                .attrs = "kernel stride pad",
                .flops = "2 N C P Q R S",
                .check = depthwise_backward,
                .doc = "gradient of a depthwise convolution by x",
            },

        [PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS] =
            {
                NEW_ROW("depthwise_conv2d_bwd_weights"),
                .in = {TENSOR("dy", 't', "N C P Q"), MOVES("x", "N C H W", "N C P Q R S")},
                .out = {TENSOR("dw", 'f', "C 1 R S")},
                .attrs = "kernel stride pad",
                .flops = "2 N C P Q R S",
                .check = depthwise_weights,
                .doc = "gradient of a depthwise convolution by w",
            },

        [PLIM_OP_CONV_TRANSPOSE2D] =
            {
                NEW_ROW("conv_transpose2d"),
                .in = {TENSOR("x", 't', "N I P Q"), WEIGHTS("w", "I O R S")},
                .out = {TENSOR("y", 't', "N O H W")},
                .attrs = "kernel stride pad tf32",
                .flops = "2 N O P Q I R S",
                .check = windows_backward,
                .gradient = {{"w", PLIM_OP_CONV2D_BWD_WEIGHTS, "x dy"}, {"x", PLIM_OP_CONV2D, "dy w"}},
                .doc = "transposed convolution: what the gradient of a convolution by its input computes from dy, here "
                       "from x",
            },

        [PLIM_OP_SOFTMAX] =
            {
                NEW_ROW("softmax"),
                .in = {TENSOR("x", 't', "... C")},
                .out = {TENSOR("y", 't', "... C")},
                .check = all_flat,
                .n_pairs = 1,
                .pair = {{0, 0}},
                .gradient = {{"x", PLIM_OP_SOFTMAX_BWD, "dy y"}},
                .doc = "y = exp(x) / sum of exp(x), by row of the last size",
            },

        [PLIM_OP_SOFTMAX_BWD] =
            {
                NEW_ROW("softmax_bwd"),
                .in = {TENSOR("dy", 't', "... C"), TENSOR("y", 't', "... C")},
                .out = {TENSOR("dx", 't', "... C")},
                .check = all_flat,
                .n_pairs = 2,
                .pair = {{0, 0}, {0, 1}},
                .doc = "dx = y * (dy - sum of dy * y), by row; the gradient of softmax",
            },

        [PLIM_OP_MATMUL] =
            {
                NEW_ROW("matmul"),
                .in = {STRIDED("a", "... M K"), STRIDED_WEIGHTS("b", "... K N")},
                .out = {TENSOR("y", 't', "... M N")},
                .attrs = "tf32",
                .flops = "2 ... M N K",
                .check = all_flat,
                .gradient = {{"b", PLIM_OP_MATMUL_TN, "a dy"}, {"a", PLIM_OP_MATMUL_NT, "dy b"}},
                .doc = "y = a times b, a product for each index of the sizes before the last two",
            },

        [PLIM_OP_MATMUL_NT] =
            {
                NEW_ROW("matmul_nt"),
                .in = {STRIDED("a", "... M K"), STRIDED_WEIGHTS("b", "... N K")},
                .out = {TENSOR("y", 't', "... M N")},
                .attrs = "tf32",
                .flops = "2 ... M N K",
                .check = all_flat,
                .gradient = {{"b", PLIM_OP_MATMUL_TN, "dy a"}, {"a", PLIM_OP_MATMUL, "dy b"}},
                .doc = "y = a times b transposed, as matmul",
            },

        [PLIM_OP_MATMUL_TN] =
            {
                NEW_ROW("matmul_tn"),
                .in = {STRIDED("a", "... K M"), STRIDED_WEIGHTS("b", "... K N")},
                .out = {TENSOR("y", 't', "... M N")},
                .attrs = "tf32",
                .flops = "2 ... M N K",
                .check = all_flat,
                .gradient = {{"b", PLIM_OP_MATMUL, "a dy"}, {"a", PLIM_OP_MATMUL_NT, "b dy"}},
                .doc = "y = a transposed times b, as matmul",
            },
};

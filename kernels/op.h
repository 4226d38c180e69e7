/* What an op is: data types, layouts, shapes, op kinds with their class and in-place pairs, byte and
 * FLOP formulas. Data only; every layer may include this header, and it includes none of ours. All functions read
 * static tables and their arguments alone: they are safe from any thread, and O(operands). */
#ifndef PLIM_KERNELS_OP_H
#define PLIM_KERNELS_OP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_MAX_RANK = 4, PLIM_OP_MAX_IN = 8, PLIM_OP_MAX_OUT = 8, PLIM_OP_MAX_UPD = 2, PLIM_OP_MAX_PAIRS = 8 };

/* Element types. BITS is a mask: one bit an element, element e (in memory order of the layout it
 * masks) is bit e % 8 of byte e / 8; the last byte is padded with zero bits. BF16 is the upper half of an F32, rounded
 * to nearest, ties to even. */
#define PLIM_DTYPES(X) X(F32, "f32") X(I32, "i32") X(U8, "u8") X(BITS, "bits") X(BF16, "bf16")

/* Precisions of a training step. FP32: everything. TF32: as FP32, but convolutions and linear layers may round their
 * factors to 11 significant bits (attrs.tf32). BF16: activations, their gradients and copies of the weights are BF16,
 * sums are F32 or better; parameters, their gradients, states, statistics and the loss are F32. */
#define PLIM_MATHS(X) X(FP32, "fp32") X(TF32, "tf32") X(BF16, "bf16")

/* Memory order of a shape. Logical dimensions are always written [N][C][H][W] (activations) or
 * [O][I][KH][KW] (convolution weights); FLAT is row-major over the logical dimensions (it is NCHW
 * for rank 4). NCHW8C and NCHW16C store channels in blocks of 8 or 16: [N][C/b][H][W][b]. The
 * channel count must be a multiple of the block. */
#define PLIM_LAYOUTS(X) X(FLAT, "flat") X(NHWC, "nhwc") X(NCHW8C, "nchw8c") X(NCHW16C, "nchw16c")

#define PLIM_X(id, name) PLIM_##id,
typedef enum plim_dtype { PLIM_DTYPES(PLIM_X) PLIM_DTYPE_COUNT } plim_dtype;
typedef enum plim_layout { PLIM_LAYOUTS(PLIM_X) PLIM_LAYOUT_COUNT } plim_layout;
#undef PLIM_X
#define PLIM_X(id, name) PLIM_PRECISION_##id,
typedef enum plim_precision { PLIM_MATHS(PLIM_X) PLIM_PRECISION_COUNT } plim_precision;
#undef PLIM_X

typedef struct plim_shape {
  plim_dtype dtype;
  plim_layout layout;
  int32_t rank;               /* 1 .. PLIM_MAX_RANK */
  int64_t dim[PLIM_MAX_RANK]; /* logical sizes, > 0; [rank ..] are 1 */
} plim_shape;

/* pure: may be recomputed. random: may be recomputed, because its draw is a function of (seed, step, op). effect:
 * updates a param or state in place, and runs once a step. once: runs once a step, and is not recomputed. */
#define PLIM_OP_CLASSES(X) X(PURE, "pure") X(RANDOM, "random") X(EFFECT, "effect") X(ONCE, "once")
#define PLIM_X(id, name) PLIM_OP_##id,
typedef enum plim_op_class { PLIM_OP_CLASSES(PLIM_X) PLIM_OP_CLASS_COUNT } plim_op_class;
#undef PLIM_X

/* Every op kind: X(id, name, class). Operand order, by kind (c = channels; [?] = optional). Operands without a type are
 * f32 or bf16, all of them alike, except these, which are always f32: bias, stats, affine, running, prob and the
 * gradients of what is trained (dw, dbias, daffine). plim_op_kind_operands has it as a table.
 *   image             in u8 image [N,C,H,W] in NHWC          out [N,C,H,W] = pixel * scale + shift, by channel
 *   conv2d            in x, w [, bias]                       out y
 *   conv2d_bwd_data   in dy, w                               out dx
 *   conv2d_bwd_weights in dy, x                              out dw
 *   linear            in x [N,I], w [O,I] [, bias [O]]       out y [N,O]
 *   linear_bwd_data   in dy, w                               out dx
 *   linear_bwd_weights in dy, x                              out dw
 *   bias_bwd          in dy [N,C,..]                         out dbias [C]
 *   bn_stats          in x                                   out stats [2,C]: mean, biased variance
 *   bn_apply          in x, stats [2,C], affine [2,C]: scale, shift [, residual (attrs.add)]
 *                                                            out y [, mask (attrs.relu and n_out = 2)]
 *   bn_running        in stats       upd running [2,C]: r += momentum * (value - r), variance unbiased by attrs.count
 *   bn_bwd_reduce     in dy, x, stats [, mask (attrs.relu)]  out daffine [2,C]: dscale, dshift
 *   bn_bwd_apply      in dy, x, stats, affine, daffine [, mask (attrs.relu)]   out dx
 *   relu              in x                                   out y [, mask]
 *   relu_bwd          in mask, dy [, dy2]                    out dx = (dy + dy2) where the mask is set, else 0
 *   add               in a, b                                out a + b, clamped at 0 when attrs.relu [, mask]
 *   max_pool          in x                                   out y, index u8 (position in the window)
 *   max_pool_bwd      in dy, index                           out dx
 *   avg_pool          in x                                   out y (padding counts as zeros in the mean)
 *   avg_pool_bwd      in dy                                  out dx
 *   global_avg_pool   in x [N,C,H,W]                         out y [N,C]
 *   global_avg_pool_bwd in dy [N,C]                          out dx [N,C,H,W]
 *   dropout           in x                                   out y = x / (1 - drop) where kept, mask
 *   dropout_bwd       in dy, mask                            out dx
 *   softmax_xent      in logits [N,K], label i32 [N] (-1 = ignore)
 *                                                            out loss f32 [1] (mean over labels >= 0), hits i32 [2]
 *                                                                (correct, counted), prob [N,K]
 *   softmax_xent_bwd  in prob, label                         out dlogits
 *   sgd               in grad, hyper f32 [4]: learning rate, momentum, weight decay, 0
 *                                    upd param, velocity: v = momentum v + (g + decay p); p -= rate v
 *   cast              in x f32                               out y bf16
 *   custom            whatever the program that registered it says */
#define PLIM_OP_KINDS(X)                              \
  X(CUSTOM, "custom", PURE)                           \
  X(IMAGE, "image", PURE)                             \
  X(CONV2D, "conv2d", PURE)                           \
  X(CONV2D_BWD_DATA, "conv2d_bwd_data", PURE)         \
  X(CONV2D_BWD_WEIGHTS, "conv2d_bwd_weights", PURE)   \
  X(LINEAR, "linear", PURE)                           \
  X(LINEAR_BWD_DATA, "linear_bwd_data", PURE)         \
  X(LINEAR_BWD_WEIGHTS, "linear_bwd_weights", PURE)   \
  X(BIAS_BWD, "bias_bwd", PURE)                       \
  X(BN_STATS, "bn_stats", PURE)                       \
  X(BN_APPLY, "bn_apply", PURE)                       \
  X(BN_RUNNING, "bn_running", EFFECT)                 \
  X(BN_BWD_REDUCE, "bn_bwd_reduce", PURE)             \
  X(BN_BWD_APPLY, "bn_bwd_apply", PURE)               \
  X(RELU, "relu", PURE)                               \
  X(RELU_BWD, "relu_bwd", PURE)                       \
  X(ADD, "add", PURE)                                 \
  X(MAX_POOL, "max_pool", PURE)                       \
  X(MAX_POOL_BWD, "max_pool_bwd", PURE)               \
  X(AVG_POOL, "avg_pool", PURE)                       \
  X(AVG_POOL_BWD, "avg_pool_bwd", PURE)               \
  X(GLOBAL_AVG_POOL, "global_avg_pool", PURE)         \
  X(GLOBAL_AVG_POOL_BWD, "global_avg_pool_bwd", PURE) \
  X(DROPOUT, "dropout", RANDOM)                       \
  X(DROPOUT_BWD, "dropout_bwd", PURE)                 \
  X(SOFTMAX_XENT, "softmax_xent", PURE)               \
  X(SOFTMAX_XENT_BWD, "softmax_xent_bwd", PURE)       \
  X(SGD, "sgd", EFFECT)                               \
  X(CAST, "cast", PURE)

#define PLIM_X(id, name, cls) PLIM_OP_##id,
typedef enum plim_op_kind { PLIM_OP_KINDS(PLIM_X) PLIM_OP_KIND_COUNT } plim_op_kind;
#undef PLIM_X

typedef struct plim_attrs {
  int32_t kernel[2], stride[2], pad[2]; /* convolution and pooling: rows, columns */
  int32_t relu;                         /* bn_apply, bn_bwd_*, add: 1 = a ReLU is fused */
  int32_t add;                          /* bn_apply: 1 = the residual input is present */
  int32_t tf32;                         /* conv2d*, linear*: 1 = factors may be rounded to 11 significant bits */
  float eps;                            /* bn_apply, bn_bwd_* */
  float momentum;                       /* bn_running */
  float drop;                           /* dropout: probability of a zero, [0, 1) */
  int64_t count;                        /* bn_running: elements after one statistic, N * H * W */
  float scale[4], shift[4];             /* image: by channel */
} plim_attrs;

/* An output that may be written over an input: the output's bytes equal the input's. */
typedef struct plim_pair {
  int32_t out, in; /* positions in the op's output and input lists */
} plim_pair;

/* One op with its operands' shapes: all that a kernel, a cost model or a profiler needs to know. */
typedef struct plim_op_desc {
  plim_op_kind kind;
  plim_attrs attrs;
  int32_t n_in, n_out, n_upd;
  plim_shape in[PLIM_OP_MAX_IN], out[PLIM_OP_MAX_OUT], upd[PLIM_OP_MAX_UPD];
} plim_op_desc;

/* Names of the enumerations, as documents write them; NULL when out of range. */
const char *plim_dtype_name(plim_dtype dtype);
const char *plim_layout_name(plim_layout layout);
const char *plim_precision_name(plim_precision math);
const char *plim_op_class_name(plim_op_class cls);
const char *plim_op_kind_name(plim_op_kind kind);

/* Value of a name, -1 when there is none of that name. */
int plim_dtype_find(const char *name);
int plim_layout_find(const char *name);
int plim_precision_find(const char *name);
int plim_op_class_find(const char *name);
int plim_op_kind_find(const char *name);

/* Class of a kind; pure when it is out of range. */
plim_op_class plim_op_kind_class(plim_op_kind kind);
/* 1 for the classes of which an op runs once in every plan (effect, once), else 0. */
int plim_op_class_once(plim_op_class cls);

/* Operands of a kind, a letter each: t the op's own type, f32 or bf16; h bf16, f f32, i i32, u u8, b bits. Those after
 * the least are optional. Of a custom op all are "". */
typedef struct plim_op_operands {
  const char *in, *out, *upd;
  int8_t in_least, out_least;
} plim_op_operands;
const plim_op_operands *plim_op_kind_operands(plim_op_kind kind);

/* 1 when the operands have the types of their kind (any: custom), else 0. *type out, where the result is 1: the type of
 * the letters t and h, f32 where there are none. Numbers of operands are not checked. */
int plim_op_type(const plim_op_desc *op, plim_dtype *type);

/* The precision that bounds how fast an op can compute: bf16 when its operands are, tf32 when its factors may be
 * rounded, else fp32. */
plim_precision plim_op_math(const plim_op_desc *op);

/* In-place pairs that a kind allows, by position; *pair is a static table. Returns the count (0 for custom). */
int plim_op_kind_pairs(plim_op_kind kind, const plim_pair **pair);

/* Channels to a block of the layout: 8, 16, or 1 when it is not blocked. */
int plim_layout_block(plim_layout layout);

/* Elements and bytes of a shape; -1 when a dimension is not positive, does not suit the layout, or they overflow. */
int64_t plim_shape_elements(const plim_shape *shape);
int64_t plim_shape_bytes(const plim_shape *shape);

/* A shape from its parts; dim[rank..] become 1. */
plim_shape plim_shape_make(plim_dtype dtype, plim_layout layout, int rank, const int64_t *dim);

/* Floating-point operations (a multiply-add counts 2) and bytes that must move (every operand once; updated
 * ones twice). For kinds without arithmetic worth counting the FLOPs are a few an element. Saturate at INT64_MAX. */
int64_t plim_op_flops(const plim_op_desc *op);
int64_t plim_op_traffic(const plim_op_desc *op);

#ifdef __cplusplus
}
#endif
#endif

/* What an op is: data types, layouts, shapes, and op kinds. A kind is one row of one table: operands with types and
 * shape rules, attributes, class, in-place pairs, FLOP formula, gradient. Reader, writer, builder, cache keys, profiler
 * and docs/ops.md follow from the row. Data only; every layer may include this header, and it includes none of ours.
 * Functions read the tables and their arguments alone: they are safe from any thread, and O(operands). Finding a kind
 * by its name is O(kinds). plim_op_kind_add alone writes. */
#ifndef PLIM_KERNELS_OP_H
#define PLIM_KERNELS_OP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_MAX_RANK = 8 };

/* The largest area of a window: a float counts no further. */
enum { PLIM_WINDOW_PLACES = 1 << 24 };

/* The most taps of a depthwise filter: a thread block keeps an offset for each. */
enum { PLIM_DEPTHWISE_TAPS = 1024 };

/* Operands that a plim_op_desc, a plim_op_spec and an argument of our kernels hold themselves. An op may have any
 * number of operands: longer lists lie outside. It has at most PLIM_OP_MAX_PAIRS in-place pairs. */
enum { PLIM_OP_MAX_IN = 32, PLIM_OP_MAX_OUT = 32, PLIM_OP_MAX_UPD = 8, PLIM_OP_MAX_PAIRS = 8 };

/* Element types. BITS is a mask: one bit an element, element e (in memory order of the layout it
 * masks) is bit e % 8 of byte e / 8; the last byte is padded with zero bits. BF16 is the upper half of an F32, rounded
 * to nearest, ties to even. */
#define PLIM_DTYPES(X) X(F32, "f32") X(I32, "i32") X(U8, "u8") X(BITS, "bits") X(BF16, "bf16")

/* Precisions of a training step. FP32: everything. TF32: as FP32, but convolutions and linear layers may round their
 * factors to 11 significant bits (attrs.tf32). BF16: activations, their gradients and copies of the weights are BF16,
 * sums are F32 or better; parameters, their gradients, states, statistics and the loss are F32. */
#define PLIM_PRECISIONS(X) X(FP32, "fp32") X(TF32, "tf32") X(BF16, "bf16")

/* Memory order of a shape. Logical dimensions are always written [N][C][H][W] (activations) or
 * [O][I][R][S] (convolution weights); FLAT is row-major over the logical dimensions (it is NCHW
 * for rank 4). NCHW8C and NCHW16C store channels in blocks of 8 or 16: [N][C/b][H][W][b]. The
 * channel count must be a multiple of the block. */
#define PLIM_LAYOUTS(X) X(FLAT, "flat") X(NHWC, "nhwc") X(NCHW8C, "nchw8c") X(NCHW16C, "nchw16c")

#define PLIM_X(id, name) PLIM_##id,
typedef enum plim_dtype { PLIM_DTYPES(PLIM_X) PLIM_DTYPE_COUNT } plim_dtype;
typedef enum plim_layout { PLIM_LAYOUTS(PLIM_X) PLIM_LAYOUT_COUNT } plim_layout;
#undef PLIM_X
#define PLIM_X(id, name) PLIM_PRECISION_##id,
typedef enum plim_precision { PLIM_PRECISIONS(PLIM_X) PLIM_PRECISION_COUNT } plim_precision;
#undef PLIM_X

typedef struct plim_shape {
  plim_dtype dtype;
  plim_layout layout;
  int32_t rank;               /* 1 .. PLIM_MAX_RANK */
  int64_t dim[PLIM_MAX_RANK]; /* logical sizes, > 0; [rank ..] are 1 */
  /* FLAT only: elements from one to the next along each dimension, > 0; all 0: dense. [rank ..] are 0 */
  int64_t stride[PLIM_MAX_RANK];
} plim_shape;

/* pure: may be recomputed. random: may be recomputed, because its draw is a function of (seed, step, op). effect:
 * updates a param or state in place, and runs once a step. once: runs once a step, and is not recomputed. */
#define PLIM_OP_CLASSES(X) X(PURE, "pure") X(RANDOM, "random") X(EFFECT, "effect") X(ONCE, "once")
#define PLIM_X(id, name) PLIM_OP_##id,
typedef enum plim_op_class { PLIM_OP_CLASSES(PLIM_X) PLIM_OP_CLASS_COUNT } plim_op_class;
#undef PLIM_X

/* The built-in kinds. Their rows are in kernels/op_rows.c, and docs/ops.md shows them. A program's own kinds have the
 * numbers from PLIM_OP_KIND_COUNT on (plim_op_kind_add). custom: operands and class are whatever the graph says. */
/* clang-format off */
#define PLIM_OP_KINDS(X) \
  X(CUSTOM) \
  X(IMAGE) \
  X(CONV2D) \
  X(CONV2D_BWD_DATA) \
  X(CONV2D_BWD_WEIGHTS) \
  X(LINEAR) \
  X(LINEAR_BWD_DATA) \
  X(LINEAR_BWD_WEIGHTS) \
  X(BIAS_BWD) \
  X(BN_STATS) \
  X(BN_APPLY) \
  X(BN_RUNNING) \
  X(BN_BWD_REDUCE) \
  X(BN_BWD_APPLY) \
  X(RELU) \
  X(RELU_BWD) \
  X(ADD) \
  X(MAX_POOL) \
  X(MAX_POOL_BWD) \
  X(AVG_POOL) \
  X(AVG_POOL_BWD) \
  X(GLOBAL_AVG_POOL) \
  X(GLOBAL_AVG_POOL_BWD) \
  X(DROPOUT) \
  X(DROPOUT_BWD) \
  X(SOFTMAX_XENT) \
  X(SOFTMAX_XENT_BWD) \
  X(SGD) \
  X(CAST) \
  X(GELU) \
  X(GELU_BWD) \
  X(SILU) \
  X(SILU_BWD) \
  X(LAYER_NORM) \
  X(LAYER_NORM_BWD) \
  X(RMS_NORM) \
  X(RMS_NORM_BWD) \
  X(EMBEDDING) \
  X(EMBEDDING_BWD) \
  X(ATTENTION) \
  X(ATTENTION_BWD) \
  X(LINEAR_XENT) \
  X(LINEAR_XENT_BWD) \
  X(ADAM) \
  X(ADAMW) \
  X(SUM_SQUARES) \
  X(ACCUMULATE) \
  X(MEAN_LOSS) \
  X(CONCAT) \
  X(SPLIT) \
  X(DEPTHWISE_CONV2D) \
  X(DEPTHWISE_CONV2D_BWD_DATA) \
  X(DEPTHWISE_CONV2D_BWD_WEIGHTS) \
  X(CONV_TRANSPOSE2D) \
  X(SOFTMAX) \
  X(SOFTMAX_BWD) \
  X(MATMUL) \
  X(MATMUL_NT) \
  X(MATMUL_TN)
/* clang-format on */

#define PLIM_X(id) PLIM_OP_##id,
typedef enum plim_op_kind { PLIM_OP_KINDS(PLIM_X) PLIM_OP_KIND_COUNT } plim_op_kind;
#undef PLIM_X

/* Values of the attributes, each of which has a name and bounds in the table of kernels/op_rows.c. */
typedef struct plim_attrs {
  int32_t kernel[2], stride[2], pad[2]; /* convolution and pooling: rows, columns */
  int32_t relu;                         /* bn_apply, bn_bwd_*, add: 1 = a ReLU is fused */
  int32_t add;                          /* bn_apply: 1 = the residual input is present */
  int32_t tf32;             /* conv2d*, linear*, matmul*: 1 = factors may be rounded to 11 significant bits */
  float eps;                /* bn_apply, bn_bwd_*, layer_norm*, rms_norm* */
  float momentum;           /* bn_running */
  float drop;               /* dropout: probability of a zero, [0, 1) */
  int64_t count;            /* bn_running: elements that one statistic is of, N * H * W. accumulate: addends */
  float scale[4], shift[4]; /* image: by channel */
  int32_t decay;            /* adam, adamw: 1 = the parameter decays */
  int64_t own_int[4];       /* of a program's own kinds, whose rows name them */
  float own_float[4];
} plim_attrs;

/* An attribute: its name in documents, and where its numbers are in plim_attrs. Zero, or all zeros: not there. */
typedef enum plim_attr_type { PLIM_ATTR_INT32, PLIM_ATTR_INT64, PLIM_ATTR_FLOAT } plim_attr_type;
typedef struct plim_attr {
  const char *name; /* NULL ends a list */
  plim_attr_type type;
  int32_t count;   /* numbers, 1 to 4 */
  size_t at;       /* offsetof(plim_attrs, field) */
  int64_t most;    /* integers are 0 to this */
  int32_t version; /* of the graph format that has it; own attributes: 0 */
} plim_attr;

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
  /* [n_in], [n_out], [n_upd]  in place of the arrays where a list is longer than they are; else NULL. Borrowed: those
   * of an op of a graph live as long as the graph */
  const plim_shape *many_in, *many_out, *many_upd;
} plim_op_desc;

/* The shapes of all operands of a list, wherever they lie: [n_in], [n_out], [n_upd]. */
const plim_shape *plim_op_inputs(const plim_op_desc *op);
const plim_shape *plim_op_outputs(const plim_op_desc *op);
const plim_shape *plim_op_updates(const plim_op_desc *op);

/* ---- op rows ---- */

/* What the profiler puts into an operand. Where a kernel's time, or what it may read, depends on it, the row says so.
 */
typedef enum plim_contents {
  PLIM_CONTENTS_NORMAL,    /* normal numbers of variance 1 */
  PLIM_CONTENTS_WEIGHTS,   /* normal numbers so small that results keep the size of the other factor */
  PLIM_CONTENTS_ONES,      /* variances, probabilities */
  PLIM_CONTENTS_POSITIONS, /* u8: positions in a window of attrs.kernel */
  PLIM_CONTENTS_INDICES,   /* i32: below the size that `below` names */
  PLIM_CONTENTS_TYPICAL    /* f32: the numbers in `typical`, then zeros */
} plim_contents;

/* An operand of a kind.
 *   type   the op's own type, f32 or bf16, equal for all such operands: 't'. Else 'h' bf16, 'f' f32, 'i' i32, 'u' u8,
 *          'b' bits, '*' any
 *   shape  The rule: sizes with blanks between. A name is one size in all of the op's operands; a number is that size;
 *          "3C" is three times C; sizes "+C" of several operands add up to C; "..." is any number of sizes, the same
 *          in all operands that have it. NULL: any shape
 * Kernels take no op that does not follow its rule. Graphs are checked for kinds of graph version 5 and later, and for
 * a program's own: documents of older kinds may have shapes that no kernel takes. */
typedef struct plim_op_operand {
  const char *name; /* NULL ends a list */
  char type;
  const char *shape;
  int8_t optional; /* 1: it may be left out, and then all after it are */
  int8_t many;     /* 1, the last of a list: one or more of these */
  int8_t strided;  /* 1: the kind's kernels take it with any strides; 0: dense only */
  plim_contents contents;
  const char *below;
  const float *typical; /* [n_typical] */
  int32_t n_typical;
  const char *moves; /* elements that an op reads or writes, where they are fewer than all: a product like `flops` */
} plim_op_operand;

/* How the gradient of inputs is computed: by one op. Names are those of the row's operands; "dNAME" is the gradient of
 * NAME, and "NAME?" an operand that may be absent. */
typedef struct plim_op_gradient {
  const char *of;    /* inputs: their gradients are the op's outputs, in this order. NULL ends the list */
  plim_op_kind kind; /* PLIM_OP_CUSTOM: no op, the gradient is `from` itself */
  const char *from;  /* its inputs, in order */
} plim_op_gradient;

enum { PLIM_ROW_OPERANDS = 8, PLIM_ROW_OWN = 8, PLIM_ROW_PAIRS = 4, PLIM_ROW_GRADIENTS = 4, PLIM_OWN_KIND_VERSION = 5 };

/* A kind of op. All that is not set is none. Rows are never freed. */
typedef struct plim_op_row {
  size_t struct_bytes; /* sizeof(plim_op_row) */
  const char *name;    /* unique; of a program's own kind with a dot in it: "mine.scale" */
  plim_op_class cls;
  int32_t version; /* of the graph format that has it; own kinds: PLIM_OWN_KIND_VERSION */
  plim_op_operand in[PLIM_ROW_OPERANDS], out[PLIM_ROW_OPERANDS], upd[PLIM_ROW_OPERANDS];
  const char *attrs;           /* names of built-in attributes that it has, with blanks between */
  plim_attr own[PLIM_ROW_OWN]; /* further ones of a program's own kind, in attrs.own_int and attrs.own_float */
  int32_t n_pairs;
  plim_pair pair[PLIM_ROW_PAIRS]; /* the kernels read an element before they write it, at the same place */
  const char *flops; /* a product of numbers and sizes: "2 N O I", "...": all sizes. NULL: 4 for each of the largest
                        operand */
  int (*check)(const plim_op_desc *op); /* 1: sizes and attributes suit each other, beyond the rules; NULL: always */
  plim_op_gradient gradient[PLIM_ROW_GRADIENTS];
  const char *doc; /* a line: what it computes */
} plim_op_row;

/* Row of a kind, NULL when there is none of that number. */
const plim_op_row *plim_op_kind_row(plim_op_kind kind);

/* Add a program's own kind; *out is its number in this process. The row is not copied: it lives as long as the process.
 * Adding it twice gives the same number. Returns NULL, or a static sentence that says what is wrong with the row: its
 * name, an operand, rule, attribute or pair. Safe from any thread. Documents have the name, so they can be read by a
 * program that has added the row before. */
const char *plim_op_kind_add(const plim_op_row *row, plim_op_kind *out);

/* What operand i of a list is, NULL when the list has no such operand; and the most and least operands of a list. */
const plim_op_operand *plim_op_operand_at(const plim_op_operand *list, int32_t i);
int32_t plim_op_operands_most(const plim_op_operand *list);
int32_t plim_op_operands_least(const plim_op_operand *list);

/* Attribute i (0, 1, ...) of a kind, in the order of documents; NULL after the last. Custom ops and the kinds of graph
 * versions before 5 have every built-in attribute of those versions. */
const plim_attr *plim_op_kind_attr(plim_op_kind kind, int i);
int64_t plim_attr_int(const plim_attr *attr, const plim_attrs *attrs, int k);
float plim_attr_float(const plim_attr *attr, const plim_attrs *attrs, int k);
void plim_attr_set_int(const plim_attr *attr, plim_attrs *attrs, int k, int64_t to);
void plim_attr_set_float(const plim_attr *attr, plim_attrs *attrs, int k, float to);
int plim_attr_is_zero(const plim_attr *attr, const plim_attrs *attrs);
int plim_attrs_are_zero(const plim_attrs *attrs); /* all of them, own ones included */

/* The sizes of an op, by the names in its row's rules. */
enum { PLIM_OP_SIZES = 16, PLIM_SIZE_NAME_BYTES = 8 };
typedef struct plim_op_sizes {
  int32_t n, n_rest; /* n_rest -1: no operand has "..." */
  char name[PLIM_OP_SIZES][PLIM_SIZE_NAME_BYTES];
  int64_t size[PLIM_OP_SIZES];
  int64_t rest[PLIM_MAX_RANK];
} plim_op_sizes;

/* Do numbers, types, strides and shapes of the operands follow the row, and does its `check` agree? 1, or 0 with a
 * sentence in `why` (NULL: not wanted). Always 1 for custom ops. *sizes out (NULL: not wanted). */
int plim_op_fits(const plim_op_desc *op, plim_op_sizes *sizes, char *why, size_t why_bytes);
/* Give the first n_out outputs the shapes that follow from the inputs by the rules, in the op's own type and, where
 * they suit it, in the layout of the first input. 1, or 0 with a sentence: an input does not follow its rule, a size of
 * an output is in no input, or `check` does not agree. */
int plim_op_infer(plim_op_desc *op, int32_t n_out, char *why, size_t why_bytes);
/* 1 when the row has a gradient of the input of that name. */
int plim_op_has_gradient(const plim_op_row *row, const char *name);
/* The size of that name, -1 when there is none. */
int64_t plim_op_size(const plim_op_sizes *sizes, const char *name);

/* ---- names and figures ---- */

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

/* 1 when the operands have the types of their kind (any: custom), else 0. *type out, where the result is 1: that of the
 * operands of types t and h, f32 where there are none. Numbers of operands are not checked. */
int plim_op_type(const plim_op_desc *op, plim_dtype *type);

/* The precision that bounds how fast an op can compute: bf16 when its operands are, tf32 when its factors may be
 * rounded, else fp32. */
plim_precision plim_op_math(const plim_op_desc *op);

/* In-place pairs that a kind allows, by position; *pair is a static table. Returns the count (0 for custom). */
int plim_op_kind_pairs(plim_op_kind kind, const plim_pair **pair);

/* Channels to a block of the layout: 8, 16, or 1 when it is not blocked. */
int plim_layout_block(plim_layout layout);

/* Elements and bytes of a shape; -1 when a dimension is not positive, does not suit the layout, or they overflow.
 * Bytes of a strided shape reach from its first element to its last. */
int64_t plim_shape_elements(const plim_shape *shape);
int64_t plim_shape_bytes(const plim_shape *shape);

/* A dense shape from its parts; dim[rank..] become 1. */
plim_shape plim_shape_make(plim_dtype dtype, plim_layout layout, int rank, const int64_t *dim);
/* 1 when elements have strides. */
int plim_shape_is_strided(const plim_shape *shape);

/* Floating-point operations (a multiply-add counts 2) and bytes that must move (every operand once, or what its row
 * says; updated ones twice). Kinds without a formula have 4 FLOP for each element of the largest operand, as have ops
 * whose shapes do not follow the rules. Saturate at INT64_MAX. */
int64_t plim_op_flops(const plim_op_desc *op);
int64_t plim_op_traffic(const plim_op_desc *op);

#ifdef __cplusplus
}
#endif
#endif

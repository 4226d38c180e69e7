/* The list of kernels, and one run of an op as they see it: operands and geometry. Plain data, shared by the host code
 * that fills it, the CPU wrapper and the CUDA wrapper. */
#ifndef PLIM_KERNELS_CALL_H
#define PLIM_KERNELS_CALL_H

#include <stdint.h>

#include "kernels/op.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  K_WIDTH = 16,       /* elements of a vector on the CPU; fixed, so that sums do not depend on the instruction set */
  K_DEPTH_MAX = 128,  /* the largest D of attention: its kernels hold as many elements a head */
  K_POSITIONS = 128,  /* least number of positions of a partial result, whatever its tile says */
  K_PLANE = 4096,     /* elements of a part of a plane that a thread block copies: half of a first-level cache */
  K_MATMUL_ROWS = 32, /* rows and columns of the result that a tile of a product computes */
  K_MATMUL_COLUMNS = 64
};

/* Every kernel, by the file of kernels/single_source that has it: X(name, thread blocks, tile). NAME_tile(call, tile)
 * computes one tile, and K_KERNEL_NAME is the kernel's number. So X(add, 4, 4096) means add_tile, K_KERNEL_add, 4
 * thread blocks, and 4,096 elements a tile. The operands stand above each NAME_tile; all.inc has the notation.
 *   thread blocks  of the kernel that a multiprocessor of a GPU is to hold at once. The compiler keeps to the registers
 *                  that this leaves. More of them hide more latency. Registers that are spilled end the build
 *   tile           how much a tile takes, of what the second column says. Two operands of 4,096 elements fit in a
 *                  first-level cache. Bits depend on the tile only where partial results are summed
 * The second column: positions are so many elements, in whole positions of an image; a row is one of a matrix, or of an
 * image in one group of channels; a group is one image in one group of channels; all: there is one tile. */
/* clang-format off */
/* The kernels that are ops of one launch, over elements in memory order. Such a kernel has the name of its kind, and
 * its entry here is all of its registration. An element takes as long as one of an addition; below, as two. */
#define K_ELEMENTWISE(X) \
  /* dropout            elements  */ X(dropout, 4, 4096) X(dropout_bwd, 4, 4096) \
  /* elementwise        elements  */ X(relu, 4, 4096) X(relu_bwd, 4, 4096) X(add, 4, 4096) X(cast, 4, 4096) \
                                     X(accumulate, 4, 4096) \
  /* updates            elements  */ X(sgd, 4, 4096)
#define K_ELEMENTWISE_SLOW(X) \
  /* activation         elements  */ X(gelu, 4, 4096) X(gelu_bwd, 4, 4096) X(silu, 4, 4096) X(silu_bwd, 4, 4096) \
  /* updates            elements  */ X(adam, 3, 4096) X(adamw, 3, 4096)
#define K_KERNELS(X) \
  K_ELEMENTWISE(X) K_ELEMENTWISE_SLOW(X) \
  /* attention          queries   */ X(attention, 2, 16) \
  /*                    heads     */ X(attention_bwd, 2, 1) \
  /* attention_rows     rows      */ X(attention_softmax, 4, 8) X(attention_weights, 4, 8) X(attention_delta, 4, 256) \
                                     X(attention_scores_bwd, 4, 8) \
  /* bn                 positions */ X(bn_stats_partial, 3, 4096) X(bn_apply, 2, 4096) \
  /*                    channels  */ X(bn_stats_combine, 4, 16) \
  /*                    all       */ X(bn_apply_coefficients, 4, 1) X(bn_running, 4, 1) \
  /* bn_bwd             positions */ X(bn_bwd_partial, 3, 4096) X(bn_bwd_apply, 2, 4096) \
  /*                    channels  */ X(bn_bwd_combine, 4, 16) \
  /*                    all       */ X(bn_bwd_coefficients, 4, 1) \
  /* channel            positions */ X(bias_add, 4, 4096) X(bias_bwd_partial, 4, 4096) \
  /*                    channels  */ X(bias_bwd_combine, 4, 16) X(parts_sum, 4, 16) \
  /*                    groups    */ X(global_avg_pool, 4, 1) X(global_avg_pool_bwd, 4, 1) \
  /* concat             elements  */ X(concat, 4, 4096) X(split, 4, 4096) \
  /* conv               channels  */ X(conv_pack, 2, 16) X(conv, 1, 16) X(conv_bwd_data, 1, 16) \
                                     X(conv_bwd_weights, 1, 8) \
  /* depthwise          taps      */ X(depthwise_pack, 4, 1) \
  /*                    rows      */ X(depthwise, 2, 1) \
  /* depthwise_weights  images    */ X(depthwise_bwd_weights, 2, 1) \
  /*                    channels  */ X(depthwise_combine, 4, 16) \
  /* depthwise_planes   pieces    */ X(depthwise_plane, 1, 1) \
  /*                    channels  */ X(depthwise_bwd_weights_plane, 1, 1) \
  /* embedding          rows      */ X(embedding, 4, 8) X(embedding_bwd, 4, 16) X(position_bwd, 4, 1) \
  /* gemm               rows      */ X(im2col, 4, 1) X(col2im, 4, 1) \
  /*                    elements  */ X(bias_rows, 4, 4096) \
  /*                    matrices  */ X(transpose, 4, 1) X(transpose_f32, 4, 1) X(transpose_widen, 4, 1) \
  /* image              pixels    */ X(image, 4, 1024) \
  /* linear_xent        rows      */ X(linear_xent, 2, 16) X(linear_xent_bwd, 2, 16) \
  /*                    words     */ X(linear_xent_bwd_words, 2, 64) \
  /* loss               rows      */ X(softmax_row, 4, 1) X(softmax_bwd, 4, 1) \
  /*                    all       */ X(softmax_mean, 4, 1) X(softmax_count, 4, 1) X(mean_loss, 4, 1) \
  /* matmul             blocks    */ X(matmul, 2, 1) \
  /* norm               rows      */ X(layer_norm, 4, 8) X(rms_norm, 4, 8) X(layer_norm_bwd, 2, 64) \
                                     X(rms_norm_bwd, 2, 64) \
  /*                    channels  */ X(layer_norm_combine, 4, 16) X(rms_norm_combine, 4, 16) \
  /* pool               rows      */ X(max_pool, 4, 1) X(max_pool_bwd, 4, 1) X(avg_pool, 4, 1) X(avg_pool_bwd, 4, 1) \
  /* row_softmax        rows      */ X(row_softmax, 4, 8) X(row_softmax_bwd, 4, 8) \
  /* updates            elements  */ X(squares, 4, 4096) \
  /*                    all       */ X(squares_combine, 4, 1) \
  /* xent_rows          rows      */ X(xent_rows, 4, 4) X(xent_rows_bwd, 4, 4)
/* clang-format on */

#define K_X(name, blocks, per_tile) K_KERNEL_##name,
typedef enum k_kernel { K_KERNELS(K_X) K_KERNEL_COUNT } k_kernel; /* a kernel, by number */
#undef K_X

/* A tile of each kernel, for the kernels; launches ask k_tile (kernels/launch.h). */
#define K_X(name, blocks, per_tile) K_TILE_##name = (per_tile),
enum { K_KERNELS(K_X) };
#undef K_X

/* What activations are stored as: every kernel is compiled for each. */
typedef enum k_type { K_TYPE_FLOAT, K_TYPE_BF16, K_TYPE_COUNT } k_type;

/* An activation in memory, whatever its layout: element (n, c, s), s the position in the image, lies at
 * ((n * groups + c / block) * spatial + s) * block + c % block. */
typedef struct k_view {
  int64_t n, channels;            /* N, C; n is 1 where all images are one run of positions */
  int64_t groups, spatial, block; /* memory order: [n][groups][spatial][block], channels = groups * block */
  int64_t height, width;          /* spatial = height * width */
} k_view;

/* Matrices of many products in memory: elements from row to row, from column to column, and from one product to the
 * next. Product p is number p / inner of the outer size and p % inner of the inner one. */
typedef struct k_matrix {
  int64_t row, column, inner, outer;
} k_matrix;

/* Rows of a matrix [n][columns]. */
typedef struct k_rows {
  int64_t n, columns;
} k_rows;

/* How positions, rows, images or elements are cut into pieces, each a tile or a partial result. */
typedef struct k_cut {
  int64_t size;     /* of a piece; the last of an image, or of all, may be short */
  int64_t of_image; /* pieces of an image */
  int64_t all;      /* pieces of all images; reductions: partial results of a channel */
} k_cut;

/* Pieces of the planes of a depthwise convolution's result, backward of one residue of it. */
typedef struct k_pieces {
  int64_t rows, columns; /* of a piece */
  int64_t planes;        /* of a tile: above 1 where a piece is a plane */
} k_pieces;

/* The tables of an embedding, whose rows are those of the tokens. */
typedef struct k_tables {
  int64_t words, positions; /* V; T, tokens of a sequence */
} k_tables;

/* The loss over a vocabulary, whose rows are logits: columns are words. */
typedef struct k_xent {
  int64_t channels;   /* C of x and w */
  int64_t first, all; /* where a library multiplies: the first row of those in in[0], and how many there are */
} k_xent;

/* Heads of attention; C = heads * depth. Where a library multiplies, a call has some of the queries: those of one or
 * more lines. A line is `batches` heads of a sequence, or sequences of a head. */
typedef struct k_heads {
  int64_t sequences, tokens, heads, depth; /* B, T, H, D */
  int64_t tiles;                           /* of a head */
  int64_t queries, batches;                /* of a call; of a line */
  k_matrix steps; /* of lse, or of y: from query to query (row), batch to batch (inner), line to line (outer) */
} k_heads;

/* Products of matrices [rows][depth] and [depth][columns], whose factors may be strided. */
typedef struct k_products {
  int64_t n, inner; /* products; those of the inner size */
  int64_t rows, columns, depth;
  int64_t row_blocks, column_blocks; /* of a product */
  k_matrix a, b;
} k_products;

/* Rows of a whole, which have a row of each part side by side: concat, split. */
typedef struct k_joint {
  int64_t whole;                       /* elements of a row */
  int64_t part_at[PLIM_OP_MAX_IN + 1]; /* of them, those before part i of the call's, and those before its end */
} k_joint;

/* The arguments of a kernel: one k_call for all kernels of a launch, by value on a GPU. Operands and attributes are the
 * op's. Of the geometry a launch fills what its kernels read, which stands above each of them; all else of it is 0. */
typedef struct k_call {
  /* Operands in the order of the op's kind (kernels/op_rows.c). A kernel that is a part of one with a library has an
   * in[0], an out[0] and perhaps an in[1], an out[1] and a workspace that the other kernel chooses; n_in, n_out and
   * n_upd stay the op's. */
  const void *in[PLIM_OP_MAX_IN]; /* [n_in] */
  void *out[PLIM_OP_MAX_OUT];     /* [n_out] */
  void *upd[PLIM_OP_MAX_UPD];     /* [n_upd] */
  int32_t n_in, n_out, n_upd;
  k_type type;      /* K_T */
  float *workspace; /* shape and meaning: above each kernel that reads or writes it */
  /* [2] seed and step, in memory: a launch that is captured once and replayed keeps its arguments */
  const uint64_t *now;
  int32_t op; /* number of the op in its graph: random ops draw by (seed, step, op) */
  plim_attrs attrs;

  /* ---- geometry ---- */
  int32_t backward; /* convolutions: from y to x */
  int64_t elements; /* E: of the main operand, where order in memory is all */
  k_rows rows;      /* ops on rows of a matrix: norms, softmax, losses, embedding, transposes, parts to sum */
  k_view x;         /* of x and dx; bias_bwd: of dy; bias_add: of y */
  k_view y;         /* of y and dy: convolutions, windows, image */
  k_cut cut;        /* what is summed or walked in pieces: batch norm, bias, gradients of norms, image, squares */
  /* One concept each; a call has at most one of them. */
  k_pieces pieces;     /* depthwise_planes.inc */
  k_tables tables;     /* embedding.inc */
  k_xent xent;         /* linear_xent.inc, xent_rows.inc */
  k_heads heads;       /* attention.inc, attention_rows.inc */
  k_products products; /* matmul.inc */
  k_joint joint;       /* concat.inc */
} k_call;

#ifndef __cplusplus /* every GPU takes so much as arguments of a kernel */
_Static_assert(sizeof(k_call) <= 4000, "a kernel's argument fits");
#endif
typedef void k_tile_fn(const k_call *call, int64_t tile);

/* The kernels compiled for one instruction set and type. */
typedef struct k_kernels {
  k_tile_fn *tile[K_KERNEL_COUNT];
} k_kernels;

#ifdef __cplusplus
}
#endif
#endif

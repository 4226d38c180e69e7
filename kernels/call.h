/* One run of an op as the bodies see it: operands, geometry, and the list of bodies. Plain data, shared by the host
 * code that fills it, the CPU wrapper and the CUDA wrapper. */
#ifndef PLIM_KERNELS_CALL_H
#define PLIM_KERNELS_CALL_H

#include <stdint.h>

#include "kernels/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every body, a line a concept: name_tile(call, tile) computes one tile. */
/* clang-format off */
#define K_BODIES(X) \
  X(image) X(cast) X(relu) X(relu_bwd) X(add) X(sgd) X(dropout) X(dropout_bwd) \
  X(bn_stats_partial) X(bn_stats_combine) X(bn_apply_coefficients) X(bn_apply) X(bn_running) \
  X(bn_bwd_partial) X(bn_bwd_combine) X(bn_bwd_coefficients) X(bn_bwd_apply) \
  X(bias_bwd_partial) X(bias_bwd_combine) X(global_avg_pool) X(global_avg_pool_bwd) \
  X(max_pool) X(max_pool_bwd) X(avg_pool) X(avg_pool_bwd) \
  X(softmax_row) X(softmax_mean) X(softmax_count) X(softmax_bwd) \
  X(conv_pack) X(conv) X(conv_bwd_data) X(conv_bwd_weights) \
  X(im2col) X(col2im) X(taps_outside) X(taps_inside) X(taps_widen) X(bias_rows)
/* clang-format on */

#define K_X(name) K_BODY_##name,
typedef enum k_body { K_BODIES(K_X) K_BODY_COUNT } k_body;
#undef K_X

/* What activations are stored as: every body is compiled for each. */
typedef enum k_type { K_TYPE_FLOAT, K_TYPE_BF16, K_TYPE_COUNT } k_type;

enum {
  K_WIDTH = 16,     /* elements that a lane handles at a time; fixed, so that sums do not depend on the CPU */
  K_TILE = 4096,    /* elements of an elementwise tile: two operands of it fit in a first-level cache */
  K_CONV_INPUTS = 8 /* input channels of a tile of weight gradients */
};

/* An activation in memory, whatever its layout: element (n, c, s), s the position in the image, lies at
 * ((n * groups + c / block) * spatial + s) * block + c % block. */
typedef struct k_view {
  int64_t n, channels, groups, spatial, block;
  int64_t height, width; /* spatial = height * width */
} k_view;

typedef struct k_call {
  const void *in[PLIM_OP_MAX_IN];
  void *out[PLIM_OP_MAX_OUT], *upd[PLIM_OP_MAX_UPD];
  float *workspace;
  const uint64_t
      *now; /* [2] seed and step, in memory: a launch that is captured once and replayed keeps its arguments */
  int32_t op;
  k_type type;
  int32_t n_in, n_out, n_upd;
  int32_t backward;      /* convolution: from y to x */
  int64_t elements;      /* of the main operand */
  int64_t chunk;         /* positions of a tile; reductions: of a partial result */
  int64_t parts, chunks; /* reductions: partial results of a channel from one image, from all of them */
  k_view x, y;           /* the main input; an output of other geometry */
  plim_attrs attrs;
} k_call;

typedef void k_tile_fn(const k_call *call, int64_t tile);

/* The bodies compiled for one instruction set and type. */
typedef struct k_bodies {
  k_tile_fn *tile[K_BODY_COUNT];
} k_bodies;

#ifdef __cplusplus
}
#endif
#endif

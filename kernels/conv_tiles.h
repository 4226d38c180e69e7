/* The order of the tiles of a convolution, once: a launch counts the tiles (kernels/launch_conv.c), and a kernel finds
 * what its tile is (kernels/single_source/conv.inc). Of the sizes in brackets the last changes fastest. */
#ifndef PLIM_KERNELS_CONV_TILES_H
#define PLIM_KERNELS_CONV_TILES_H

#include "kernels/call.h"

#ifdef __CUDACC__
#define K_TILES_FN [[maybe_unused]] static __host__ __device__ __forceinline__
#else
#define K_TILES_FN __attribute__((always_inline, unused)) static inline
#endif

/* Taps: positions of a window, R S. */
K_TILES_FN int64_t k_taps(const k_call *call) {
  return (int64_t)call->attrs.kernel[0] * call->attrs.kernel[1];
}

/* The result of a convolution is y, backward x; its source is the other one. */
K_TILES_FN const k_view *k_conv_result(const k_call *call) {
  return call->backward ? &call->x : &call->y;
}
K_TILES_FN const k_view *k_conv_source(const k_call *call) {
  return call->backward ? &call->y : &call->x;
}

/* Blocks of K_WIDTH channels; the last may be short. */
K_TILES_FN int64_t k_conv_blocks(int64_t channels) {
  return (channels + K_WIDTH - 1) / K_WIDTH;
}

/* conv_pack: the weights of a block of result channels, at one tap: [block][tap] */
typedef struct k_conv_pack {
  int64_t block, tap;
} k_conv_pack;

K_TILES_FN int64_t k_conv_pack_tiles(const k_call *call) {
  return k_conv_blocks(k_conv_result(call)->channels) * k_taps(call);
}
K_TILES_FN k_conv_pack k_conv_pack_at(const k_call *call, int64_t tile) {
  const int64_t taps = k_taps(call);
  const k_conv_pack place = {.block = tile / taps, .tap = tile % taps};
  return place;
}

/* conv, conv_bwd_data: a row of the result, in one block of its channels: [image][row][block] */
typedef struct k_conv_row {
  int64_t image, row, block;
} k_conv_row;

K_TILES_FN int64_t k_conv_row_tiles(const k_view *result) {
  return result->n * result->height * k_conv_blocks(result->channels);
}
K_TILES_FN k_conv_row k_conv_row_at(const k_view *result, int64_t tile) {
  const int64_t blocks = k_conv_blocks(result->channels), line = tile / blocks;
  const k_conv_row place = {.image = line / result->height, .row = line % result->height, .block = tile % blocks};
  return place;
}

/* conv_bwd_weights: some channels of x, a block of channels of y, a tap: [channels of x][block][tap] */
typedef struct k_conv_weights {
  int64_t first_in, first_out, tap; /* the first of those channels of x, and of y */
} k_conv_weights;

K_TILES_FN int64_t k_conv_weights_tiles(const k_call *call) {
  const int64_t parts = (call->x.channels + K_TILE_conv_bwd_weights - 1) / K_TILE_conv_bwd_weights;
  return parts * k_conv_blocks(call->y.channels) * k_taps(call);
}
K_TILES_FN k_conv_weights k_conv_weights_at(const k_call *call, int64_t tile) {
  const int64_t taps = k_taps(call), blocks = k_conv_blocks(call->y.channels);
  const k_conv_weights place = {.first_in = tile / taps / blocks * K_TILE_conv_bwd_weights,
                                .first_out = tile / taps % blocks * K_WIDTH,
                                .tap = tile % taps};
  return place;
}

#endif

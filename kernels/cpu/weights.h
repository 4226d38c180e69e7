/* Convolution weights in a library's own order: copies from and to the plain [O][I][R][S] of the graph. */
#ifndef PLIM_KERNELS_CPU_WEIGHTS_H
#define PLIM_KERNELS_CPU_WEIGHTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_WEIGHTS_BLOCK = 64 }; /* the most that a block may have */

/* Element [o][i][r][s] is at o / block[0] * outer[0] + inner[0][o % block[0]], the same for i, and
 * + r * outer[2] + s * outer[3]. The last block of O or I may reach beyond dim: what lies beyond is padding. */
typedef struct plim_weights_order {
  int64_t dim[4];                       /* O, I, R, S */
  int64_t block[2];                     /* of O and I; 1: not blocked */
  int64_t outer[4];                     /* strides of blocks, rows and columns, in elements */
  int64_t inner[2][PLIM_WEIGHTS_BLOCK]; /* places inside a block */
  int32_t element_bytes;                /* 4 or 2 */
} plim_weights_order;

/* Set dim and outer from sizes and strides [rank]: of [O][I][R][S], or of groups of one channel [O][1][1][R][S].
 * 0 when they are of neither. */
int plim_weights_order_outer(plim_weights_order *order, int rank, const int64_t *dim, const int64_t *stride);

/* Make the block of O (`d` 0) or I (1) `count` times larger: what it had so far lies `count` times, `stride` elements
 * apart. From the innermost block outward; {.block = {1, 1}} to begin with. 0 when it becomes too large. */
int plim_weights_order_block(plim_weights_order *order, int d, int64_t count, int64_t stride);

/* All blocks of an order at once: `n` of them, from the outermost inward, each of dimension dim[i] (0: O, 1: I) and
 * count[i] elements; `order` has dim, outer and no blocks to begin with. 0 when it is no order of this kind. */
int plim_weights_order_blocks(plim_weights_order *order, int n, const int64_t *dim, const int64_t *count);

/* Write all of `ordered`, zeros to the padding, from `plain`. Exact copies on `threads` OpenMP threads. */
void plim_weights_to(const plim_weights_order *order, const void *plain, void *ordered, int threads);

/* Write all of `plain` from `ordered`. */
void plim_weights_from(const plim_weights_order *order, const void *ordered, void *plain, int threads);

#ifdef __cplusplus
}
#endif
#endif

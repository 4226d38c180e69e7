/* Convolution weights in a library's own order: copies from and to the plain [O][I][KH][KW] of the graph. */
#ifndef PLIM_KERNELS_WEIGHTS_H
#define PLIM_KERNELS_WEIGHTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element [o][i][kh][kw] is at o / block[0] * outer[0] + o % block[0] * inner[0], the same for i, and
 * + kh * outer[2] + kw * outer[3]. The last block of O or I may reach beyond dim: its rest is padding. */
typedef struct plim_weights_order {
  int64_t dim[4];   /* O, I, KH, KW */
  int64_t block[2]; /* of O and I; 1: not blocked */
  int64_t outer[4]; /* strides of blocks, rows and columns, in elements */
  int64_t inner[2]; /* strides inside a block */
} plim_weights_order;

/* Write all of `ordered`, zeros to the padding, from `plain`. Exact copies on `threads` OpenMP threads. */
void plim_weights_to(const plim_weights_order *order, const float *plain, float *ordered, int threads);

/* Write all of `plain` from `ordered`. */
void plim_weights_from(const plim_weights_order *order, const float *ordered, float *plain, int threads);

#ifdef __cplusplus
}
#endif
#endif

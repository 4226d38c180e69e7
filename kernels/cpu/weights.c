/* Convolution weights between two orders, one block of output by input channels at a time: a block is small enough for
 * the nearest cache, whichever side is strided. Plain loops: they reach the speed of memory on large weights, and small
 * ones are copied sooner than a second thread would wake up. */
#include "kernels/cpu/weights.h"

enum { ELEMENTS_PARALLEL = 1 << 16 };

int plim_weights_order_outer(plim_weights_order *order, int rank, const int64_t *dim, const int64_t *stride) {
  const int groups = rank == 5;
  if (rank != 4 && !(groups && dim[1] == 1 && dim[2] == 1)) return 0;
  for (int i = 0; i < 4; i++) {
    order->dim[i] = dim[i == 0 ? 0 : i + groups];
    order->outer[i] = stride[i == 0 ? 0 : i + groups];
  }
  return 1;
}

int plim_weights_order_block(plim_weights_order *order, int d, int64_t count, int64_t stride) {
  const int64_t had = order->block[d];
  if (count < 1 || had * count > PLIM_WEIGHTS_BLOCK) return 0;
  for (int64_t i = 1; i < count; i++) {
    for (int64_t k = 0; k < had; k++) order->inner[d][i * had + k] = i * stride + order->inner[d][k];
  }
  order->block[d] = had * count;
  return 1;
}

int plim_weights_order_blocks(plim_weights_order *order, int n, const int64_t *dim, const int64_t *count) {
  int64_t stride = 1; /* the last block named is the innermost */
  for (int i = n - 1; i >= 0; i--) {
    if (dim[i] > 1 || !plim_weights_order_block(order, (int)dim[i], count[i], stride)) return 0;
    stride *= count[i];
  }
  return 1;
}

static int64_t blocks(const plim_weights_order *w, int d) {
  return (w->dim[d] + w->block[d] - 1) / w->block[d];
}

/* Element b of one order from element a of the other; a < 0: zero. */
static void copy_element(const plim_weights_order *w, const void *from, int64_t a, void *to, int64_t b) {
  if (w->element_bytes == 4) {
    ((uint32_t *)to)[b] = a < 0 ? 0 : ((const uint32_t *)from)[a];
  } else {
    ((uint16_t *)to)[b] = a < 0 ? 0 : ((const uint16_t *)from)[a];
  }
}

/* Where channels (o, i) of block row `ob` and block column `ib` begin in the library's order. */
static int64_t ordered_at(const plim_weights_order *w, int64_t ob, int64_t ib, int64_t o, int64_t i) {
  return ob * w->outer[0] + ib * w->outer[1] + w->inner[0][o] + w->inner[1][i];
}

/* The same in the plain order; -1 in the padding. */
static int64_t plain_at(const plim_weights_order *w, int64_t ob, int64_t ib, int64_t o, int64_t i) {
  const int64_t filter = ob * w->block[0] + o, channel = ib * w->block[1] + i;
  return filter < w->dim[0] && channel < w->dim[1] ? (filter * w->dim[1] + channel) * w->dim[2] * w->dim[3] : -1;
}

/* One filter plane [R][S]; `plain` < 0: zeros. */
static void plane_to(const plim_weights_order *w, const void *from, int64_t plain, void *to, int64_t ordered) {
  for (int64_t row = 0; row < w->dim[2]; row++) {
    for (int64_t column = 0; column < w->dim[3]; column++) {
      const int64_t a = plain < 0 ? -1 : plain + row * w->dim[3] + column;
      copy_element(w, from, a, to, ordered + row * w->outer[2] + column * w->outer[3]);
    }
  }
}

static void plane_from(const plim_weights_order *w, const void *from, int64_t ordered, void *to, int64_t plain) {
  for (int64_t row = 0; row < w->dim[2]; row++) {
    for (int64_t column = 0; column < w->dim[3]; column++) {
      const int64_t a = ordered + row * w->outer[2] + column * w->outer[3];
      copy_element(w, from, a, to, plain + row * w->dim[3] + column);
    }
  }
}

/* Blocks (ob, 0 .. all of I). */
static void row_to(const plim_weights_order *w, int64_t ob, const void *from, void *to) {
  for (int64_t ib = 0; ib < blocks(w, 1); ib++) {
    for (int64_t o = 0; o < w->block[0]; o++) {
      for (int64_t i = 0; i < w->block[1]; i++)
        plane_to(w, from, plain_at(w, ob, ib, o, i), to, ordered_at(w, ob, ib, o, i));
    }
  }
}

static void row_from(const plim_weights_order *w, int64_t ob, const void *from, void *to) {
  for (int64_t ib = 0; ib < blocks(w, 1); ib++) {
    for (int64_t o = 0; o < w->block[0]; o++) {
      for (int64_t i = 0; i < w->block[1]; i++) {
        const int64_t plain = plain_at(w, ob, ib, o, i);
        if (plain >= 0) plane_from(w, from, ordered_at(w, ob, ib, o, i), to, plain);
      }
    }
  }
}

typedef void copy_row(const plim_weights_order *w, int64_t ob, const void *from, void *to);

/* Two loops and not an `if` clause: a team of one makes libgomp allocate the team of the next parallel region anew. */
static void copy(const plim_weights_order *w, const void *from, void *to, int threads, copy_row *row) {
  int64_t n = blocks(w, 0);
  if (threads > 1 && w->dim[0] * w->dim[1] * w->dim[2] * w->dim[3] > ELEMENTS_PARALLEL) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t ob = 0; ob < n; ob++) row(w, ob, from, to);
  } else {
    for (int64_t ob = 0; ob < n; ob++) row(w, ob, from, to);
  }
}

void plim_weights_to(const plim_weights_order *order, const void *plain, void *ordered, int threads) {
  copy(order, plain, ordered, threads, row_to);
}

void plim_weights_from(const plim_weights_order *order, const void *ordered, void *plain, int threads) {
  copy(order, ordered, plain, threads, row_from);
}

/* Convolution weights between two orders, one block of output by input channels at a time: a block is small enough for
 * the nearest cache, whichever side is strided. Plain loops: they reach the speed of memory on large weights, and small
 * ones are copied sooner than a second thread would wake up. */
#include "kernels/weights.h"

enum { ELEMENTS_PARALLEL = 1 << 16 };

static int64_t blocks(const plim_weights_order *w, int d) {
  return (w->dim[d] + w->block[d] - 1) / w->block[d];
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* One filter plane [KH][KW] of the plain order. */
static void plane_to(const plim_weights_order *w, const float *plain, float *ordered) {
  for (int64_t row = 0; row < w->dim[2]; row++) {
    for (int64_t column = 0; column < w->dim[3]; column++)
      ordered[row * w->outer[2] + column * w->outer[3]] = plain[row * w->dim[3] + column];
  }
}

static void plane_from(const plim_weights_order *w, const float *ordered, float *plain) {
  for (int64_t row = 0; row < w->dim[2]; row++) {
    for (int64_t column = 0; column < w->dim[3]; column++)
      plain[row * w->dim[3] + column] = ordered[row * w->outer[2] + column * w->outer[3]];
  }
}

static void plane_zero(const plim_weights_order *w, float *ordered) {
  for (int64_t row = 0; row < w->dim[2]; row++) {
    for (int64_t column = 0; column < w->dim[3]; column++) ordered[row * w->outer[2] + column * w->outer[3]] = 0;
  }
}

/* Blocks (ob, 0 .. all of I). */
static void row_to(const plim_weights_order *w, int64_t ob, const float *plain, float *ordered) {
  for (int64_t ib = 0; ib < blocks(w, 1); ib++) {
    for (int64_t o = 0; o < w->block[0]; o++) {
      for (int64_t i = 0; i < w->block[1]; i++) {
        int64_t filter = ob * w->block[0] + o, channel = ib * w->block[1] + i;
        float *to = ordered + ob * w->outer[0] + ib * w->outer[1] + o * w->inner[0] + i * w->inner[1];
        if (filter < w->dim[0] && channel < w->dim[1]) {
          plane_to(w, plain + (filter * w->dim[1] + channel) * w->dim[2] * w->dim[3], to);
        } else {
          plane_zero(w, to);
        }
      }
    }
  }
}

static void row_from(const plim_weights_order *w, int64_t ob, const float *ordered, float *plain) {
  for (int64_t ib = 0; ib < blocks(w, 1); ib++) {
    int64_t filters = least(w->block[0], w->dim[0] - ob * w->block[0]);
    int64_t channels = least(w->block[1], w->dim[1] - ib * w->block[1]);
    for (int64_t o = 0; o < filters; o++) {
      for (int64_t i = 0; i < channels; i++) {
        int64_t filter = ob * w->block[0] + o, channel = ib * w->block[1] + i;
        plane_from(w, ordered + ob * w->outer[0] + ib * w->outer[1] + o * w->inner[0] + i * w->inner[1],
                   plain + (filter * w->dim[1] + channel) * w->dim[2] * w->dim[3]);
      }
    }
  }
}

typedef void copy_row(const plim_weights_order *w, int64_t ob, const float *from, float *to);

/* Two loops and not an `if` clause: a team of one makes libgomp allocate the team of the next parallel region anew. */
static void copy(const plim_weights_order *w, const float *from, float *to, int threads, copy_row *row) {
  int64_t n = blocks(w, 0);
  if (threads > 1 && w->dim[0] * w->dim[1] * w->dim[2] * w->dim[3] > ELEMENTS_PARALLEL) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t ob = 0; ob < n; ob++) row(w, ob, from, to);
  } else {
    for (int64_t ob = 0; ob < n; ob++) row(w, ob, from, to);
  }
}

void plim_weights_to(const plim_weights_order *order, const float *plain, float *ordered, int threads) {
  copy(order, plain, ordered, threads, row_to);
}

void plim_weights_from(const plim_weights_order *order, const float *ordered, float *plain, int threads) {
  copy(order, ordered, plain, threads, row_from);
}

/* A query at a time. Backward, the gradients of keys and values are summed before they are rounded. */
#include "tests/support/fake_attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/kernel_reference.h"

enum { Q, K, V, O, STATS, DO, DQ, DK, DV };

static int64_t at(const fake_attention *a, int tensor, int64_t head, int64_t token) {
  const int64_t *step = a->step[tensor];
  return head / a->heads * step[0] + head % a->heads * step[1] + token * step[2];
}

static double element(const fake_attention *a, int tensor, int64_t head, int64_t token, int64_t d) {
  return reference_of_bf16(((const uint16_t *)a->place[tensor])[at(a, tensor, head, token) + d]);
}

/* To the nearest; ties to even. */
static void store(const fake_attention *a, int tensor, int64_t head, int64_t token, int64_t d, double value) {
  const float rounded = (float)(a->wrong ? value * 1.05 : value);
  uint32_t bits;
  memcpy(&bits, &rounded, sizeof bits);
  ((uint16_t *)a->place[tensor])[at(a, tensor, head, token) + d] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float *stats_of(const fake_attention *a, int64_t head, int64_t token) {
  return (float *)a->place[STATS] + at(a, STATS, head, token);
}

static double dot(const fake_attention *a, int64_t head, int x, int64_t i, int y, int64_t j) {
  double sum = 0;
  for (int64_t d = 0; d < a->depth; d++) sum += element(a, x, head, i, d) * element(a, y, head, j, d);
  return sum;
}

static void forward(const fake_attention *a, int64_t head, double *weight) {
  for (int64_t i = 0; i < a->tokens; i++) {
    double most = -INFINITY, sum = 0;
    for (int64_t j = 0; j <= i; j++) {
      weight[j] = (double)a->scale * dot(a, head, Q, i, K, j);
      most = fmax(most, weight[j]);
    }
    for (int64_t j = 0; j <= i; j++) sum += exp(weight[j] - most);
    const double lse = most + log(sum);
    *stats_of(a, head, i) = (float)lse;
    for (int64_t d = 0; d < a->depth; d++) {
      double y = 0;
      for (int64_t j = 0; j <= i; j++) y += exp(weight[j] - lse) * element(a, V, head, j, d);
      store(a, O, head, i, d, y);
    }
  }
}

/* dk, dv: [tokens][depth] sums. */
static void backward_query(const fake_attention *a, int64_t head, int64_t i, double *dq, double *dk, double *dv) {
  const double delta = dot(a, head, DO, i, O, i);
  memset(dq, 0, (size_t)a->depth * sizeof *dq);
  for (int64_t j = 0; j <= i; j++) {
    const double weight = exp((double)a->scale * dot(a, head, Q, i, K, j) - (double)*stats_of(a, head, i));
    const double dscore = weight * (dot(a, head, DO, i, V, j) - delta) * (double)a->scale;
    for (int64_t d = 0; d < a->depth; d++) {
      dq[d] += dscore * element(a, K, head, j, d);
      dk[j * a->depth + d] += dscore * element(a, Q, head, i, d);
      dv[j * a->depth + d] += weight * element(a, DO, head, i, d);
    }
  }
}

static void backward(const fake_attention *a, int64_t head, double *sums) {
  const int64_t matrix = a->tokens * a->depth;
  double *dk = sums, *dv = sums + matrix, *dq = sums + 2 * matrix;
  memset(sums, 0, (size_t)(2 * matrix) * sizeof *sums);
  for (int64_t i = 0; i < a->tokens; i++) {
    backward_query(a, head, i, dq, dk, dv);
    for (int64_t d = 0; d < a->depth; d++) store(a, DQ, head, i, d, dq[d]);
  }
  for (int64_t i = 0; i < matrix; i++) {
    store(a, DK, head, i / a->depth, i % a->depth, dk[i]);
    store(a, DV, head, i / a->depth, i % a->depth, dv[i]);
  }
}

void fake_attention_run(const void *attention) {
  const fake_attention *a = attention;
  double *sums = calloc((size_t)(2 * a->tokens * a->depth + a->depth + a->tokens), sizeof *sums);
  if (a->workspace_bytes > 0) memset(a->workspace, 0x5a, (size_t)a->workspace_bytes);
  for (int64_t head = 0; head < a->sequences * a->heads; head++) (a->backward ? backward : forward)(a, head, sums);
  free(sums);
}

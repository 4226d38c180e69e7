/* The launches of examples/own_cuda.cu over the fake GPU: what it queues runs on the host when that is
 * waited for. */
#include <string.h>

#include "tests/support/fake_cuda.h"

typedef struct call {
  const float *dy, *x; /* dy NULL: forward */
  float *out;
  int n;
} call;

static void run(const void *argument) {
  call c;
  memcpy(&c, argument, sizeof c);
  const int64_t bytes = c.n * (int64_t)sizeof(float);
  const float *x = fake_cuda_stored(c.x, bytes), *dy = c.dy ? fake_cuda_stored(c.dy, bytes) : NULL;
  float *out = fake_cuda_stored(c.out, bytes);
  for (int i = 0; x && out && i < c.n; i++) out[i] = x[i] > 0 ? (dy ? 2 * dy[i] * x[i] : x[i] * x[i]) : 0;
}

int square_relu(const float *x, float *y, int n, void *queue);
int square_relu(const float *x, float *y, int n, void *queue) {
  const call c = {NULL, x, y, n};
  return fake_cuda_queue(run, &c, sizeof c, queue);
}

int square_relu_back(const float *dy, const float *x, float *dx, int n, void *queue);
int square_relu_back(const float *dy, const float *x, float *dx, int n, void *queue) {
  const call c = {dy, x, dx, n};
  return fake_cuda_queue(run, &c, sizeof c, queue);
}

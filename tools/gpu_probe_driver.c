/* What the driver's table does by itself: the clock of op times, what allocations and captured graphs take, sums of a
 * library. */
#include <math.h>
#include <stdlib.h>

#include "kernels/launch.h"
#include "tools/gpu_probe.h"

static void use_device(void) {
  plim_cuda_facts facts;
  gpu(probe.driver->use(probe.index, &facts), "the GPU cannot be used");
}

/* ---- the clock of op times ---- */

enum { EMPTY = 1000, TIMED = 64, ROUNDS = 50, IN_A_ROW = 16 };

/* Times from each timing event to the next one, or to the one after it. */
static summary between(void *const *timing_event, int n, int stride) {
  double *time = room((size_t)n, sizeof *time);
  int count = 0;
  for (int i = 0; i + 1 < n; i += stride) {
    int64_t time_ns = 0;
    gpu(probe.driver->elapsed(timing_event[i], timing_event[i + 1], &time_ns), "elapsed");
    time[count++] = (double)time_ns;
  }
  const summary s = summarize(time, count);
  free(time);
  return s;
}

static summary empty_graphs(void *stream) {
  static void *timing_event[2 * EMPTY];
  const plim_cuda_driver *d = probe.driver;
  void *graph = NULL;
  new_timing_events(timing_event, 2 * EMPTY);
  gpu(d->capture_begin(stream), "capture");
  gpu(d->capture_end(stream, &graph), "an empty graph");
  for (int i = 0; i < EMPTY; i++) {
    gpu(d->timing_event_record(timing_event[2 * i], stream), "timing event");
    gpu(d->captured_launch(graph, stream), "an empty graph");
    gpu(d->timing_event_record(timing_event[2 * i + 1], stream), "timing event");
  }
  gpu(d->stream_sync(stream), "empty graphs");
  const summary s = between(timing_event, 2 * EMPTY, 2);
  gpu(d->captured_free(graph), "an empty graph");
  free_timing_events(timing_event, 2 * EMPTY);
  return s;
}

static summary timing_events_in_a_graph(void *stream) {
  static void *timing_event[TIMED];
  const plim_cuda_driver *d = probe.driver;
  void *graph = NULL;
  new_timing_events(timing_event, TIMED);
  gpu(d->capture_begin(stream), "capture");
  for (int i = 0; i < TIMED; i++) gpu(d->timing_event_record(timing_event[i], stream), "timing event");
  gpu(d->capture_end(stream, &graph), "a graph of timing events");
  for (int i = 0; i < 2; i++)
    gpu(d->captured_launch(graph, stream), "a graph of timing events"); /* the first one warms up */
  gpu(d->stream_sync(stream), "a graph of timing events");
  const summary s = between(timing_event, TIMED, 1);
  gpu(d->captured_free(graph), "a graph of timing events");
  free_timing_events(timing_event, TIMED);
  return s;
}

/* A kernel of about 2 us. */
typedef struct small_kernel {
  void *memory;
  k_call call;
  int64_t tiles;
} small_kernel;

static small_kernel small_kernel_make(void *stream) {
  const plim_cuda_driver *d = probe.driver;
  const int64_t bytes = PROBE_SMALL * (int64_t)sizeof(float);
  small_kernel k = {.call = {.elements = PROBE_SMALL}, .tiles = k_tiles(PROBE_SMALL, K_KERNEL_relu)};
  gpu(d->alloc(&k.memory, 2 * bytes), "alloc");
  gpu(d->fill(k.memory, 0, 2 * bytes, stream), "fill");
  k.call.in[0] = k.memory;
  k.call.out[0] = (char *)k.memory + bytes;
  gpu(d->launch(K_KERNEL_relu, &k.call, k.tiles, stream), "a kernel"); /* loads it, which a capture forbids */
  gpu(d->stream_sync(stream), "a kernel");
  return k;
}

static void launch(const small_kernel *k, int times, void *stream) {
  for (int i = 0; i < times; i++) gpu(probe.driver->launch(K_KERNEL_relu, &k->call, k->tiles, stream), "a kernel");
}

/* us of one alone, and of one of 16, less what a timing event takes. */
static void once_and_in_a_row(void *stream, double timing_event_ns, double *once, double *in_a_row) {
  const plim_cuda_driver *d = probe.driver;
  small_kernel k = small_kernel_make(stream);
  double one[ROUNDS], many[ROUNDS];
  void *timing_event[3], *graph = NULL;
  new_timing_events(timing_event, 3);
  gpu(d->capture_begin(stream), "capture");
  gpu(d->timing_event_record(timing_event[0], stream), "timing event");
  launch(&k, 1, stream);
  gpu(d->timing_event_record(timing_event[1], stream), "timing event");
  launch(&k, IN_A_ROW, stream);
  gpu(d->timing_event_record(timing_event[2], stream), "timing event");
  gpu(d->capture_end(stream, &graph), "a graph of kernels");
  for (int i = 0; i < ROUNDS; i++) {
    int64_t first_ns = 0, rest_ns = 0;
    gpu(d->captured_launch(graph, stream), "a graph of kernels");
    gpu(d->stream_sync(stream), "a graph of kernels");
    gpu(d->elapsed(timing_event[0], timing_event[1], &first_ns), "elapsed");
    gpu(d->elapsed(timing_event[1], timing_event[2], &rest_ns), "elapsed");
    one[i] = (double)first_ns - timing_event_ns;
    many[i] = ((double)rest_ns - timing_event_ns) / IN_A_ROW;
  }
  *once = summarize(one, ROUNDS).median / us;
  *in_a_row = summarize(many, ROUNDS).median / us;
  gpu(d->captured_free(graph), "a graph of kernels");
  free_timing_events(timing_event, 3);
  gpu(d->release(k.memory), "release");
}

json_t *probe_timer(void) {
  double once, in_a_row;
  void *stream = NULL;
  use_device();
  gpu(probe.driver->stream_new(&stream), "stream");
  const summary empty = empty_graphs(stream), timing_event = timing_events_in_a_graph(stream);
  once_and_in_a_row(stream, timing_event.median, &once, &in_a_row);
  gpu(probe.driver->stream_free(stream), "stream");
  return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "empty_graph_us", empty.mean / us, "empty_graph_sigma_us",
                   empty.sigma / us, "tick_us", timing_event.mean / us, "tick_sigma_us", timing_event.sigma / us,
                   "kernel_us", once, "kernel_of_16_us", in_a_row);
}

/* ---- memory ---- */

static int64_t free_bytes(void) {
  int64_t unused, total;
  gpu(probe.driver->memory(&unused, &total), "memory");
  return unused;
}

/* The largest power of two that divides every address. */
static int64_t alignment_of_many(int64_t *bytes) {
  enum { MANY = 1000, BYTES = 72 };
  static void *made[MANY];
  const int64_t before = free_bytes();
  uintptr_t bits = 0;
  for (int i = 0; i < MANY; i++) {
    gpu(probe.driver->alloc(&made[i], BYTES), "alloc");
    bits |= (uintptr_t)made[i];
  }
  *bytes = before - free_bytes();
  for (int i = 0; i < MANY; i++) gpu(probe.driver->release(made[i]), "release");
  return (int64_t)(bits & -bits);
}

json_t *probe_memory(void) {
  enum { KERNELS = 400 };
  int64_t many_bytes = 0;
  void *stream = NULL, *graph = NULL;
  use_device();
  gpu(probe.driver->stream_new(&stream), "stream");
  const int64_t alignment = alignment_of_many(&many_bytes);
  const small_kernel k = small_kernel_make(stream);
  const int64_t before = free_bytes();
  gpu(probe.driver->capture_begin(stream), "capture");
  launch(&k, KERNELS, stream);
  gpu(probe.driver->capture_end(stream, &graph), "a graph");
  gpu(probe.driver->captured_launch(graph, stream), "a graph");
  gpu(probe.driver->stream_sync(stream), "a graph");
  const int64_t during = free_bytes();
  gpu(probe.driver->captured_free(graph), "a graph");
  const int64_t after = free_bytes();
  gpu(probe.driver->release(k.memory), "release");
  gpu(probe.driver->stream_free(stream), "stream");
  return json_pack("{s:I, s:I, s:i, s:I, s:I}", "alignment_bytes", (json_int_t)alignment, "thousand_allocations_bytes",
                   (json_int_t)many_bytes, "graph_kernels", (int)KERNELS, "graph_bytes", (json_int_t)(before - during),
                   "graph_kept_bytes", (json_int_t)(before - after));
}

/* ---- sums of a library ---- */

enum { M = 4, N = 8, K = 1 << 16, WORKSPACE = 32 << 20 };

/* Numbers that bf16 has, in [-1, 1]. */
static void fill_bf16(uint16_t *to, double *value, int n, uint32_t seed) {
  for (int i = 0; i < n; i++) {
    union {
      float number;
      uint32_t bits;
    } x;
    seed = seed * 1664525U + 1013904223U;
    x.number = (float)(int32_t)seed / 2147483648.0F;
    x.bits &= 0xffff0000U;
    to[i] = (uint16_t)(x.bits >> 16);
    value[i] = (double)x.number;
  }
}

/* Largest difference from double precision, by the largest element. */
static double product_error(void *blas, void *stream) {
  const plim_cuda_driver *d = probe.driver;
  const plim_cuda_product product = {.m = M, .n = N, .k = K, .precision = PLIM_PRECISION_BF16, .c_is_f32 = 1};
  uint16_t *a = room((size_t)M * K, 2), *b = room((size_t)K * N, 2);
  double *x = room((size_t)M * K, sizeof *x), *y = room((size_t)K * N, sizeof *y), off = 0, largest = 0;
  float c[M * N];
  void *at[4];
  const int64_t bytes[4] = {(int64_t)M * K * 2, (int64_t)K * N * 2, sizeof c, WORKSPACE};
  fill_bf16(a, x, M * K, 1);
  fill_bf16(b, y, K * N, 2);
  for (int i = 0; i < 4; i++) gpu(d->alloc(&at[i], bytes[i]), "alloc");
  gpu(d->copy(at[0], a, bytes[0], stream), "copy");
  gpu(d->copy(at[1], b, bytes[1], stream), "copy");
  gpu(d->multiply(blas, &product, at[0], at[1], at[2], at[3], WORKSPACE, stream), "a product in bf16");
  gpu(d->copy(c, at[2], bytes[2], stream), "copy");
  gpu(d->stream_sync(stream), "a product in bf16");
  for (int i = 0; i < M * N; i++) {
    double sum = 0;
    for (int k = 0; k < K; k++) sum += x[(i / N) * K + k] * y[k * N + i % N];
    off = fmax(off, fabs((double)c[i] - sum));
    largest = fmax(largest, fabs(sum));
  }
  for (int i = 0; i < 4; i++) gpu(d->release(at[i]), "release");
  free(a);
  free(b);
  free(x);
  free(y);
  return off / largest;
}

json_t *probe_sums(void) {
  char why[256] = "";
  int32_t version = 0;
  void *blas = NULL, *stream = NULL;
  use_device();
  gpu(probe.driver->blas_open(plim_kernel_malloc(), &blas, &version, why, sizeof why), "cuBLAS");
  if (!blas) return json_pack("{s:n, s:s}", "relative_error", "why", why);
  gpu(probe.driver->stream_new(&stream), "stream");
  const double error = product_error(blas, stream);
  gpu(probe.driver->stream_free(stream), "stream");
  gpu(probe.driver->blas_close(blas), "cuBLAS");
  return json_pack("{s:f, s:i, s:i}", "relative_error", error, "products", (int)K, "cublas", (int)version);
}

/* Measures what the commands of plimsoll do not show, for tools/gpu_check: the clock of op times, what allocations and
 * captured graphs take, sums of a library, a lost device, a step without the host. One JSON object on standard output.
 * The driver's table is called directly, or lies under a device of ours with some functions replaced by ones that also
 * look. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cudnn_api.h"
#include "kernels/launch.h"
#include "runtime/device/ceilings.h"
#include "runtime/device/desc.h"
#include "runtime/device/device_cuda.h"
#include "runtime/train/trainer.h"

enum { CLASSES = 10, CHANNELS = 3, PERCENT = 100 };
static const double us = 1e3, ms = 1e6; /* of nanoseconds */

/* What the command line says, and the GPU by its driver alone. */
static struct {
  int32_t index, batch, side;
  const plim_cuda_driver *driver;
} probe = {0, 128, 32, NULL};

/* ---- failures: a sentence, and the end ---- */

static void gpu(int code, const char *what) {
  if (code == 0) return;
  (void)fprintf(stderr, "gpu_probe: %s: %s (CUDA error %d)\n", what, probe.driver->error(code), code);
  exit(plim_status_exit(PLIM_EDEVICE));
}

static void well(const plim_context *ctx, plim_status status) {
  if (status == PLIM_OK) return;
  (void)fprintf(stderr, "gpu_probe: %s\n", plim_context_error(ctx));
  exit(plim_status_exit(status));
}

static void *room(size_t count, size_t bytes) {
  void *made = calloc(count, bytes);
  if (made) return made;
  (void)fprintf(stderr, "gpu_probe: no memory for %zu x %zu bytes\n", count, bytes);
  exit(plim_status_exit(PLIM_ENOMEM));
}

static void use_device(void) {
  plim_cuda_facts facts;
  gpu(probe.driver->use(probe.index, &facts), "the GPU cannot be used");
}

/* ---- mean, deviation, median ---- */

typedef struct summary {
  double mean, sigma, median, most;
} summary;

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts them. */
static summary summarize(double *value, int n) {
  summary s = {0, 0, 0, 0};
  if (n == 0) return s;
  qsort(value, (size_t)n, sizeof *value, by_value);
  for (int i = 0; i < n; i++) s.mean += value[i] / n;
  for (int i = 0; i < n; i++) s.sigma += (value[i] - s.mean) * (value[i] - s.mean) / n;
  s.sigma = sqrt(s.sigma);
  s.median = value[n / 2];
  s.most = value[n - 1];
  return s;
}

/* ---- the clock of op times ---- */

enum { EMPTY = 1000, TICKS = 64, ROUNDS = 50, IN_A_ROW = 16, SMALL = 1 << 16 /* elements: about 2 us */ };

static void new_ticks(void **tick, int n) {
  for (int i = 0; i < n; i++) gpu(probe.driver->tick_new(&tick[i]), "tick");
}

static void free_ticks(void **tick, int n) {
  for (int i = 0; i < n; i++) gpu(probe.driver->tick_free(tick[i]), "tick");
}

/* Times from each tick to the next one, or to the one behind it. */
static summary between(void *const *tick, int n, int stride) {
  double *time = room((size_t)n, sizeof *time);
  int count = 0;
  for (int i = 0; i + 1 < n; i += stride) {
    int64_t time_ns = 0;
    gpu(probe.driver->elapsed(tick[i], tick[i + 1], &time_ns), "elapsed");
    time[count++] = (double)time_ns;
  }
  const summary s = summarize(time, count);
  free(time);
  return s;
}

static summary empty_graphs(void *stream) {
  static void *tick[2 * EMPTY];
  const plim_cuda_driver *d = probe.driver;
  void *graph = NULL;
  new_ticks(tick, 2 * EMPTY);
  gpu(d->capture_begin(stream), "capture");
  gpu(d->capture_end(stream, &graph), "an empty graph");
  for (int i = 0; i < EMPTY; i++) {
    gpu(d->tick_record(tick[2 * i], stream), "tick");
    gpu(d->captured_launch(graph, stream), "an empty graph");
    gpu(d->tick_record(tick[2 * i + 1], stream), "tick");
  }
  gpu(d->stream_sync(stream), "empty graphs");
  const summary s = between(tick, 2 * EMPTY, 2);
  gpu(d->captured_free(graph), "an empty graph");
  free_ticks(tick, 2 * EMPTY);
  return s;
}

static summary ticks_in_a_graph(void *stream) {
  static void *tick[TICKS];
  const plim_cuda_driver *d = probe.driver;
  void *graph = NULL;
  new_ticks(tick, TICKS);
  gpu(d->capture_begin(stream), "capture");
  for (int i = 0; i < TICKS; i++) gpu(d->tick_record(tick[i], stream), "tick");
  gpu(d->capture_end(stream, &graph), "a graph of ticks");
  for (int i = 0; i < 2; i++) gpu(d->captured_launch(graph, stream), "a graph of ticks"); /* the first one warms up */
  gpu(d->stream_sync(stream), "a graph of ticks");
  const summary s = between(tick, TICKS, 1);
  gpu(d->captured_free(graph), "a graph of ticks");
  free_ticks(tick, TICKS);
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
  const int64_t bytes = SMALL * (int64_t)sizeof(float);
  small_kernel k = {.call = {.elements = SMALL}, .tiles = k_tiles(SMALL, K_BODY_relu)};
  gpu(d->alloc(&k.memory, 2 * bytes), "alloc");
  gpu(d->fill(k.memory, 0, 2 * bytes, stream), "fill");
  k.call.in[0] = k.memory;
  k.call.out[0] = (char *)k.memory + bytes;
  gpu(d->launch(K_BODY_relu, &k.call, k.tiles, stream), "a kernel"); /* loads it, which a capture forbids */
  gpu(d->stream_sync(stream), "a kernel");
  return k;
}

static void launch(const small_kernel *k, int times, void *stream) {
  for (int i = 0; i < times; i++) gpu(probe.driver->launch(K_BODY_relu, &k->call, k->tiles, stream), "a kernel");
}

/* us of one alone, and of one of 16, less what a tick takes. */
static void once_and_in_a_row(void *stream, double tick_ns, double *once, double *in_a_row) {
  const plim_cuda_driver *d = probe.driver;
  small_kernel k = small_kernel_make(stream);
  double one[ROUNDS], many[ROUNDS];
  void *tick[3], *graph = NULL;
  new_ticks(tick, 3);
  gpu(d->capture_begin(stream), "capture");
  gpu(d->tick_record(tick[0], stream), "tick");
  launch(&k, 1, stream);
  gpu(d->tick_record(tick[1], stream), "tick");
  launch(&k, IN_A_ROW, stream);
  gpu(d->tick_record(tick[2], stream), "tick");
  gpu(d->capture_end(stream, &graph), "a graph of kernels");
  for (int i = 0; i < ROUNDS; i++) {
    int64_t first_ns = 0, rest_ns = 0;
    gpu(d->captured_launch(graph, stream), "a graph of kernels");
    gpu(d->stream_sync(stream), "a graph of kernels");
    gpu(d->elapsed(tick[0], tick[1], &first_ns), "elapsed");
    gpu(d->elapsed(tick[1], tick[2], &rest_ns), "elapsed");
    one[i] = (double)first_ns - tick_ns;
    many[i] = ((double)rest_ns - tick_ns) / IN_A_ROW;
  }
  *once = summarize(one, ROUNDS).median / us;
  *in_a_row = summarize(many, ROUNDS).median / us;
  gpu(d->captured_free(graph), "a graph of kernels");
  free_ticks(tick, 3);
  gpu(d->release(k.memory), "release");
}

static json_t *probe_timer(void) {
  double once, in_a_row;
  void *stream = NULL;
  use_device();
  gpu(probe.driver->stream_new(&stream), "stream");
  const summary empty = empty_graphs(stream), tick = ticks_in_a_graph(stream);
  once_and_in_a_row(stream, tick.median, &once, &in_a_row);
  gpu(probe.driver->stream_free(stream), "stream");
  return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "empty_graph_us", empty.mean / us, "empty_graph_sigma_us",
                   empty.sigma / us, "tick_us", tick.mean / us, "tick_sigma_us", tick.sigma / us, "kernel_us", once,
                   "kernel_of_16_us", in_a_row);
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

static json_t *probe_memory(void) {
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
  const plim_cuda_product product = {.m = M, .n = N, .k = K, .math = PLIM_MATH_BF16, .to_floats = 1};
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

static json_t *probe_sums(void) {
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

/* ---- a device of ours over the driver ---- */

/* What the functions in the place of the driver's saw. */
static struct {
  plim_cuda_driver driver;
  void *graph, *stream; /* the last that was launched */
  int capturing;
  int64_t launches; /* in the last capture: kernels, and calls of libraries */
  int (*execute)(void *handle, void *plan, void *pack);
} seen;

static int see_launch(k_body body, const k_call *call, int64_t tiles, void *stream) {
  seen.launches += seen.capturing;
  return probe.driver->launch(body, call, tiles, stream);
}
static int see_multiply(void *blas, const plim_cuda_product *product, const void *a, const void *b, void *c,
                        void *workspace, int64_t workspace_bytes, void *stream) {
  seen.launches += seen.capturing;
  return probe.driver->multiply(blas, product, a, b, c, workspace, workspace_bytes, stream);
}
static int see_execute(void *handle, void *plan, void *pack) {
  seen.launches += seen.capturing;
  return seen.execute(handle, plan, pack);
}
static void see_dnn_load(plim_cudnn_api *api, char *why, size_t why_bytes) {
  probe.driver->dnn_load(api, why, why_bytes);
  seen.execute = api->execute;
  if (api->execute) api->execute = see_execute;
}
static int see_capture_begin(void *stream) {
  seen.capturing = 1;
  seen.launches = 0;
  return probe.driver->capture_begin(stream);
}
static int see_capture_end(void *stream, void **captured) {
  seen.capturing = 0;
  return probe.driver->capture_end(stream, captured);
}
static int see_captured_launch(void *captured, void *stream) {
  seen.graph = captured;
  seen.stream = stream;
  return probe.driver->captured_launch(captured, stream);
}

static plim_device *open_seen(plim_context *ctx) {
  plim_device_options options = plim_device_options_default();
  plim_device *device = NULL;
  seen.driver = *probe.driver;
  seen.driver.launch = see_launch;
  seen.driver.multiply = see_multiply;
  seen.driver.dnn_load = see_dnn_load;
  seen.driver.capture_begin = see_capture_begin;
  seen.driver.capture_end = see_capture_end;
  seen.driver.captured_launch = see_captured_launch;
  well(ctx, plim_device_cuda_open(ctx, &seen.driver, probe.index, &options, &device));
  return device;
}

static plim_context *open_context(void) {
  plim_context *ctx = NULL;
  if (plim_context_new(NULL, NULL, &ctx) == PLIM_OK) return ctx;
  (void)fprintf(stderr, "gpu_probe: no memory\n");
  exit(plim_status_exit(PLIM_ENOMEM));
}

static plim_net *open_net(plim_context *ctx, plim_layout layout) {
  plim_net_options options = plim_net_options_default();
  plim_net *net = NULL;
  options.batch = probe.batch;
  options.height = options.width = probe.side;
  options.channels = CHANNELS;
  options.classes = CLASSES;
  options.layout = layout;
  well(ctx, plim_model_make(ctx, "resnet20", &options, &net));
  return net;
}

/* ---- a lost device ---- */

/* As a program that meets an illegal address ends: the sentence, status 5, and everything given back. */
static json_t *probe_lost(void) {
  plim_context *ctx = open_context();
  plim_device *device = open_seen(ctx);
  plim_op_desc op = {.kind = PLIM_OP_RELU, .n_in = 1, .n_out = 1};
  void *kernel = NULL, *nowhere = (void *)(uintptr_t)PLIM_ALIGN;
  const int64_t dim[] = {SMALL};
  op.in[0] = op.out[0] = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, dim);
  const plim_kernel_args args = {.in = &nowhere, .out = &nowhere};
  well(ctx, device->api->prepare(device, &op, "single-source", &kernel));
  plim_status status = device->api->run(device, 0, kernel, &args);
  if (status == PLIM_OK) status = device->api->sync(device);
  device->api->unprepare(device, kernel);
  plim_device_close(device);
  well(ctx, status);
  plim_context_free(ctx);
  return json_pack("{s:s}", "lost", "nothing happened");
}

/* ---- a step without the host ---- */

/* The trainer's loop beside its captured step launched again and again. */
static void time_step(plim_trainer *trainer, const plim_context *ctx, double *loop_ns, double *graph_ns) {
  enum { STEPS = 60, WARM = 4 };
  void *tick[2];
  int64_t time_ns = 0;
  well(ctx, plim_trainer_run(trainer, WARM, NULL, NULL));
  const int64_t begin = plim_now_ns();
  well(ctx, plim_trainer_run(trainer, STEPS, NULL, NULL));
  *loop_ns = (double)(plim_now_ns() - begin) / STEPS;
  if (!seen.graph) {
    (void)fprintf(stderr, "gpu_probe: no step was captured\n");
    exit(plim_status_exit(PLIM_EDEVICE));
  }
  new_ticks(tick, 2);
  gpu(probe.driver->tick_record(tick[0], seen.stream), "tick");
  for (int i = 0; i < STEPS; i++) gpu(probe.driver->captured_launch(seen.graph, seen.stream), "a captured step");
  gpu(probe.driver->tick_record(tick[1], seen.stream), "tick");
  gpu(probe.driver->stream_sync(seen.stream), "a captured step");
  gpu(probe.driver->elapsed(tick[0], tick[1], &time_ns), "elapsed");
  free_ticks(tick, 2);
  *graph_ns = (double)time_ns / STEPS;
}

static plim_dataset *open_data(plim_context *ctx) {
  plim_dataset_options options = plim_dataset_options_default();
  plim_dataset *data = NULL;
  options.height = options.width = probe.side;
  options.channels = CHANNELS;
  options.train_count = 4 * probe.batch;
  options.test_count = probe.batch;
  well(ctx, plim_dataset_load(ctx, "synthetic", &options, &data));
  return data;
}

static json_t *probe_replay(void) {
  const plim_profiler_options profiling = plim_profiler_options_default();
  plim_trainer_options training = plim_trainer_options_default();
  plim_plan_options planning = plim_plan_options_default();
  plim_context *ctx = open_context();
  plim_device *device = open_seen(ctx);
  plim_net *net = open_net(ctx, device->layout[0]);
  plim_dataset *data = open_data(ctx);
  plim_program *program = NULL;
  plim_trainer *trainer = NULL;
  double loop_ns = 0, graph_ns = 0;
  planning.planner = "keep-all";
  training.schedule.total_steps = 1000;
  well(ctx, plim_program_begin(device, net, &profiling, &program));
  well(ctx, plim_program_plan(program, &planning));
  well(ctx, plim_trainer_open(device, data, program, &training, &trainer));
  time_step(trainer, ctx, &loop_ns, &graph_ns);
  plim_trainer_close(trainer);
  plim_program_free(program);
  plim_dataset_free(data);
  plim_net_free(net);
  plim_device_close(device);
  plim_context_free(ctx);
  return json_pack("{s:f, s:f, s:f, s:I}", "loop_us", loop_ns / us, "graph_us", graph_ns / us, "idle_percent",
                   PERCENT * (loop_ns - graph_ns) / loop_ns, "kernels_a_step", (json_int_t)seen.launches);
}

/* ---- ops of a step ---- */

typedef struct op_rows {
  int n;
  plim_op_desc *op; /* [n] different ones */
  int *times;       /* [n] in a step */
} op_rows;

static op_rows different_ops(const plim_graph *graph) {
  op_rows rows = {0, room((size_t)graph->n_ops, sizeof *rows.op), room((size_t)graph->n_ops, sizeof *rows.times)};
  for (int32_t o = 0; o < graph->n_ops; o++) {
    int at = 0;
    plim_op_desc desc;
    plim_desc_of(graph, o, &desc);
    while (at < rows.n && !plim_desc_equal(&rows.op[at], &desc)) at++;
    if (at == rows.n) rows.op[rows.n++] = desc;
    rows.times[at]++;
  }
  return rows;
}

static int is_convolution(plim_op_kind kind) {
  return kind == PLIM_OP_CONV2D || kind == PLIM_OP_CONV2D_BWD_DATA || kind == PLIM_OP_CONV2D_BWD_WEIGHTS;
}
static int is_product(plim_op_kind kind) {
  return kind == PLIM_OP_LINEAR || kind == PLIM_OP_LINEAR_BWD_DATA || kind == PLIM_OP_LINEAR_BWD_WEIGHTS;
}

/* For ops of a step of ResNet-20, with a device that nothing was asked of. */
typedef json_t *on_ops(plim_device *device, const op_rows *rows);
static json_t *with_ops(on_ops *function) {
  plim_context *ctx = open_context();
  plim_device *device = open_seen(ctx);
  plim_net *net = open_net(ctx, device->layout[0]);
  plim_graph *graph = NULL;
  well(ctx, plim_net_train_graph(net, &graph));
  op_rows rows = different_ops(graph);
  json_t *result = function(device, &rows);
  free(rows.op);
  free(rows.times);
  plim_graph_free(graph);
  plim_net_free(net);
  plim_device_close(device);
  plim_context_free(ctx);
  return result;
}

/* ---- kernels that libraries build ---- */

enum { LISTED = 64 /* variants of an op */ };

static json_t *time_plans(plim_device *device, const op_rows *rows) {
  double *list = room((size_t)rows->n, sizeof *list), *build = room((size_t)rows->n, sizeof *build);
  plim_kernel_info info[LISTED];
  int convolutions = 0, variants = 0, built = 0, refused = 0;
  for (int i = 0; i < rows->n; i++) {
    if (!is_convolution(rows->op[i].kind)) continue;
    int64_t begin = plim_now_ns();
    const int n = device->api->variants(device, &rows->op[i], info, LISTED);
    list[convolutions++] = (double)(plim_now_ns() - begin);
    variants += n;
    for (int v = 0; v < n && v < LISTED; v++) {
      void *kernel = NULL;
      if (!info[v].builds) continue;
      begin = plim_now_ns();
      if (device->api->prepare(device, &rows->op[i], info[v].name, &kernel) != PLIM_OK) {
        refused++;
        well(device->ctx, device->api->recover(device));
        continue;
      }
      build[built++] = (double)(plim_now_ns() - begin);
      device->api->unprepare(device, kernel);
      break; /* the likeliest one of each */
    }
  }
  const summary l = summarize(list, convolutions), b = summarize(build, built);
  free(list);
  free(build);
  return json_pack("{s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:f}", "convolutions", convolutions, "variants", variants,
                   "built", built, "refused", refused, "list_ms_mean", l.mean / ms, "list_ms_most", l.most / ms,
                   "build_ms_mean", b.mean / ms, "build_ms_most", b.most / ms);
}

/* ---- single-source kernels beside the memory ---- */

enum { OPERANDS = PLIM_OP_MAX_IN + PLIM_OP_MAX_OUT + PLIM_OP_MAX_UPD };

static int allocate(plim_device *device, const plim_shape *shape, int n, void **memory) {
  for (int i = 0; i < n; i++) {
    const int64_t bytes = plim_shape_bytes(&shape[i]);
    well(device->ctx, device->api->alloc(device, bytes, &memory[i]));
    well(device->ctx, device->api->fill(device, 0, memory[i], 0, bytes));
  }
  return n;
}
static void release(plim_device *device, const plim_shape *shape, int n, void **memory) {
  for (int i = 0; i < n; i++) device->api->release(device, memory[i], plim_shape_bytes(&shape[i]));
}

/* Median of some runs, ns; 0 where there is no such kernel. */
static double single_source_ns(plim_device *device, const plim_op_desc *op) {
  enum { RUNS = 9 };
  void *memory[OPERANDS], *kernel = NULL, *workspace = NULL;
  void **in = memory, **out = in + PLIM_OP_MAX_IN, **upd = out + PLIM_OP_MAX_OUT;
  double time[RUNS];
  if (device->api->prepare(device, op, "single-source", &kernel) != PLIM_OK) return 0;
  const int64_t bytes = device->api->workspace(device, kernel);
  (void)allocate(device, op->in, op->n_in, in);
  (void)allocate(device, op->out, op->n_out, out);
  (void)allocate(device, op->upd, op->n_upd, upd);
  if (bytes > 0) well(device->ctx, device->api->alloc(device, bytes, &workspace));
  const plim_kernel_args args = {.in = in, .out = out, .upd = upd, .workspace = workspace, .seed = 1, .step = 2};
  for (int i = -1; i < RUNS; i++) {
    int64_t time_ns = 0;
    well(device->ctx, plim_device_time(device, kernel, &args, &time_ns));
    if (i >= 0) time[i] = (double)time_ns;
  }
  if (workspace) device->api->release(device, workspace, bytes);
  release(device, op->in, op->n_in, in);
  release(device, op->out, op->n_out, out);
  release(device, op->upd, op->n_upd, upd);
  device->api->unprepare(device, kernel);
  return summarize(time, RUNS).median;
}

static json_t *time_bodies(plim_device *device, const op_rows *rows) {
  plim_ceilings ceilings;
  json_t *list = json_array();
  double all_ns = 0, least_ns = 0;
  well(device->ctx, plim_ceilings_measure(device, &ceilings));
  for (int i = 0; i < rows->n; i++) {
    const plim_op_desc *op = &rows->op[i];
    if (is_convolution(op->kind) || is_product(op->kind)) continue;
    const double ns = single_source_ns(device, op), bytes = (double)plim_op_traffic(op);
    if (ns <= 0) continue;
    all_ns += ns * rows->times[i];
    least_ns += bytes / ceilings.bytes_per_ns * rows->times[i];
    (void)json_array_append_new(
        list, json_pack("{s:s, s:f, s:i, s:f, s:f}", "kernel", plim_op_kind_name(op->kind), "mib", bytes / 1048576,
                        "in_a_step", rows->times[i], "us", ns / us, "gb_per_s", bytes / ns));
  }
  return json_pack("{s:f, s:f, s:o}", "ceiling_gb_per_s", ceilings.bytes_per_ns, "percent_of_ceiling",
                   all_ns > 0 ? PERCENT * least_ns / all_ns : 0, "rows", list);
}

/* ---- the command line ---- */

static json_t *probe_plans(void) {
  return with_ops(time_plans);
}
static json_t *probe_bodies(void) {
  return with_ops(time_bodies);
}

static const struct {
  const char *name;
  json_t *(*run)(void);
} probes[] = {
    {"timer", probe_timer},   {"memory", probe_memory}, {"sums", probe_sums},     {"lost", probe_lost},
    {"replay", probe_replay}, {"plans", probe_plans},   {"bodies", probe_bodies},
};

static int usage(FILE *to) {
  (void)fprintf(to,
                "usage: gpu_probe timer|memory|sums|lost|replay|plans|bodies [--device cuda:N] [--batch N] [--side "
                "N]\n");
  return to == stdout ? 0 : plim_status_exit(PLIM_EUSAGE);
}

static int32_t number(const char *text) {
  char *end;
  const long value = strtol(text, &end, 10);
  return *end == 0 && value >= 0 && value <= 4096 ? (int32_t)value : -1;
}

/* 0: an option that is none. */
static int read_option(const char *name, const char *value) {
  if (strcmp(name, "--device") == 0 && strncmp(value, "cuda:", 5) == 0) return (probe.index = number(value + 5)) >= 0;
  if (strcmp(name, "--batch") == 0) return (probe.batch = number(value)) > 0;
  if (strcmp(name, "--side") == 0) return (probe.side = number(value)) > 0;
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return usage(stdout);
  if (argc < 2 || argc % 2 != 0) return usage(stderr);
  for (int i = 2; i < argc; i += 2) {
    if (!read_option(argv[i], argv[i + 1])) return usage(stderr);
  }
  probe.driver = plim_cuda_driver_real();
  if (!probe.driver) {
    (void)fprintf(stderr, "gpu_probe: this build has no CUDA\n");
    return plim_status_exit(PLIM_EDEVICE);
  }
  for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
    if (strcmp(argv[1], probes[i].name) != 0) continue;
    json_t *result = probes[i].run();
    (void)json_dumpf(result, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    (void)putchar('\n');
    json_decref(result);
    return 0;
  }
  return usage(stderr);
}

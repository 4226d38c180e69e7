/* What devices of ours do: a lost one, the captured step without the host, kernels that libraries build, single-source
 * kernels beside the memory and over more elements than 31 bits count, two devices. The device lies over the driver's
 * table with some functions replaced by ones that also look. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cudnn_api.h"
#include "runtime/device/desc.h"
#include "runtime/device/device_cuda.h"
#include "runtime/profile/roofline_peaks.h"
#include "runtime/train/trainer.h"
#include "tools/gpu_probe.h"

enum { CLASSES = 10, CHANNELS = 3, PERCENT = 100 };

/* ---- a device of ours over the driver ---- */

/* What the functions in the place of the driver's saw. */
static struct {
  plim_cuda_driver driver;
  void *graph, *stream; /* the last that was launched */
  int capturing;
  int64_t launches; /* in the last capture: kernels, and calls of libraries */
  int (*execute)(void *handle, void *plan, void *pack);
} seen;

static int see_launch(k_kernel kernel, const k_call *call, int64_t tiles, void *stream) {
  seen.launches += seen.capturing;
  return probe.driver->launch(kernel, call, tiles, stream);
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

static plim_net *open_net(plim_context *ctx, const char *model, plim_layout layout, plim_precision precision) {
  plim_net_options options = plim_net_options_default();
  plim_net *net = NULL;
  options.batch = probe.batch;
  options.height = options.width = probe.side;
  options.channels = CHANNELS;
  options.classes = CLASSES;
  options.layout = layout;
  options.precision = precision;
  well(ctx, plim_model_make(ctx, model, &options, &net));
  return net;
}

/* ---- a lost device ---- */

/* As a program that meets an illegal address ends: the sentence, status 5, and everything given back. */
json_t *probe_lost(void) {
  plim_context *ctx = open_context();
  plim_device *device = open_seen(ctx);
  plim_op_desc op = {.kind = PLIM_OP_RELU, .n_in = 1, .n_out = 1};
  void *kernel = NULL, *nowhere = (void *)(uintptr_t)PLIM_ALIGN;
  const int64_t dim[] = {PROBE_SMALL};
  op.in[0] = op.out[0] = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, dim);
  const plim_kernel_args args = {.in = &nowhere, .out = &nowhere};
  well(ctx, device->api->kernels.prepare(device, &op, "single-source", &kernel));
  plim_status status = device->api->kernels.run(device, 0, kernel, &args);
  if (status == PLIM_OK) status = device->api->queues.sync(device);
  device->api->kernels.unprepare(device, kernel);
  plim_device_close(device);
  well(ctx, status);
  plim_context_free(ctx);
  return json_pack("{s:s}", "lost", "nothing happened");
}

/* ---- a step without the host ---- */

/* The trainer's loop beside its captured step launched again and again. */
static void time_step(plim_trainer *trainer, const plim_context *ctx, double *loop_ns, double *graph_ns) {
  enum { STEPS = 60, WARM = 4 };
  void *timing_event[2];
  int64_t time_ns = 0;
  well(ctx, plim_trainer_run(trainer, WARM, NULL, NULL));
  const int64_t begin = plim_now_ns();
  well(ctx, plim_trainer_run(trainer, STEPS, NULL, NULL));
  *loop_ns = (double)(plim_now_ns() - begin) / STEPS;
  if (!seen.graph) {
    (void)fprintf(stderr, "gpu_probe: no step was captured\n");
    exit(plim_status_exit(PLIM_EDEVICE));
  }
  new_timing_events(timing_event, 2);
  gpu(probe.driver->timing_event_record(timing_event[0], seen.stream), "timing event");
  for (int i = 0; i < STEPS; i++) gpu(probe.driver->captured_launch(seen.graph, seen.stream), "a captured step");
  gpu(probe.driver->timing_event_record(timing_event[1], seen.stream), "timing event");
  gpu(probe.driver->stream_sync(seen.stream), "a captured step");
  gpu(probe.driver->elapsed(timing_event[0], timing_event[1], &time_ns), "elapsed");
  free_timing_events(timing_event, 2);
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

json_t *probe_replay(void) {
  const plim_profiler_options profiling = plim_profiler_options_default();
  plim_trainer_options training = plim_trainer_options_default();
  plim_plan_options planning = plim_plan_options_default();
  plim_context *ctx = open_context();
  plim_device *device = open_seen(ctx);
  plim_net *net = open_net(ctx, "resnet20", device->layout[0], PLIM_PRECISION_FP32);
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

/* For ops of a step of a model in a layout and precision. */
typedef json_t *on_ops(plim_device *device, const op_rows *rows);
static json_t *with_ops_in(plim_device *device, const char *model, plim_layout layout, plim_precision precision,
                           on_ops *function) {
  plim_net *net = open_net(device->ctx, model, layout, precision);
  plim_graph *graph = NULL;
  well(device->ctx, plim_net_train_graph(net, &graph));
  op_rows rows = different_ops(graph);
  json_t *result = function(device, &rows);
  free(rows.op);
  free(rows.times);
  plim_graph_free(graph);
  plim_net_free(net);
  return result;
}

/* Of ResNet-20, with a device that nothing was asked of. */
static json_t *with_ops(on_ops *function) {
  plim_context *ctx = open_context();
  plim_device *device = open_seen(ctx);
  json_t *result = with_ops_in(device, "resnet20", device->layout[0], PLIM_PRECISION_FP32, function);
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
    const int n = device->api->kernels.variants(device, &rows->op[i], info, LISTED);
    list[convolutions++] = (double)(plim_now_ns() - begin);
    variants += n;
    for (int v = 0; v < n && v < LISTED; v++) {
      void *kernel = NULL;
      if (!info[v].builds) continue;
      begin = plim_now_ns();
      if (device->api->kernels.prepare(device, &rows->op[i], info[v].name, &kernel) != PLIM_OK) {
        refused++;
        well(device->ctx, device->api->kernels.recover(device));
        continue;
      }
      build[built++] = (double)(plim_now_ns() - begin);
      device->api->kernels.unprepare(device, kernel);
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
    well(device->ctx, device->api->memory.alloc(device, bytes, &memory[i]));
    well(device->ctx, device->api->queues.fill(device, 0, memory[i], 0, bytes));
  }
  return n;
}
static void release(plim_device *device, const plim_shape *shape, int n, void **memory) {
  for (int i = 0; i < n; i++) device->api->memory.release(device, memory[i], plim_shape_bytes(&shape[i]));
}

/* Median of some runs, ns; 0 where there is no such kernel, or it fails. */
static double variant_ns(plim_device *device, const plim_op_desc *op, const char *variant) {
  enum { RUNS = 9 };
  void *memory[OPERANDS], *kernel = NULL, *workspace = NULL;
  void **in = memory, **out = in + PLIM_OP_MAX_IN, **upd = out + PLIM_OP_MAX_OUT;
  double time[RUNS] = {0};
  plim_status status = PLIM_OK;
  if (device->api->kernels.prepare(device, op, variant, &kernel) != PLIM_OK) {
    well(device->ctx, device->api->kernels.recover(device));
    return 0;
  }
  const int64_t bytes = device->api->kernels.workspace(device, kernel);
  (void)allocate(device, op->in, op->n_in, in);
  (void)allocate(device, op->out, op->n_out, out);
  (void)allocate(device, op->upd, op->n_upd, upd);
  if (bytes > 0) well(device->ctx, device->api->memory.alloc(device, bytes, &workspace));
  const plim_kernel_args args = {.in = in, .out = out, .upd = upd, .workspace = workspace, .seed = 1, .step = 2};
  for (int i = -1; i < RUNS && status == PLIM_OK; i++) {
    int64_t time_ns = 0;
    status = plim_device_time(device, kernel, &args, &time_ns);
    if (i >= 0) time[i] = (double)time_ns;
  }
  if (status != PLIM_OK) well(device->ctx, device->api->kernels.recover(device));
  if (workspace) device->api->memory.release(device, workspace, bytes);
  release(device, op->in, op->n_in, in);
  release(device, op->out, op->n_out, out);
  release(device, op->upd, op->n_upd, upd);
  device->api->kernels.unprepare(device, kernel);
  return status == PLIM_OK ? summarize(time, RUNS).median : 0;
}

static json_t *time_bodies(plim_device *device, const op_rows *rows) {
  plim_roofline_peaks ceilings;
  json_t *list = json_array();
  double all_ns = 0, least_ns = 0;
  well(device->ctx, plim_roofline_peaks_measure(device, &ceilings));
  for (int i = 0; i < rows->n; i++) {
    const plim_op_desc *op = &rows->op[i];
    if (is_convolution(op->kind) || is_product(op->kind)) continue;
    const double ns = variant_ns(device, op, "single-source"), bytes = (double)plim_op_traffic(op);
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

json_t *probe_plans(void) {
  return with_ops(time_plans);
}
json_t *probe_bodies(void) {
  return with_ops(time_bodies);
}

/* ---- families of kernels ---- */

/* Whose kernel a variant is, by how its name begins. */
static const char *const families[] = {"cudnn", "cublas-flat", "cublas", "im2col", "single-source"};
enum { FAMILIES = sizeof families / sizeof *families };

static int family_of(const char *variant) {
  int f = 0;
  while (f < FAMILIES - 1 && strncmp(variant, families[f], strlen(families[f])) != 0) f++;
  return f;
}

typedef struct family_sum {
  int convolutions, wins; /* that it has kernels for; in which its kernel is the fastest */
  int failed;             /* for which it offers kernels, and none of them runs */
  double ns;              /* of those that it has kernels for */
} family_sum;

static int64_t families_end_ns; /* when the seconds are over */

/* Of the convolutions with this window, stride and direction the one with the most FLOPs. */
static int is_heaviest(const op_rows *rows, int row) {
  const plim_op_desc *op = &rows->op[row];
  for (int i = 0; i < rows->n; i++) {
    const plim_op_desc *other = &rows->op[i];
    if (other->kind != op->kind || memcmp(other->attrs.kernel, op->attrs.kernel, sizeof op->attrs.kernel) != 0 ||
        memcmp(other->attrs.stride, op->attrs.stride, sizeof op->attrs.stride) != 0)
      continue;
    const int64_t more = plim_op_flops(other) - plim_op_flops(op);
    if (more > 0 || (more == 0 && i < row)) return 0;
  }
  return 1;
}

/* The likeliest kernel of each family that works; 0: there was no time for all of them. */
static int time_convolution(plim_device *device, const plim_op_desc *op, family_sum *sum) {
  plim_kernel_info info[LISTED];
  double ns[FAMILIES] = {0};
  int best = -1, offered[FAMILIES] = {0};
  const int n = device->api->kernels.variants(device, op, info, LISTED);
  for (int v = 0; v < n && v < LISTED; v++) {
    const int f = family_of(info[v].name);
    if (plim_now_ns() > families_end_ns) return 0;
    offered[f] = 1;
    if (ns[f] <= 0) ns[f] = variant_ns(device, op, info[v].name);
  }
  for (int f = 0; f < FAMILIES; f++) {
    sum[f].failed += offered[f] && ns[f] <= 0;
    if (ns[f] <= 0) continue;
    if (best < 0 || ns[f] < ns[best]) best = f;
    sum[f].convolutions++;
    sum[f].ns += ns[f];
  }
  if (best >= 0) sum[best].wins++;
  return 1;
}

static json_t *time_families(plim_device *device, const op_rows *rows) {
  family_sum sum[FAMILIES] = {{.ns = 0}};
  json_t *list = json_array();
  int all = 0, timed = 0;
  for (int i = 0; i < rows->n; i++) {
    if (!is_convolution(rows->op[i].kind) || !is_heaviest(rows, i)) continue;
    all++;
    timed += time_convolution(device, &rows->op[i], sum);
  }
  for (int f = 0; f < FAMILIES; f++) {
    if (sum[f].convolutions + sum[f].failed == 0) continue;
    (void)json_array_append_new(
        list, json_pack("{s:s, s:i, s:i, s:i, s:f}", "family", families[f], "convolutions", sum[f].convolutions, "wins",
                        sum[f].wins, "failed", sum[f].failed, "us", sum[f].ns / us));
  }
  return json_pack("{s:i, s:i, s:o}", "convolutions", all, "timed", timed, "rows", list);
}

/* Convolutions of ResNet-50 in each layout and precision, in equal shares of the seconds. */
json_t *probe_families(void) {
  static const plim_precision precisions[] = {PLIM_PRECISION_FP32, PLIM_PRECISION_TF32, PLIM_PRECISION_BF16};
  enum { PRECISIONS = sizeof precisions / sizeof *precisions };
  plim_context *ctx = open_context();
  plim_device *device = open_seen(ctx);
  json_t *list = json_array();
  const int64_t begin_ns = plim_now_ns(), cells = (int64_t)PRECISIONS * device->n_layouts;
  for (int64_t i = 0; i < cells; i++) {
    const plim_layout layout = device->layout[i % device->n_layouts];
    const plim_precision precision = precisions[i / device->n_layouts];
    if (precision == PLIM_PRECISION_TF32 && !device->tf32) continue;
    families_end_ns = begin_ns + (int64_t)probe.seconds * 1000000000 * (i + 1) / cells;
    json_t *cell = with_ops_in(device, "resnet50", layout, precision, time_families);
    (void)json_object_set_new(cell, "layout", json_string(plim_layout_name(layout)));
    (void)json_object_set_new(cell, "precision", json_string(plim_precision_name(precision)));
    (void)json_array_append_new(list, cell);
  }
  plim_device_close(device);
  plim_context_free(ctx);
  return json_pack("{s:o}", "cells", list);
}

/* ---- more elements than 31 bits count ---- */

/* The kernel of an elementwise op over `elements`; `in` filled with one byte, `out` with another. */
static plim_op_desc relu_of(int64_t elements) {
  plim_op_desc op = {.kind = PLIM_OP_RELU, .n_in = 1, .n_out = 1};
  op.in[0] = op.out[0] = plim_shape_make(PLIM_BF16, PLIM_FLAT, 1, &elements);
  return op;
}

/* 1: `bytes` of the device at `from` are all the same byte. */
static int all_are(plim_device *device, const char *from, int64_t bytes, int byte) {
  enum { PART = 1 << 16 };
  static unsigned char part[PART];
  for (int64_t at = 0; at < bytes; at += PART) {
    const int64_t count = bytes - at < PART ? bytes - at : PART;
    well(device->ctx, device->api->queues.copy(device, 0, part, from + at, count));
    well(device->ctx, device->api->queues.sync(device));
    for (int64_t i = 0; i < count; i++) {
      if (part[i] != byte) return 0;
    }
  }
  return 1;
}

/* relu of 3 (0x40 twice) and of -6 (0xc0 twice) in bf16: begin, middle and end of the result are looked at.
 */
static int large_relu(plim_device *device, int64_t elements) {
  enum { LOOKED_AT = 1 << 20 };
  static const struct { int in, out; } bytes_of[] = {{0x40, 0x40}, {0xc0, 0}};
  const plim_op_desc op = relu_of(elements);
  const int64_t bytes = plim_shape_bytes(&op.in[0]), look = bytes / 4 < LOOKED_AT ? bytes / 4 : LOOKED_AT;
  void *in = NULL, *out = NULL, *kernel = NULL;
  int right = 1;
  well(device->ctx, device->api->kernels.prepare(device, &op, "single-source", &kernel));
  well(device->ctx, device->api->memory.alloc(device, bytes, &in));
  well(device->ctx, device->api->memory.alloc(device, bytes, &out));
  const plim_kernel_args args = {.in = &in, .out = &out};
  for (size_t i = 0; i < sizeof bytes_of / sizeof *bytes_of; i++) {
    well(device->ctx, device->api->queues.fill(device, 0, in, bytes_of[i].in, bytes));
    well(device->ctx, device->api->queues.fill(device, 0, out, 0x55, bytes));
    well(device->ctx, device->api->kernels.run(device, 0, kernel, &args));
    for (int64_t at = 0; at <= bytes - look; at += (bytes - look) / 2) {
      right = right && all_are(device, (const char *)out + at, look, bytes_of[i].out);
    }
  }
  device->api->memory.release(device, in, bytes);
  device->api->memory.release(device, out, bytes);
  device->api->kernels.unprepare(device, kernel);
  return right;
}

json_t *probe_large(void) {
  const int64_t wanted = INT64_C(2147483648) + 4096 + 5; /* 2^31, a tile and a bit */
  plim_context *ctx = open_context();
  plim_device *device = open_seen(ctx);
  plim_cuda_memory now;
  well(ctx, plim_device_cuda_memory(device, &now));
  const int64_t room_for = now.free_bytes / 8, elements = room_for < wanted ? room_for : wanted; /* of two, half */
  const int right = large_relu(device, elements);
  plim_device_close(device);
  plim_context_free(ctx);
  return json_pack("{s:I, s:b}", "elements", (json_int_t)elements, "right", right);
}

/* ---- two devices ---- */

/* In one thread, in turns. */
json_t *probe_devices(void) {
  enum { MOST = 2, ELEMENTS = 1 << 20, TURNS = 4 };
  plim_context *ctx = open_context();
  plim_device_options options = plim_device_options_default();
  plim_device *device[MOST] = {NULL};
  int32_t devices = 0;
  int right = 1;
  gpu(probe.driver->count(&devices), "the GPUs cannot be counted");
  const int n = devices < MOST ? devices : MOST;
  for (int i = 0; i < n; i++) well(ctx, plim_device_cuda_open(ctx, probe.driver, i, &options, &device[i]));
  for (int turn = 0; turn < TURNS; turn++) {
    for (int i = 0; i < n; i++) right = right && device[i] && large_relu(device[i], ELEMENTS);
  }
  for (int i = 0; i < n; i++) plim_device_close(device[i]);
  plim_context_free(ctx);
  return json_pack("{s:i, s:b}", "devices", (int)devices, "right", right);
}

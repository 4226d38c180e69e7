/* The cuda device: open and close, kernels, queues. Steps are in device_cuda_step.c, memory in device_cuda_memory.c,
 * times in device_cuda_times.c. */
#include "runtime/device/device_cuda.h"

#include <stdio.h>
#include <string.h>

#include "kernels/cuda/cublas.h"
#include "kernels/cuda/dnn.h"
#include "runtime/base/array.h"
#include "runtime/device/device_cuda_internal.h"
#include "runtime/device/device_internal.h"
#include "runtime/device/machine.h"

enum { EVENTS_MAX = 1 << 20, NOW_BYTES = 2 * sizeof(uint64_t), CAPABILITY_MIN = 75, TF32_MAJOR = 8 };

/* Codes of libraries begin after those of the CUDA runtime; codes of a caller's own kernels are negative. */
plim_status plim_cuda_check(const plim_device *device, int code, const char *what) {
  if (code == 0) return PLIM_OK;
  if (code < 0) return plim_device_kernel_status(device->ctx, code, what);
  const plim_cuda_state *cuda = device->state;
  cuda->driver->clear();
  const plim_status status = code == PLIM_CUDA_NO_MEMORY ? PLIM_ENOMEM : PLIM_EDEVICE;
  const char *words = cuda->driver->error(code);
  char why[PLIM_DNN_WHY_BYTES] = "";
  if (code >= PLIM_CUDNN_CODES && cuda->engine.dnn) {
    plim_dnn_why(cuda->engine.dnn, why, sizeof why);
  } else if (code >= PLIM_CUBLAS_CODES) {
    (void)snprintf(why, sizeof why, "cuBLAS status %d", code - PLIM_CUBLAS_CODES);
  } else {
    (void)snprintf(why, sizeof why, "CUDA error %d", code);
  }
  return plim_fail(device->ctx, status, "%s: %s (%s)", what, words, why);
}

plim_status plim_cuda_enter(const plim_device *device) {
  const plim_cuda_state *cuda = device->state;
  return cuda->recording ? PLIM_OK : plim_cuda_check(device, cuda->driver->current(device->index), "choosing the GPU");
}

void *plim_cuda_stream(plim_cuda_state *cuda, int32_t queue) {
  cuda->busy |= 1U << queue;
  return cuda->stream[queue];
}

/* ---- open and close ---- */

static plim_status find_gpu(plim_device *device) {
  const plim_cuda_state *cuda = device->state;
  plim_context *ctx = device->ctx;
  int32_t count = 0;
  if (!cuda->driver)
    return plim_fail(ctx, PLIM_EDEVICE, "this build has no CUDA: it was made where nvcc was not found");
  int code = cuda->driver->count(&count);
  if (code != 0) {
    return plim_fail(ctx, PLIM_EDEVICE, "no GPU can be used: %s (CUDA error %d)", cuda->driver->error(code), code);
  }
  if (device->index < count) return PLIM_OK;
  return plim_fail(ctx, PLIM_EDEVICE, "there is no cuda:%d: the driver knows %d GPUs", (int)device->index, (int)count);
}

static plim_status make_queues(plim_device *device) {
  plim_cuda_state *cuda = device->state;
  void *pinned = NULL;
  for (int i = 0; i < PLIM_CUDA_QUEUES; i++) {
    PLIM_TRY(plim_cuda_check(device, cuda->driver->stream_new(&cuda->stream[i]), "making a stream"));
  }
  PLIM_TRY(
      plim_cuda_check(device, cuda->driver->pinned_alloc(&pinned, PLIM_CUDA_NOWS * NOW_BYTES), "pinning host memory"));
  cuda->now_host = pinned;
  return plim_cuda_check(device, cuda->driver->alloc(&cuda->now, NOW_BYTES), "allocating the step counter");
}

static plim_status use_gpu(plim_device *device) {
  plim_cuda_state *cuda = device->state;
  plim_cuda_facts facts = {.context_bytes = PLIM_UNKNOWN};
  const char *what = NULL;
  int64_t total;
  int code = cuda->driver->use(device->index, &facts);
  /* Checked before `code`, because this reason is clearer than the driver's. */
  if (facts.major > 0 && facts.major * 10 + facts.minor < CAPABILITY_MIN) {
    return plim_fail(device->ctx, PLIM_EDEVICE, "cuda:%d is a %s of compute capability %d.%d; the least is %d.%d",
                     (int)device->index, facts.name, (int)facts.major, (int)facts.minor, CAPABILITY_MIN / 10,
                     CAPABILITY_MIN % 10);
  }
  PLIM_TRY(plim_cuda_check(device, code, "opening the GPU"));
  PLIM_TRY(plim_cuda_check(device, cuda->driver->memory(&cuda->free_before, &total), "asking for free memory"));
  cuda->context_known = facts.context_bytes >= 0;
  cuda->free_before = facts.context_bytes < 0 ? total : cuda->free_before + facts.context_bytes;
  device->cache_bytes = facts.cache_bytes;
  device->tf32 = facts.major >= TF32_MAJOR;
  device->n_layouts = 2; /* those of the libraries; layouts with blocks of channels suit only the registers of a CPU */
  device->layout[0] = PLIM_NHWC;
  device->layout[1] = PLIM_FLAT;
  PLIM_TRY(make_queues(device));
  code = plim_cuda_libraries_open(&cuda->libraries, &cuda->engine, &facts, cuda->stream[0], &what);
  device->builds = cuda->engine.dnn != NULL;
  plim_machine_describe_gpu(facts.name, facts.major, facts.minor, cuda->libraries.found, &device->machine);
  return plim_cuda_check(device, code, what);
}

static void cuda_close(plim_device *device) {
  plim_cuda_state *cuda = device->state;
  if (cuda->driver) {
    (void)cuda->driver->current(device->index); /* the calls below free memory of this GPU */
    plim_cuda_forget(cuda);
    plim_cuda_wait_for_copies(cuda);
    plim_cuda_graph_cache_invalidate_all(&cuda->graphs, cuda->driver);
    plim_cuda_timing_events_free(&cuda->timing_events, device->ctx, cuda->driver);
    plim_cuda_libraries_close(&cuda->engine);
    if (cuda->now) (void)cuda->driver->release(cuda->now);
    if (cuda->now_host) (void)cuda->driver->pinned_release(cuda->now_host);
    for (int64_t i = 0; i < cuda->n_events; i++) {
      if (cuda->event[i]) (void)cuda->driver->event_free(cuda->event[i]);
    }
    for (int i = 0; i < PLIM_CUDA_QUEUES && cuda->stream[i]; i++) (void)cuda->driver->stream_free(cuda->stream[i]);
  }
  plim_own_release(&cuda->engine.own, &cuda->engine.memory);
  plim_release(device->ctx, cuda->moved, cuda->n_moved, sizeof *cuda->moved);
  plim_release(device->ctx, cuda->event, cuda->n_events, sizeof *cuda->event);
  plim_release(device->ctx, cuda, 1, sizeof *cuda);
}

static plim_status open_driver(plim_device *device, const plim_cuda_driver *driver,
                               const plim_device_options *options) {
  plim_cuda_state *cuda = NULL;
  PLIM_TRY(plim_allocate(device->ctx, 1, sizeof *cuda, &cuda));
  cuda->driver = cuda->engine.driver = driver;
  cuda->engine.memory = plim_device_kernel_memory(device->ctx);
  cuda->eager = options->eager;
  cuda->settled = cuda->timing_event_ns = PLIM_UNKNOWN;
  device->state = cuda;
  plim_status status = find_gpu(device);
  if (status == PLIM_OK) status = use_gpu(device);
  if (status != PLIM_OK) cuda_close(device);
  return status;
}

static plim_status cuda_open(plim_context *ctx, const plim_device_options *options, plim_device *device) {
  (void)ctx;
  return open_driver(device, plim_cuda_driver_real(), options);
}

plim_status plim_device_cuda_open(plim_context *ctx, const plim_cuda_driver *driver, int32_t index,
                                  const plim_device_options *options, plim_device **out) {
  const plim_device_options defaults = plim_device_options_default();
  plim_device *device = NULL;
  if (!options) options = &defaults;
  PLIM_TRY(plim_check_options(ctx, "plim_device_options", options->struct_bytes, sizeof *options));
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *device, &device));
  device->api = &plim_device_cuda;
  device->ctx = ctx;
  device->index = index;
  plim_status status = open_driver(device, driver, options);
  if (status != PLIM_OK) {
    plim_release(ctx, device, 1, sizeof *device);
    return status;
  }
  *out = device;
  return PLIM_OK;
}

const char *plim_device_cuda_missing(const plim_device *device) {
  return ((const plim_cuda_state *)device->state)->libraries.missing;
}

/* ---- kernels ---- */

static int cuda_variants(plim_device *device, const plim_op_desc *op, plim_kernel_info *info, int capacity) {
  const plim_cuda_state *cuda = device->state;
  (void)cuda->driver->current(device->index); /* libraries use the current GPU */
  const int n = plim_cuda_kernel_list(&cuda->engine, op, info, capacity);
  cuda->driver->clear(); /* a variant that a library refuses must not leave an error for a later call */
  return n;
}

static void cuda_recall(plim_device *device, const plim_op_desc *op, const plim_kernel_info *info, int n) {
  const plim_cuda_state *cuda = device->state;
  plim_cuda_kernel_recall(&cuda->engine, op, info, n);
}

static int cuda_add_kernel(plim_device *device, plim_op_kind kind, const plim_own_kernel *kernel) {
  plim_cuda_state *cuda = device->state;
  return plim_own_add(&cuda->engine.own, &cuda->engine.memory, kind, kernel);
}

static plim_status cuda_prepare(plim_device *device, const plim_op_desc *op, const char *variant, void **kernel) {
  const plim_cuda_state *cuda = device->state;
  plim_cuda_kernel *made = NULL;
  char why[PLIM_DNN_WHY_BYTES] = "";
  PLIM_TRY(plim_cuda_enter(device));
  plim_dnn_forget(cuda->engine.dnn); /* a refusal of this op's is told, none of an earlier one's */
  const int64_t built = cuda->engine.dnn ? plim_dnn_built(cuda->engine.dnn) : 0;
  const int result = plim_cuda_kernel_make(&cuda->engine, op, variant, &made);
  if (cuda->engine.dnn) device->built += plim_dnn_built(cuda->engine.dnn) - built;
  if (result == PLIM_KERNEL_OK) {
    *kernel = made;
    return PLIM_OK;
  }
  cuda->driver->clear();
  if (cuda->engine.dnn && result != PLIM_KERNEL_NOMEM) plim_dnn_why(cuda->engine.dnn, why, sizeof why);
  if (!why[0]) return plim_device_kernel_status(device->ctx, result, variant);
  const plim_status status = result == PLIM_KERNEL_UNSUPPORTED ? PLIM_EUNSUPPORTED : PLIM_EDEVICE;
  return plim_fail(device->ctx, status, "preparing %s: %s", variant, why);
}

static int64_t cuda_workspace(plim_device *device, const void *kernel) {
  (void)device;
  return plim_cuda_kernel_workspace(kernel);
}

static void cuda_unprepare(plim_device *device, void *kernel) {
  (void)((const plim_cuda_state *)device->state)->driver->current(device->index);
  plim_cuda_kernel_free(kernel);
}

/* The device has one address for seed and step number, because copies and kernels of one queue are in order. Each copy
 * has a row of its own in host memory, because it may still be pending when the next one is queued. After a wait the
 * rows are used again. */
plim_status plim_cuda_set_now(plim_device *device, int32_t queue, const plim_kernel_args *args) {
  plim_cuda_state *cuda = device->state;
  if (cuda->now_used == PLIM_CUDA_NOWS || queue != cuda->now_queue) {
    PLIM_TRY(plim_cuda_check(device, cuda->driver->stream_sync(cuda->stream[cuda->now_queue]), "waiting for the GPU"));
    cuda->now_used = 0;
    cuda->now_queue = queue;
  }
  uint64_t *row = cuda->now_host + (int64_t)2 * cuda->now_used++;
  row[0] = args->seed;
  row[1] = (uint64_t)args->step;
  cuda->now_step = args->step;
  return plim_cuda_check(device, cuda->driver->copy(cuda->now, row, NOW_BYTES, plim_cuda_stream(cuda, queue)),
                         "copying the step counter");
}

plim_status plim_cuda_launch(plim_device *device, int32_t queue, plim_cuda_kernel *kernel,
                             const plim_kernel_args *args) {
  plim_cuda_state *cuda = device->state;
  return plim_cuda_check(device,
                         plim_cuda_kernel_run(kernel, &cuda->engine, plim_cuda_stream(cuda, queue), args, cuda->now),
                         "launching a kernel");
}

/* A run outside of a step (profiling) sets its own seed and step number. */
static plim_status cuda_run(plim_device *device, int32_t queue, void *kernel, const plim_kernel_args *args) {
  const plim_cuda_state *cuda = device->state;
  PLIM_TRY(plim_cuda_enter(device));
  if (!cuda->step.row) PLIM_TRY(plim_cuda_set_now(device, queue, args));
  return plim_cuda_launch(device, queue, kernel, args);
}

plim_status plim_cuda_begin_recording(plim_device *device) {
  plim_cuda_state *cuda = device->state;
  PLIM_TRY(plim_cuda_check(device, cuda->driver->capture_begin(cuda->stream[0]), "beginning to capture"));
  cuda->recording = 1;
  return PLIM_OK;
}

plim_status plim_cuda_end_recording(plim_device *device, void **captured) {
  plim_cuda_state *cuda = device->state;
  cuda->recording = 0;
  return plim_cuda_check(device, cuda->driver->capture_end(cuda->stream[0], captured), "capturing");
}

/* A kernel that failed may have left a recording, and an error in the driver. */
static plim_status cuda_recover(plim_device *device) {
  plim_cuda_state *cuda = device->state;
  plim_cuda_forget(cuda);
  PLIM_TRY(plim_cuda_check(device, cuda->driver->current(device->index), "choosing the GPU"));
  cuda->driver->clear();
  for (int i = 0; i < PLIM_CUDA_QUEUES; i++) {
    PLIM_TRY(plim_cuda_check(device, cuda->driver->stream_sync(cuda->stream[i]), "waiting for the GPU"));
  }
  cuda->busy = 0;
  return PLIM_OK;
}

/* ---- queues ---- */

/* A copy after the last command of a step belongs to the step, and is queued after its kernels. */
static plim_status cuda_copy(plim_device *device, int32_t queue, void *to, const void *from, int64_t bytes) {
  plim_cuda_state *cuda = device->state;
  const int ends_step = plim_cuda_step_is_complete(&cuda->step);
  PLIM_TRY(plim_cuda_enter(device));
  plim_status status = ends_step ? plim_cuda_finish_step(device) : PLIM_OK;
  if (status == PLIM_OK) {
    status = plim_cuda_check(device, cuda->driver->copy(to, from, bytes, plim_cuda_stream(cuda, queue)), "copying");
  }
  return status == PLIM_OK || !ends_step ? status : plim_cuda_fail_step(device, status);
}

static plim_status cuda_fill(plim_device *device, int32_t queue, void *to, int byte, int64_t bytes) {
  plim_cuda_state *cuda = device->state;
  PLIM_TRY(plim_cuda_enter(device));
  return plim_cuda_check(device, cuda->driver->fill(to, byte, bytes, plim_cuda_stream(cuda, queue)), "filling");
}

/* Check an event's number, and make its CUDA event when it is new. Each event has its own until the device closes,
 * because several may be pending. */
static plim_status reach_event(plim_device *device, int32_t event) {
  plim_cuda_state *cuda = device->state;
  if (event < 0 || event >= EVENTS_MAX) {
    return plim_fail(device->ctx, PLIM_EUSAGE, "event %d: there are 0 to %d", (int)event, (int)EVENTS_MAX - 1);
  }
  PLIM_TRY(plim_cuda_enter(device));
  PLIM_TRY(plim_array_reserve(device->ctx, &cuda->event, &cuda->n_events, (int64_t)event + 1, sizeof *cuda->event));
  return cuda->event[event] ? PLIM_OK
                            : plim_cuda_check(device, cuda->driver->event_new(&cuda->event[event]), "making an event");
}

static plim_status cuda_mark(plim_device *device, int32_t queue, int32_t event) {
  plim_cuda_state *cuda = device->state;
  PLIM_TRY(reach_event(device, event));
  return plim_cuda_check(device, cuda->driver->event_record(cuda->event[event], plim_cuda_stream(cuda, queue)),
                         "marking a queue");
}

static plim_status cuda_wait(plim_device *device, int32_t queue, int32_t event) {
  plim_cuda_state *cuda = device->state;
  PLIM_TRY(reach_event(device, event));
  return plim_cuda_check(device, cuda->driver->event_wait(cuda->event[event], plim_cuda_stream(cuda, queue)),
                         "waiting for a queue");
}

static int64_t cuda_clock(plim_device *device) {
  (void)device;
  return plim_now_ns();
}

const plim_device_api plim_device_cuda = {
    .name = "cuda",
    .computes = 1,
    .n_queues = PLIM_CUDA_QUEUES,
    .is_gpu = 1,
    .open = cuda_open,
    .close = cuda_close,
    .memory = {.alloc = plim_cuda_alloc,
               .release = plim_cuda_release,
               .alloc_pinned = plim_cuda_alloc_pinned,
               .release_pinned = plim_cuda_release_pinned},
    .kernels = {.variants = cuda_variants,
                .add = cuda_add_kernel,
                .recall = cuda_recall,
                .prepare = cuda_prepare,
                .workspace = cuda_workspace,
                .unprepare = cuda_unprepare,
                .run = cuda_run,
                .measure = plim_cuda_measure,
                .rehearse = plim_cuda_rehearse,
                .recover = cuda_recover},
    .queues = {.copy = cuda_copy,
               .fill = cuda_fill,
               .mark = cuda_mark,
               .wait = cuda_wait,
               .sync = plim_cuda_sync,
               .clock = cuda_clock},
    .watch = &plim_cuda_watch,
};

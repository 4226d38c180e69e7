/* The cpu device: kernels of the op table, one queue, every call complete when it returns. */
#include <string.h>

#include "runtime/device/device_internal.h"
#include "runtime/device/guarded.h"
#include "runtime/device/machine.h"
#include "runtime/device/threads.h"

static plim_status cpu_open(plim_context *ctx, const plim_device_options *options, plim_device *device) {
  int32_t threads;
  plim_kernel_table *table = NULL;
  PLIM_TRY(plim_threads_fix(ctx, options->threads, &threads));
  PLIM_TRY(plim_device_table(ctx, options, &table));
  plim_machine_describe("cpu", table, threads, &device->machine);
  plim_machine_layouts(device);
  device->state = table;
  return PLIM_OK;
}

static void cpu_close(plim_device *device) {
  plim_kernel_table_free(device->state);
}

static plim_status cpu_alloc(plim_device *device, int64_t bytes, void **out) {
  return plim_guarded_alloc(device->ctx, bytes, 1, out);
}

static void cpu_release(plim_device *device, void *ptr, int64_t bytes) {
  (void)device;
  plim_guarded_free(ptr, bytes);
}

static plim_status cpu_resize(plim_device *device, void *ptr, int64_t from_bytes, int64_t to_bytes, int64_t *returned) {
  return plim_guarded_resize(device->ctx, ptr, from_bytes, to_bytes, 1, returned);
}

static int cpu_variants(plim_device *device, const plim_op_desc *op, plim_kernel_info *info, int capacity) {
  return plim_kernel_list(device->state, op, device->machine.threads, info, capacity);
}

static int cpu_parts(plim_device *device, const plim_op_desc *op, const plim_kernel_info *whole, plim_kernel_info *info,
                     int capacity) {
  return plim_kernel_list_parts(device->state, op, device->machine.threads, whole, info, capacity);
}

static int cpu_add_kernel(plim_device *device, plim_op_kind kind, const plim_own_kernel *kernel) {
  return plim_kernel_table_add_own(device->state, kind, kernel);
}

static plim_status cpu_prepare(plim_device *device, const plim_op_desc *op, const char *variant, void **kernel) {
  plim_kernel *made = NULL;
  PLIM_TRY(plim_guarded_has_addresses(device->ctx));
  int result = plim_kernel_make(device->state, op, variant, device->machine.threads, &made);
  if (result == PLIM_KERNEL_OK) *kernel = made;
  return plim_device_kernel_status(device->ctx, result, variant);
}

static int64_t cpu_workspace(plim_device *device, const void *kernel) {
  (void)device;
  return plim_kernel_workspace(kernel);
}

static void cpu_unprepare(plim_device *device, void *kernel) {
  (void)device;
  plim_kernel_free(kernel);
}

static plim_status cpu_run(plim_device *device, int32_t queue, void *kernel, const plim_kernel_args *args) {
  (void)queue;
  int32_t now = plim_threads_now();
  if (now != device->machine.threads) {
    return plim_fail(device->ctx, PLIM_EDEVICE,
                     "this thread would run %d threads and the device was opened with %d: run on the thread that "
                     "opened it and leave omp_set_num_threads alone",
                     (int)now, (int)device->machine.threads);
  }
  int result = plim_kernel_run(kernel, args);
  return result == PLIM_KERNEL_OK ? PLIM_OK : plim_device_kernel_status(device->ctx, result, "run");
}

static plim_status cpu_copy(plim_device *device, int32_t queue, void *to, const void *from, int64_t bytes) {
  (void)device, (void)queue;
  memcpy(to, from, (size_t)bytes);
  return PLIM_OK;
}

static plim_status cpu_fill(plim_device *device, int32_t queue, void *to, int byte, int64_t bytes) {
  (void)device, (void)queue;
  memset(to, byte, (size_t)bytes);
  return PLIM_OK;
}

/* Mark and wait: they do nothing, because every call is complete when it returns. */
static plim_status cpu_event(plim_device *device, int32_t queue, int32_t event) {
  (void)device, (void)queue, (void)event;
  return PLIM_OK;
}

static plim_status cpu_sync(plim_device *device) {
  (void)device;
  return PLIM_OK;
}

static int64_t cpu_clock(plim_device *device) {
  (void)device;
  return plim_now_ns();
}

const plim_device_api plim_device_cpu = {
    .name = "cpu",
    .host_visible = 1,
    .computes = 1,
    .open = cpu_open,
    .close = cpu_close,
    .memory = {.alloc = cpu_alloc, .release = cpu_release, .resize = cpu_resize},
    .kernels = {.variants = cpu_variants,
                .parts = cpu_parts,
                .add = cpu_add_kernel,
                .prepare = cpu_prepare,
                .workspace = cpu_workspace,
                .unprepare = cpu_unprepare,
                .run = cpu_run},
    .queues = {.copy = cpu_copy,
               .fill = cpu_fill,
               .mark = cpu_event,
               .wait = cpu_event,
               .sync = cpu_sync,
               .clock = cpu_clock},
    .watch = NULL,
};

/* The check device as a decorator: steps are checked (check_command.c), everything else is the inner device's. */
#include "runtime/device/device_check.h"

#include <string.h>

#include "runtime/device/check_command.h"

static plim_device *inner(plim_device *device) {
  return ((plim_device_check *)device->state)->inner;
}
static void check_close(plim_device *device) {
  plim_device_check *check = device->state;
  plim_device_check_release(check, device->ctx);
  plim_release(device->ctx, check, 1, sizeof *check);
}
static plim_status check_alloc(plim_device *device, int64_t bytes, void **out) {
  return inner(device)->api->memory.alloc(inner(device), bytes, out);
}
static void check_release(plim_device *device, void *ptr, int64_t bytes) {
  inner(device)->api->memory.release(inner(device), ptr, bytes);
}
static plim_status check_resize(plim_device *device, void *ptr, int64_t from_bytes, int64_t to_bytes,
                                int64_t *returned) {
  if (!inner(device)->api->memory.resize) return PLIM_OK;
  return inner(device)->api->memory.resize(inner(device), ptr, from_bytes, to_bytes, returned);
}
static int check_variants(plim_device *device, const plim_op_desc *op, plim_kernel_info *info, int capacity) {
  return inner(device)->api->kernels.variants(inner(device), op, info, capacity);
}
static int check_parts(plim_device *device, const plim_op_desc *op, const plim_kernel_info *whole,
                       plim_kernel_info *info, int capacity) {
  if (!inner(device)->api->kernels.parts) return 0;
  return inner(device)->api->kernels.parts(inner(device), op, whole, info, capacity);
}
static int check_add_kernel(plim_device *device, plim_op_kind kind, const plim_own_kernel *kernel) {
  if (!inner(device)->api->kernels.add) return PLIM_KERNEL_UNSUPPORTED;
  return inner(device)->api->kernels.add(inner(device), kind, kernel);
}
static plim_status check_prepare(plim_device *device, const plim_op_desc *op, const char *variant, void **kernel) {
  return inner(device)->api->kernels.prepare(inner(device), op, variant, kernel);
}
static int64_t check_workspace(plim_device *device, const void *kernel) {
  return inner(device)->api->kernels.workspace(inner(device), kernel);
}
static void check_unprepare(plim_device *device, void *kernel) {
  inner(device)->api->kernels.unprepare(inner(device), kernel);
}
static plim_status check_run(plim_device *device, int32_t queue, void *kernel, const plim_kernel_args *args) {
  PLIM_TRY(inner(device)->api->kernels.run(inner(device), queue, kernel, args));
  return inner(device)->api->queues.sync(inner(device)); /* the bytes are looked at next */
}
static plim_status check_copy(plim_device *device, int32_t queue, void *to, const void *from, int64_t bytes) {
  return inner(device)->api->queues.copy(inner(device), queue, to, from, bytes);
}
static plim_status check_fill(plim_device *device, int32_t queue, void *to, int byte, int64_t bytes) {
  return inner(device)->api->queues.fill(inner(device), queue, to, byte, bytes);
}
static plim_status check_mark(plim_device *device, int32_t queue, int32_t event) {
  return inner(device)->api->queues.mark(inner(device), queue, event);
}
static plim_status check_wait(plim_device *device, int32_t queue, int32_t event) {
  return inner(device)->api->queues.wait(inner(device), queue, event);
}
static plim_status check_sync(plim_device *device) {
  return inner(device)->api->queues.sync(inner(device));
}
static int64_t check_clock(plim_device *device) {
  return inner(device)->api->queues.clock(inner(device));
}

static const plim_device_watch check_watch = {
    .begin = plim_device_check_begin, .command = plim_device_check_command, .sees_writes = 1};

static const plim_device_api check_api = {
    .name = "check",
    .host_visible = 1,
    .computes = 1,
    .open = NULL, /* plim_device_check_open: it needs a device to decorate */
    .close = check_close,
    .memory = {.alloc = check_alloc, .release = check_release, .resize = check_resize},
    .kernels = {.variants = check_variants,
                .parts = check_parts,
                .add = check_add_kernel,
                .prepare = check_prepare,
                .workspace = check_workspace,
                .unprepare = check_unprepare,
                .run = check_run},
    .queues = {.copy = check_copy,
               .fill = check_fill,
               .mark = check_mark,
               .wait = check_wait,
               .sync = check_sync,
               .clock = check_clock},
    .watch = &check_watch,
};

plim_status plim_device_check_open(plim_device *inner_device, plim_device **out) {
  plim_context *ctx = inner_device->ctx;
  plim_device *device = NULL;
  plim_device_check *check = NULL;
  if (inner_device->api->watch) {
    return plim_fail(ctx, PLIM_EUSAGE, "the check device cannot decorate \"%s\": it must be one that computes",
                     inner_device->api->name);
  }
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *device, &device));
  plim_status status = plim_allocate(ctx, 1, sizeof *check, &check);
  if (status != PLIM_OK) {
    plim_release(ctx, device, 1, sizeof *device);
    return status;
  }
  check->inner = inner_device;
  device->api = &check_api;
  device->ctx = ctx;
  device->machine = inner_device->machine;
  device->tf32 = inner_device->tf32;
  device->n_layouts = inner_device->n_layouts;
  memcpy(device->layout, inner_device->layout, sizeof device->layout);
  device->state = check;
  *out = device;
  return PLIM_OK;
}

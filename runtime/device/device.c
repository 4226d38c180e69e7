/* The list of devices, opened by name. */
#include "runtime/device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/device_internal.h"

static const plim_device_api *const devices[] = {&plim_device_cpu, &plim_device_sim, &plim_device_cuda};
enum { DEVICE_COUNT = sizeof devices / sizeof devices[0] };

/* Find the device of a name, and the number after a colon, which only a GPU may have. NULL: there is none. */
static const plim_device_api *find(const char *name, int32_t *index) {
  size_t length = strcspn(name, ":");
  *index = 0;
  for (int i = 0; i < DEVICE_COUNT; i++) {
    if (strlen(devices[i]->name) != length || strncmp(devices[i]->name, name, length) != 0) continue;
    if (name[length] == 0) return devices[i];
    const char *digit = name + length + 1;
    size_t digits = strspn(digit, "0123456789");
    if (!devices[i]->is_gpu || digits == 0 || digits > 3 || digit[digits] != 0) return NULL;
    while (digits-- > 0) *index = *index * 10 + (*digit++ - '0');
    return devices[i];
  }
  return NULL;
}

plim_device_options plim_device_options_default(void) {
  return (plim_device_options){.struct_bytes = sizeof(plim_device_options)};
}

plim_status plim_device_open(plim_context *ctx, const char *name, const plim_device_options *options,
                             plim_device **out) {
  const plim_device_options defaults = plim_device_options_default();
  int32_t index;
  const plim_device_api *api = find(name, &index);
  if (!api) {
    return plim_fail(ctx, PLIM_EUSAGE, "no device is called '%s'; there are cpu, sim and cuda:0 to cuda:999", name);
  }
  if (!options) options = &defaults;
  PLIM_TRY(plim_check_options(ctx, "plim_device_options", options->struct_bytes, sizeof *options));
  plim_device *device = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *device, &device));
  device->api = api;
  device->ctx = ctx;
  device->index = index;
  plim_status status = api->open(ctx, options, device);
  if (status != PLIM_OK) {
    plim_release(ctx, device, 1, sizeof *device);
    return status;
  }
  *out = device;
  return PLIM_OK;
}

void plim_device_close(plim_device *device) {
  if (!device) return;
  if (device->attached_free) device->attached_free(device);
  device->api->close(device);
  plim_release(device->ctx, device, 1, sizeof *device);
}

plim_status plim_device_add_kernel(plim_device *device, plim_op_kind kind, const plim_own_kernel *kernel) {
  plim_context *ctx = device->ctx;
  PLIM_TRY(plim_check_options(ctx, "plim_own_kernel", kernel->struct_bytes, sizeof *kernel));
  const char *name = plim_op_kind_name(kind);
  if (!name) {
    return plim_fail(ctx, PLIM_EUSAGE, "%d is no kind of op; plim_op_kind_add gives a row its number", (int)kind);
  }
  if (!kernel->run || (!kernel->list && !plim_own_is_name(kernel->name))) {
    return plim_fail(ctx, PLIM_EUSAGE,
                     "a kernel for %s needs a `run`, and a `list` or a name of 1 to %d characters without '@'", name,
                     PLIM_KERNEL_NAME_BYTES - 1);
  }
  if (!device->api->kernels.add) {
    return plim_fail(ctx, PLIM_EUNSUPPORTED, "device %s takes no kernels of a program", device->api->name);
  }
  return plim_device_kernel_status(ctx, device->api->kernels.add(device, kind, kernel), name);
}

plim_kernel_memory plim_device_kernel_memory(plim_context *ctx) {
  return (plim_kernel_memory){.resize = plim_context_resize, .user = ctx};
}

plim_status plim_device_table(plim_context *ctx, const plim_device_options *options, plim_kernel_table **out) {
  const plim_kernel_memory memory = plim_device_kernel_memory(ctx);
  const char *wanted = options->isa ? options->isa : getenv("PLIM_ISA");
  int result = plim_kernel_table_new(options->isa, &memory, out);
  if (result == PLIM_KERNEL_OK) return PLIM_OK;
  if (result == PLIM_KERNEL_NOMEM) return plim_device_kernel_status(ctx, result, "the op table");
  return plim_fail(
      ctx, PLIM_EUNSUPPORTED,
      "the instruction set '%s'%s is unknown, or this CPU lacks it; leave it away to get the best there is",
      wanted ? wanted : "", options->isa ? "" : " of PLIM_ISA");
}

plim_status plim_device_kernel_status(plim_context *ctx, int result, const char *what) {
  switch (result) {
    case PLIM_KERNEL_OK:
      return PLIM_OK;
    case PLIM_KERNEL_UNSUPPORTED:
      return plim_fail(ctx, PLIM_EUNSUPPORTED, "%s: no kernel of this build does that here", what);
    case PLIM_KERNEL_NOMEM:
      return plim_fail(ctx, PLIM_ENOMEM, "%s: out of memory", what);
    default:
      return plim_fail(ctx, PLIM_EDEVICE, "%s: the kernel failed with code %d", what, result);
  }
}

/* An error of the device itself (an illegal address, a lost device) appears again when `recover` waits for it. */
plim_status plim_device_outlives(plim_device *device, plim_status failed, const char *op, const char *variant,
                                 char *why, size_t why_bytes) {
  plim_context *ctx = device->ctx;
  const int of_kernel = failed == PLIM_EDEVICE || failed == PLIM_EUNSUPPORTED;
  char before[PLIM_ERROR_BYTES / 2], after[PLIM_ERROR_BYTES / 2];
  (void)snprintf(before, sizeof before, "%s", plim_context_error(ctx));
  plim_status recovered = failed == PLIM_EUNSUPPORTED ? PLIM_OK : failed; /* for a device without `recover` */
  if (of_kernel && device->api->kernels.recover) recovered = device->api->kernels.recover(device);
  if (recovered == PLIM_OK) {
    (void)snprintf(why, why_bytes, "%s", before);
    return PLIM_OK;
  }
  (void)snprintf(after, sizeof after, "%s", plim_context_error(ctx));
  const int same = strcmp(before, after) == 0;
  return plim_fail(ctx, failed, "op \"%s\", variant \"%s\": %s%s%s", op, variant, before, same ? "" : "; then ",
                   same ? "" : after);
}

plim_status plim_device_time(plim_device *device, void *kernel, const plim_kernel_args *args, int64_t *time_ns) {
  if (device->api->kernels.measure) return device->api->kernels.measure(device, kernel, args, time_ns);
  int64_t start = device->api->queues.clock(device);
  PLIM_TRY(device->api->kernels.run(device, 0, kernel, args));
  PLIM_TRY(device->api->queues.sync(device));
  *time_ns = device->api->queues.clock(device) - start;
  return PLIM_OK;
}

/* The list of devices, opened by name. */
#include "runtime/device/device.h"

#include <string.h>

#include "runtime/device/devices.h"

static const plim_device_api *const devices[] = {&plim_device_cpu, &plim_device_sim};
enum { DEVICE_COUNT = sizeof devices / sizeof devices[0] };

static const plim_device_api *find(const char *name) {
  for (int i = 0; i < DEVICE_COUNT; i++) {
    if (strcmp(devices[i]->name, name) == 0) return devices[i];
  }
  return NULL;
}

plim_status plim_device_open(plim_context *ctx, const char *name, const plim_device_options *options,
                             plim_device **out) {
  static const plim_device_options defaults = {sizeof defaults, 0, NULL};
  const plim_device_api *api = find(name);
  if (!api) return plim_fail(ctx, PLIM_EUSAGE, "no device is called '%s'; there are cpu and sim", name);
  if (!options) options = &defaults;
  if (options->struct_bytes != sizeof *options) {
    return plim_fail(ctx, PLIM_EUSAGE, "plim_device_options of %zu bytes; this library knows %zu",
                     options->struct_bytes, sizeof *options);
  }
  plim_device *device = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *device, &device));
  device->api = api;
  device->ctx = ctx;
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
  device->api->close(device);
  plim_release(device->ctx, device, 1, sizeof *device);
}

plim_status plim_device_table(plim_context *ctx, const plim_device_options *options, plim_kernel_table **out) {
  int result = plim_kernel_table_new(options->isa, out);
  if (result == PLIM_KERNEL_OK) return PLIM_OK;
  if (result == PLIM_KERNEL_NOMEM) return plim_kernel_status(ctx, result, "the op table");
  return plim_fail(ctx, PLIM_EUNSUPPORTED,
                   "the instruction set '%s' is unknown, or this CPU lacks it; leave it away to get the best there is",
                   options->isa ? options->isa : "of PLIM_ISA");
}

plim_status plim_kernel_status(plim_context *ctx, int result, const char *what) {
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

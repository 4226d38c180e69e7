/* Attached to the device, so that its close frees it, though a device knows nothing of profiles. */
#include "runtime/profile/known.h"

static void free_known(plim_device *device) {
  plim_known *known = device->attached;
  plim_known_parts_free(device->ctx, known->parts);
  if (known->variants) plim_profile_cache_close(known->variants);
  plim_release(device->ctx, known->variants, 1, sizeof *known->variants);
  plim_release(device->ctx, known, 1, sizeof *known);
  device->attached = NULL;
}

plim_status plim_known_attach(plim_device *device, plim_known **out) {
  plim_known *known = device->attached;
  if (!known) PLIM_TRY(plim_allocate(device->ctx, 1, sizeof *known, &known));
  device->attached = known;
  device->attached_free = free_known;
  *out = known;
  return PLIM_OK;
}

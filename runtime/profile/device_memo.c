/* Attaches the profiler's memo to a device, so that the close of the device frees it without knowing about profiles. */
#include "runtime/profile/device_memo.h"

static void free_memo(plim_device *device) {
  plim_device_memo *memo = device->attached;
  plim_equal_parts_free(device->ctx, memo->parts);
  if (memo->variants) plim_profile_cache_close(memo->variants);
  plim_release(device->ctx, memo->variants, 1, sizeof *memo->variants);
  plim_release(device->ctx, memo, 1, sizeof *memo);
  device->attached = NULL;
}

plim_status plim_device_memo_attach(plim_device *device, plim_device_memo **out) {
  plim_device_memo *memo = device->attached;
  if (!memo) PLIM_TRY(plim_allocate(device->ctx, 1, sizeof *memo, &memo));
  device->attached = memo;
  device->attached_free = free_memo;
  *out = memo;
  return PLIM_OK;
}

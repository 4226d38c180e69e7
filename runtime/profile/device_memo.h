/* What the profiler remembers about a device until its close: variants that earlier processes found, and which variants
 * in parts give the bits of their whole. Functions run on the thread of the device. */
#ifndef PLIM_RUNTIME_PROFILE_DEVICE_MEMO_H
#define PLIM_RUNTIME_PROFILE_DEVICE_MEMO_H

#include "runtime/profile/equal_parts.h"
#include "runtime/profile/profile_cache.h"

typedef struct plim_device_memo {
  plim_profile_cache *variants; /* read by plim_profile_remember; NULL: nothing was read */
  plim_equal_parts *parts;      /* variants in parts compared since the opening; NULL: none */
} plim_device_memo;

/* The memo that is attached to the device; all NULL when there is none. Borrowed until the close. O(1). */
static inline plim_device_memo plim_device_memo_of(const plim_device *device) {
  return device->attached ? *(const plim_device_memo *)device->attached : (plim_device_memo){NULL, NULL};
}

/* Like plim_device_memo_of, for a caller that adds to it: attaches it when there is none. The close of the device frees
 * it. PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_device_memo_attach(plim_device *device, plim_device_memo **out);

#endif

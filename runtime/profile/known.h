/* What the profiler knows of a device from its opening to its close: variants of earlier runs, and which parts give the
 * bits of their whole. On the thread of the device. */
#ifndef PLIM_RUNTIME_PROFILE_KNOWN_H
#define PLIM_RUNTIME_PROFILE_KNOWN_H

#include "runtime/profile/profile_cache.h"

typedef struct plim_known_parts plim_known_parts;

typedef struct plim_known {
  plim_profile_cache *variants; /* as earlier runs left them (plim_profile_remember); NULL: nothing */
  plim_known_parts *parts;      /* compared since the opening (known_parts.c); NULL: none */
} plim_known;

/* What is attached to the device; borrowed until its close. O(1). */
static inline plim_known plim_known_of(const plim_device *device) {
  return device->attached ? *(const plim_known *)device->attached : (plim_known){NULL, NULL};
}

/* The same to add to: attached when there is none, and freed by the close of the device. PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_known_attach(plim_device *device, plim_known **out);

/* known_parts.c: free them. NULL is legal. */
void plim_known_parts_free(plim_context *ctx, plim_known_parts *parts);

#endif

/* A budget on everything that a run holds on a GPU. What lies outside the arena there (context, libraries, modules,
 * captured steps) cannot be chosen, only measured; the arena gets what it leaves. */
#ifndef PLIM_RUNTIME_DEVICE_VRAM_H
#define PLIM_RUNTIME_DEVICE_VRAM_H

#include "runtime/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that a budget leaves for the arena, by what lies outside of arenas now and what captured steps will take there;
 * whole pages of the GPU. PLIM_ENOFIT when what is outside takes all of it, or the GPU has not so much free;
 * PLIM_EUSAGE on a device that is no GPU. */
PLIM_MUST_USE plim_status plim_vram_left(plim_device *device, int64_t budget_bytes, int64_t captured_bytes,
                                         int64_t *arena_bytes);

/* PLIM_ENOFIT, with the numbers, when arenas and what lies outside of them exceed the budget. */
PLIM_MUST_USE plim_status plim_vram_check(plim_device *device, int64_t budget_bytes, int64_t arena_bytes);

#ifdef __cplusplus
}
#endif
#endif

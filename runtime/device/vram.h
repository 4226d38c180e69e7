/* A budget for all memory of a run on a GPU. Context, libraries, modules and captured steps lie outside the arena.
 * Their bytes are measured, and the arena gets the rest of the budget.
 *
 * All functions belong to the thread of the device. They measure the GPU's free memory, so other programs on the GPU
 * change their results. PLIM_EUSAGE: the device is no GPU. PLIM_EDEVICE: the GPU does not answer. */
#ifndef PLIM_RUNTIME_DEVICE_VRAM_H
#define PLIM_RUNTIME_DEVICE_VRAM_H

#include "runtime/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Find the bytes that a budget leaves for the arena: the budget, minus the bytes outside of arenas now, minus the bytes
 * of steps that will be captured, rounded down to pages of 2 MiB.
 *   captured_bytes  in       from plim_warm_up_run; 0: they are captured already, or never
 *   arena_bytes     [1] out  > 0
 * PLIM_ENOFIT: less than one page is left, or the GPU has fewer bytes free; the sentence has the numbers. O(1). */
PLIM_MUST_USE plim_status plim_vram_left(plim_device *device, int64_t budget_bytes, int64_t captured_bytes,
                                         int64_t *arena_bytes);

/* Check that a run keeps its budget now. PLIM_ENOFIT, with the numbers: arena_bytes and the bytes outside of arenas
 * together exceed budget_bytes. O(1). */
PLIM_MUST_USE plim_status plim_vram_check(plim_device *device, int64_t budget_bytes, int64_t arena_bytes);

#ifdef __cplusplus
}
#endif
#endif

/* Measures how long copies between a GPU's memory and page-locked memory of the host take. Functions run on the thread
 * of the device. */
#ifndef PLIM_RUNTIME_PROFILE_DEVICE_LINK_H
#define PLIM_RUNTIME_PROFILE_DEVICE_LINK_H

#include "runtime/device/device.h"
#include "runtime/profile/page_link.h"

/* Measure the link by copies of two sizes, each way alone and both ways at once. Takes some tens of milliseconds, and
 * up to 64 MiB of the device and of page-locked memory, which it gives back. Copies take nothing from kernels beside
 * them: every delay share is 0.
 *   device  in   with page-locked memory (plim_device_api.memory.alloc_pinned)
 *   out     out  untouched on failure
 * The errors of the device. */
PLIM_MUST_USE plim_status plim_device_link_measure(plim_device *device, plim_page_link *out);

/* The link of a typical GPU to page-locked memory: the same figures everywhere. Copies take nothing from kernels beside
 * them. */
plim_page_link plim_device_link_model(void);

#endif

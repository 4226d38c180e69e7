/* The check device: a decorator that finds plans and kernels that touch what they must not, or do not write what they
 * must. It trusts no pointer: it looks at the bytes.
 *
 * Around each step of a plan it
 *  - fills every byte of the arena that holds nothing (ended buffers, room between buffers, outputs and workspace of
 *    this step) with a pattern, so that what was there is gone;
 *  - runs the step and fails when a byte changed that is not in its outputs, updates or workspace, or that belongs to
 *    another buffer as well (overlap);
 *  - runs it again with the complementary pattern in every byte of the arena but the step's operands, outputs of pairs
 *    beside their inputs instead of over them, and fails when a result differs: an output (or its padding) was not
 *    written, or was made from bytes that nothing wrote: a read after the end of a buffer, an unset workspace;
 *  - hashes the first result of every output and fails when a recompute gives another.
 * So every kernel, a caller's own too, is called twice a step. Costs some passes over the arena a step. */
#ifndef PLIM_RUNTIME_DEVICE_DEVICE_CHECK_H
#define PLIM_RUNTIME_DEVICE_DEVICE_CHECK_H

#include "runtime/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Decorate `inner`, which computes, has host-visible memory and outlives the decorator. Its steps fail with PLIM_EDIFF
 * and a sentence that names the op, the value or buffer and the byte; executors over it need planned addresses. */
PLIM_MUST_USE plim_status plim_device_check_open(plim_device *inner, plim_device **out);

#ifdef __cplusplus
}
#endif
#endif

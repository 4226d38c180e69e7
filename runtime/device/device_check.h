/* The check device: a decorator that finds plans and kernels that write outside of their outputs, or do not write all
 * of them. It compares bytes, and does not rely on the pointers of a call.
 *
 * Around each command of a plan it
 *  1. fills every byte of the arena that holds nothing with a pattern: ended buffers, ranges between buffers, outputs
 *     and workspace of this command;
 *  2. runs the command. It fails when a byte changed outside of the command's outputs, updates and workspace, or a byte
 *     that belongs to another buffer as well (overlap);
 *  3. fills every byte of the arena but the command's operands with the complementary pattern, and runs the command
 *     again. In-place outputs then lie beside their inputs. It fails when a result differs: an output or its padding
 *     was not written, or was computed from bytes that no command wrote (an ended buffer, an unset workspace);
 *  4. keeps a hash of the first result of every output, and fails when a recomputation gives another.
 *
 * So every kernel, also a caller's own, is called twice for each command. Each command costs several passes over the
 * arena. Memory: a copy of the arena, and twice the largest results of one op. */
#ifndef PLIM_RUNTIME_DEVICE_DEVICE_CHECK_H
#define PLIM_RUNTIME_DEVICE_DEVICE_CHECK_H

#include "runtime/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Decorate a device that computes and has host-visible memory.
 *   inner  in       must outlive the decorator
 *   out    [1] out  close with plim_device_close, which leaves `inner` open; belongs to the thread of `inner`
 * PLIM_EUSAGE: `inner` watches steps itself (sim, cuda, check). PLIM_ENOMEM.
 * A fault ends the step with PLIM_EDIFF, and a sentence that names the op, the value or buffer, and the byte. An
 * executor over it needs planned addresses in one arena; a step without them is PLIM_EUSAGE. */
PLIM_MUST_USE plim_status plim_device_check_open(plim_device *inner, plim_device **out);

#ifdef __cplusplus
}
#endif
#endif

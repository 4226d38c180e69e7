/* Rehearsal: find the variants that a device refuses before a program's first step, and leave them out. Functions
 * belong to the thread of the device. */
#ifndef PLIM_RUNTIME_TRAIN_REHEARSAL_H
#define PLIM_RUNTIME_TRAIN_REHEARSAL_H

#include "runtime/exec/exec.h"
#include "runtime/program/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Open an executor over the program's plans, and close it. On devices whose libraries may refuse a kernel, each such
 * kernel runs once in each way that a step runs it.
 *   failures  [1]  out  the variants that were refused; then call plim_program_drop, and plan again
 * The errors and the cost of plim_exec_open. */
PLIM_MUST_USE plim_status plim_program_rehearse(const plim_program *program, plim_device *device,
                                                plim_exec_failures *failures);

/* Leave the variants that failed out of the program's profiles, with notes that say why, and store that in the profile
 * cache. The program's plans stay as they are until the caller plans again. PLIM_EDEVICE: an op has no variant left.
 * PLIM_ENOMEM. O(profiles). */
PLIM_MUST_USE plim_status plim_program_drop(plim_program *program, plim_device *device,
                                            const plim_exec_failures *failures);

#ifdef __cplusplus
}
#endif
#endif

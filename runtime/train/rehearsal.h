/* The variants that a device refuses, found before the first step. The caller plans again without them. Functions run
 * on the thread of the device. */
#ifndef PLIM_RUNTIME_TRAIN_REHEARSAL_H
#define PLIM_RUNTIME_TRAIN_REHEARSAL_H

#include "runtime/train/trainer.h"

/* Open an executor over the program's plans, and close it, on a device whose libraries may refuse a kernel. Each such
 * kernel runs once in each way that a step runs it. Does nothing on other devices.
 *   refused  [1]  out  the variants that were refused; then call plim_rehearsal_drop, and plan again
 * The errors and the cost of plim_exec_open. */
PLIM_MUST_USE plim_status plim_rehearsal_run(const plim_program *program, plim_device *device,
                                             plim_refused_list *refused);

/* Remove the variants that failed from the program's profiles, with notes that say why, and from the profile cache. The
 * program's plans stay as they are until the caller plans again. PLIM_EDEVICE: an op has no variant left. PLIM_ENOMEM.
 * O(profiles). */
PLIM_MUST_USE plim_status plim_rehearsal_drop(plim_program *program, plim_device *device,
                                              const plim_refused_list *refused);

/* plim_rehearsal_run for a caller that plans again without the refused variants.
 *   again  [1]  out  1: `refused` lists variants, which the caller removes (plim_rehearsal_drop) before it plans again
 * An arena that cannot be allocated is no failure here: plim_trainer_open reports it. Otherwise the errors and the cost
 * of plim_exec_open. */
PLIM_MUST_USE plim_status plim_rehearsal_for_plans(const plim_program *program, plim_device *device,
                                                   plim_refused_list *refused, int *again);

#endif

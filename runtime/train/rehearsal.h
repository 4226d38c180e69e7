/* Variants that a device refuses are found before a program's first step, and leave the program. */
#ifndef PLIM_RUNTIME_TRAIN_REHEARSAL_H
#define PLIM_RUNTIME_TRAIN_REHEARSAL_H

#include "runtime/exec/exec.h"
#include "runtime/program/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Open an executor over the program's plans and close it: on devices whose libraries may refuse a kernel each one runs
 * once, in the ways that a step runs it; on others nothing happens. Where it fails because of variants `failures` says
 * which; then plim_program_drop, and plan again. */
PLIM_MUST_USE plim_status plim_program_rehearse(const plim_program *program, plim_device *device,
                                                plim_exec_failures *failures);

/* Leave the variants that failed out of the program's profiles, with notes that say why, and keep that in the profile
 * cache. The program's plans stay as they are, until they are recomputed. PLIM_EDEVICE when an op has no other. */
PLIM_MUST_USE plim_status plim_program_drop(plim_program *program, plim_device *device,
                                            const plim_exec_failures *failures);

#ifdef __cplusplus
}
#endif
#endif

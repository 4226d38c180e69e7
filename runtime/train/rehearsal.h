/* A rehearsal between two attempts at plans, for preparation.c and verification.c. */
#ifndef PLIM_RUNTIME_TRAIN_REHEARSAL_H
#define PLIM_RUNTIME_TRAIN_REHEARSAL_H

#include "runtime/train/preparation.h"

/* plim_program_rehearse for a caller that plans again without what is refused.
 *   again  [1]  out  1: `failures` lists variants, which the caller leaves out (plim_program_drop) before it plans
 *                    again
 * An arena that cannot be allocated is no failure here: who trains in it explains that. Else the errors and the cost of
 * plim_exec_open. */
PLIM_MUST_USE plim_status plim_rehearse_for_plans(const plim_program *program, plim_device *device,
                                                  plim_exec_failures *failures, int *again);

#endif

/* A first run of a program on a GPU, which loads and captures everything that training needs outside the arena.
 * Functions run on the thread of the device. */
#ifndef PLIM_RUNTIME_TRAIN_WARM_UP_H
#define PLIM_RUNTIME_TRAIN_WARM_UP_H

#include "runtime/train/trainer.h"

/* Run the program's training and evaluation plans until both have been captured, so that everything that training needs
 * outside the arena is loaded. Trains 3 steps and evaluates at least 2 batches, with a trainer of its own. The trainer
 * is closed at the end, and its weights are lost.
 *   options         in       as for plim_trainer_open
 *   captured_bytes  [1] out  bytes of the captured steps. They are free now; training needs them again
 * The errors of plim_trainer_open, plim_trainer_run and plim_trainer_evaluate. Costs 3 steps and at least one
 * evaluation. */
PLIM_MUST_USE plim_status plim_warm_up_run(plim_device *device, const plim_dataset *dataset, plim_program *program,
                                           const plim_trainer_options *options, int64_t *captured_bytes);

#endif

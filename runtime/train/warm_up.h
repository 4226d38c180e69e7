/* A first run of a program on a GPU, so that everything that it needs is loaded and captured. */
#ifndef PLIM_RUNTIME_TRAIN_WARM_UP_H
#define PLIM_RUNTIME_TRAIN_WARM_UP_H

#include "runtime/train/trainer.h"

/* Run the program's training and evaluation plans until each is replayed, so that everything that the run needs outside
 * of the arena is loaded. It trains 3 steps and evaluates at least 2 batches, with a trainer of its own that is closed
 * at the end: nothing is kept of the weights.
 *   options         in       as for plim_trainer_open
 *   captured_bytes  [1] out  bytes of the captured steps. They were freed with that trainer; the run takes them again
 * The errors of plim_trainer_open, plim_trainer_run and plim_trainer_evaluate. Costs 3 steps and one evaluation at
 * least. */
PLIM_MUST_USE plim_status plim_vram_warm_up(plim_device *device, const plim_dataset *dataset, plim_program *program,
                                            const plim_trainer_options *options, int64_t *captured_bytes);

#endif

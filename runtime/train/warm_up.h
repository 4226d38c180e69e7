/* A first run of a program on a GPU, so that everything is loaded and captured that will ever be. */
#ifndef PLIM_RUNTIME_TRAIN_WARM_UP_H
#define PLIM_RUNTIME_TRAIN_WARM_UP_H

#include "runtime/train/trainer.h"

/* Run every plan of the program until it is replayed, so that everything is loaded that will ever be. What was captured
 * goes with the arena: *captured_bytes is what it took, which the run will take again; with it plim_vram_left stays
 * true. Trains a few steps and evaluates once, of weights that nothing keeps. */
PLIM_MUST_USE plim_status plim_vram_warm_up(plim_device *device, const plim_dataset *dataset, plim_program *program,
                                            const plim_trainer_options *options, int64_t *captured_bytes);

#endif

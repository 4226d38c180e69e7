/* Trainers of a small MLP on the device that tests are for (tests/support/device_under_test.h). What fails here fails
 * the running test. */
#ifndef PLIM_TESTS_SUPPORT_TRAINER_RIG_H
#define PLIM_TESTS_SUPPORT_TRAINER_RIG_H

#include "runtime/train/trainer.h"

enum { TRAINER_RIG_BATCH = 16, TRAINER_RIG_SIDE = 8 };

typedef struct trainer_rig {
  plim_context *ctx;
  plim_device *device;
  plim_dataset *dataset; /* 100 images of SIDE x SIDE x 1, and 40 for the test */
} trainer_rig;

/* Opens the folder of the test (tests/support/folder.h) too; end removes it. */
void trainer_rig_begin(trainer_rig *rig);
void trainer_rig_end(trainer_rig *rig);

/* A program for images of side x side x 1 without plans, and one for those of the data set with plans. */
plim_program *trainer_rig_program_begin(const trainer_rig *rig, int batch, int side);
plim_program *trainer_rig_program(const trainer_rig *rig, int batch);

plim_trainer_options trainer_rig_options(float rate);
plim_trainer *trainer_rig_open(const trainer_rig *rig, plim_program *program, float rate);
void trainer_rig_run(const trainer_rig *rig, plim_trainer *trainer, int64_t steps);

/* Number of values in which the states of two trainers differ. */
int64_t trainer_rig_differences(const trainer_rig *rig, const plim_trainer *a, const plim_trainer *b);

#endif

/* Training: a program, a data set and a device; steps, evaluation, cancellation. */
#ifndef PLIM_RUNTIME_TRAIN_TRAINER_H
#define PLIM_RUNTIME_TRAIN_TRAINER_H

#include "runtime/exec/exec.h"
#include "runtime/train/dataset.h"
#include "runtime/train/program.h"
#include "runtime/train/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_trainer plim_trainer;

typedef struct plim_trainer_options {
  size_t struct_bytes; /* sizeof(plim_trainer_options) */
  uint64_t seed;       /* weights, shuffling, augmentation, dropout */
  plim_schedule schedule;
  int32_t augment;
  plim_exec_options exec;
} plim_trainer_options;

/* What a finished step reports. */
typedef struct plim_step_report {
  int64_t step;             /* from 0 */
  int32_t which;            /* plan of the program: PLIM_PROGRAM_TRAIN or PLIM_PROGRAM_LAST */
  float loss;               /* mean over the batch, before the update */
  int32_t correct, counted; /* images */
  int64_t time_ns;          /* the whole step: hand-over of the batch, ops, reading the loss */
} plim_step_report;
typedef void plim_on_step(void *user, const plim_step_report *report);

typedef struct plim_evaluation {
  double loss; /* mean over the test images */
  int64_t correct, counted;
  int64_t time_ns;
} plim_evaluation;

/* Open the executor (which checks the program and allocates the arena), write the starting weights and start the
 * reader. A program with a plan for a last batch trains what is left of an epoch with it; without one that is dropped.
 * Device, data set and program must outlive the trainer. PLIM_EUSAGE when the program's images are not those of the
 * data set, or its last batch is not what is left of it. */
PLIM_MUST_USE plim_status plim_trainer_open(plim_device *device, const plim_dataset *dataset,
                                            const plim_program *program, const plim_trainer_options *options,
                                            plim_trainer **out);
void plim_trainer_close(plim_trainer *trainer); /* NULL is legal */

/* Run `steps` more steps; on_step (NULL: none) hears of each. PLIM_ECANCEL after the step in which the context was
 * cancelled, PLIM_ENOTFINITE naming the step whose loss is not a number. */
PLIM_MUST_USE plim_status plim_trainer_run(plim_trainer *trainer, int64_t steps, plim_on_step *on_step, void *user);

/* Run the evaluation step over the test images. PLIM_ECANCEL as above. */
PLIM_MUST_USE plim_status plim_trainer_evaluate(plim_trainer *trainer, plim_evaluation *out);

int64_t plim_trainer_steps(const plim_trainer *trainer);       /* done so far */
int64_t plim_trainer_epoch_steps(const plim_trainer *trainer); /* steps an epoch */
plim_exec *plim_trainer_exec(const plim_trainer *trainer);     /* borrowed */
const plim_program *plim_trainer_program(const plim_trainer *trainer);

/* Continue a run at `step` (after plim_checkpoint_load). */
void plim_trainer_seek(plim_trainer *trainer, int64_t step);

#ifdef __cplusplus
}
#endif
#endif

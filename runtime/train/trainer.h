/* The training loop: runs the steps of a program on a device with the data of a data set, and evaluates.
 *
 * trainer.c has the loop, trainer_open.c what opens and closes, budget_change.c a budget that changes;
 * trainer_internal.h has all files.
 *
 * A trainer belongs to the thread of its device; only plim_trainer_change_budget may be called from others. For equal
 * options, data set and numerics the losses and parameters are equal bit for bit, whatever the budgets and plans
 * are. */
#ifndef PLIM_RUNTIME_TRAIN_TRAINER_H
#define PLIM_RUNTIME_TRAIN_TRAINER_H

#include "runtime/data/dataset.h"
#include "runtime/exec/exec.h"
#include "runtime/program/program.h"
#include "runtime/train/rate_schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_trainer plim_trainer;

/* A change of the budget in the middle of a training step. */
typedef struct plim_budget_change {
  int64_t step;  /* the training step, from 0, in whose middle the budget changes; on a GPU at its end */
  int64_t bytes; /* the new budget */
} plim_budget_change;

/* The result of a change of the budget. */
typedef struct plim_budget_report {
  int64_t step;                      /* the training step that begins now: the first one with the new plans */
  int64_t wanted_bytes;              /* the budget that was asked for */
  plim_status status;                /* PLIM_ENOFIT, PLIM_ENOMEM (no memory to plan): the run continues under the old
                                      * budget; the context says why */
  int64_t arena_before, arena_after; /* arena bytes of the plans of the former step, and arena bytes now */
  int64_t returned_bytes;            /* bytes of the arena at open that are returned to the system now */
  int64_t moved_bytes;               /* bytes copied within the arena by plan switches so far */
  int32_t switched_at;     /* command at which the running step continued online in the wanted bytes; PLIM_NONE: no
                                      * step was running, or it found no plan and kept its bytes to its end */
  double switched_percent; /* overhead of that step */
  double overhead_percent; /* predicted for the training steps from now on */
  int64_t time_ns;         /* spent between the steps on new plans */
} plim_budget_report;
typedef void plim_on_budget_change(void *user, const plim_budget_report *report);

/* The result of timing the ops of some training steps in place. */
typedef struct plim_retime_report {
  int64_t step;                      /* the training step that begins now */
  int64_t predicted_ns, measured_ns; /* time of the plan that ran: as predicted, and as the timed steps took */
  /* Time of the plan made with the measured times; 0: none was found. It is longer in proportion where the timed steps
   * took longer than the medians of their commands say. */
  int64_t again_ns;
  int32_t taken;           /* 1: the new plan is faster, and runs from now on */
  double overhead_percent; /* of the new plan */
  int64_t time_ns;         /* spent between two steps on planning */
} plim_retime_report;
typedef void plim_on_retime(void *user, const plim_retime_report *report);

typedef struct plim_trainer_options {
  size_t struct_bytes; /* sizeof(plim_trainer_options) */
  uint64_t seed;       /* below 2^63; weights, shuffling, augmentation, dropout */
  plim_rate_schedule schedule;
  int32_t augment;
  plim_exec_options exec;
  const plim_replan_options *replan; /* for plans of other budgets; NULL: the budget cannot change. Borrowed */
  /* [n_budget_changes] changes that are known in advance, ascending by step. Borrowed */
  const plim_budget_change *budget_change;
  int32_t n_budget_changes;
  plim_on_budget_change *on_budget_change; /* NULL: none */
  void *on_budget_change_user;
  int32_t retime_steps;      /* > 0: time so many steps op by op, then plan once more with these times and equal
                              * numerics keys; needs `replan` without a policy */
  plim_on_retime *on_retime; /* NULL: none */
  void *on_retime_user;
} plim_trainer_options;

/* Seed 1, learning rate 0 (set `schedule`), no augmentation, planned addresses, a fixed budget. */
plim_trainer_options plim_trainer_options_default(void);

/* The report of a finished step. */
typedef struct plim_step_report {
  int64_t step;             /* from 0 */
  int32_t plan_index;       /* plan of the program: PLIM_PROGRAM_TRAIN or PLIM_PROGRAM_LAST */
  float loss;               /* mean over the batch, before the update; may be infinite or no number */
  int32_t correct, counted; /* right predictions, and all predictions: of images, or of tokens */
  int64_t time_ns;          /* of the whole step: wait for the batch, copy it, run the ops, read the loss */
} plim_step_report;
typedef void plim_on_step(void *user, const plim_step_report *report);

/* The result of an evaluation. */
typedef struct plim_evaluation {
  double loss;              /* mean over all test predictions */
  int64_t correct, counted; /* as in plim_step_report */
  int64_t time_ns;
} plim_evaluation;

/* Open the executor (which checks the program and allocates the arena), write the starting weights and start the
 * reader.
 *   device, dataset, program  in       must outlive the trainer
 *   options                   in       copied; what it points to is borrowed. Must not be NULL
 *   out                       [1] out  close with plim_trainer_close
 * A program with a plan for a last batch trains the last images of an epoch with it; without one they are not trained.
 * A variant that the device refuses is reported as by plim_exec_open. When the device refuses a variant of a plan that
 * is made later, the variant leaves the program's profiles, and the run continues.
 * PLIM_EUSAGE: options are not allowed, a number of the schedule is not finite, the program's images are not those of
 * the data set, or its last batch has another size than the last images of an epoch. PLIM_EDATA: a graph lacks a value
 * that the loop reads or writes, such as "loss". PLIM_ECANCEL: the context was cancelled while the starting weights
 * were written. Otherwise the errors and the cost of plim_exec_open. */
PLIM_MUST_USE plim_status plim_trainer_open(plim_device *device, const plim_dataset *dataset, plim_program *program,
                                            const plim_trainer_options *options, plim_trainer **out);
void plim_trainer_close(plim_trainer *trainer); /* NULL is legal */

/* Run `steps` more training steps.
 *   on_step, user  in  called after each step that plim_exec_step has ended with PLIM_OK, on this thread; NULL: not
 *                      wanted
 * PLIM_ECANCEL: the context was cancelled; the last step is complete. PLIM_ENOTFINITE: the loss of a step is not
 * finite. on_step has had the report of this step; its weights are updated, and it counts as done. PLIM_EIO,
 * PLIM_EDATA: the program's own data source failed, or gave a label or token that is out of range. PLIM_EUSAGE: another
 * budget was asked for, and options.replan is NULL or there is no arena. Otherwise the errors of plim_exec_step, or of
 * planning for another budget. When a step has failed while its ops ran, some weights may be updated and others not:
 * load a checkpoint before more steps. */
PLIM_MUST_USE plim_status plim_trainer_run(plim_trainer *trainer, int64_t steps, plim_on_step *on_step, void *user);

/* Change the budget: from now on the arena may have at most `bytes`. They may be less or more than before, up to the
 * bytes at open. Safe from any thread and from signal handlers, also while a step runs. A running step continues online
 * in the new bytes from one of its next commands at which that is possible (tries become rarer), and the tail of the
 * arena returns to the system at once. Before the next step plans for the new budget take over, with the same bits, and
 * options.on_budget_change is called. A later request replaces one that has not been served. */
void plim_trainer_change_budget(plim_trainer *trainer, int64_t bytes);

/* Run the evaluation step over all test images.
 *   out  [1]  out
 * PLIM_ECANCEL: the context was cancelled. Otherwise the errors of plim_trainer_run. */
PLIM_MUST_USE plim_status plim_trainer_evaluate(plim_trainer *trainer, plim_evaluation *out);

/* Number of training steps that are done. Number of training steps of an epoch. */
int64_t plim_trainer_steps(const plim_trainer *trainer);
int64_t plim_trainer_epoch_steps(const plim_trainer *trainer);

/* Executor, program and options of a trainer; borrowed until it is closed. */
plim_exec *plim_trainer_exec(const plim_trainer *trainer);
const plim_program *plim_trainer_program(const plim_trainer *trainer);
const plim_trainer_options *plim_trainer_options_of(const plim_trainer *trainer);

/* Continue a run at `step` >= 0, between two steps (plim_checkpoint_load calls it). */
void plim_trainer_seek(plim_trainer *trainer, int64_t step);

#ifdef __cplusplus
}
#endif
#endif

/* From a program without plans to one that can train: plans for every step within a budget, which the device runs, and
 * plans for the budgets that are foreseen. On a GPU, also within a budget of all its memory.
 *
 * A preparation belongs to the thread of its device. */
#ifndef PLIM_RUNTIME_TRAIN_PREPARATION_H
#define PLIM_RUNTIME_TRAIN_PREPARATION_H

#include "runtime/train/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The options of a net for the images of a data set: their size, classes, and the constants of their pixels; for a text
 * sequences of 256 tokens and 256 classes; else as plim_net_options_default has it.
 *   model  in   a built-in model's name, for its usual image size; NULL: another net
 *   data   in   a data set's name
 *   image  in   [3] = height, width, channels of noise; NULL: the usual size of the model
 * PLIM_EUSAGE: no data set is called so, one with images of its own was given an image size, or the model does not read
 * such data. */
PLIM_MUST_USE plim_status plim_net_options_of_data(plim_context *ctx, const char *model, const char *data,
                                                   const int32_t *image, plim_net_options *out);

typedef struct plim_preparation_options {
  size_t struct_bytes;        /* sizeof(plim_preparation_options) */
  plim_plan_options planning; /* budget and numerics of the training step; keys that are given must not be borrowed from
                               * the program's profiles, which may change */
  const char *plan;           /* file of a plan that was made before, taken as it is; NULL: one is made */
  const plim_policy *policy;  /* decides the training step online; NULL: a planner does. Never with `plan` */
  double thrash;              /* of policies: limit on the time of recomputing, as a multiple of the keep-all time */
  int32_t replay;             /* 1: the online arena decides the plan's addresses (plim_program_replay) */
  const plim_limit *limit;    /* [n_limits] budgets of a run that are foreseen, ascending by step */
  int32_t n_limits;
  int64_t vram_bytes;                   /* > 0: of all that the run holds on a GPU; needs the two below */
  const plim_dataset *dataset;          /* to warm up with */
  const plim_trainer_options *training; /* to warm up with */
} plim_preparation_options;

/* Planning as plim_plan_options_default has it, planned addresses, thrash 1, budgets that stay. */
plim_preparation_options plim_preparation_options_default(void);

/* What is done, and where it failed: the outside of the arena, the plan of the training step, the policy's run in place
 * of it, addresses that the arena decides, the last batch, the rehearsal, a budget that is foreseen. */
typedef enum plim_preparation_stage {
  PLIM_PREPARE_OUTSIDE,
  PLIM_PREPARE_PLAN,
  PLIM_PREPARE_POLICY,
  PLIM_PREPARE_ADDRESSES,
  PLIM_PREPARE_LAST,
  PLIM_PREPARE_REHEARSAL,
  PLIM_PREPARE_LIMIT
} plim_preparation_stage;

typedef struct plim_preparation {
  plim_device *device;
  plim_program *program; /* borrowed, as the device is */
  plim_plan *keep_all;   /* its arena_bytes are what percentages of a budget are of */
  /* As they were used last: the budget is the arena's; numerics become those of keep_all (PLIM_NUMERICS_GIVEN) where
   * PLIM_NUMERICS_FASTEST was asked for and the device refused a variant. */
  plim_plan_options planning;
  plim_replan_options replan; /* for plans of other budgets with equal numerics; for plim_trainer_options.replan */
  plim_replay_counts replay;  /* of the policy, or of the arena's addresses */
  plim_replay_counts last;    /* of the last batch */
  int64_t room_bytes;         /* that the arena got above what was planned for, where it decides addresses */
  plim_preparation_stage stage;
  int32_t failed_limit; /* at stage PLIM_PREPARE_LIMIT */
  const char **label;   /* of planning, where the device changed it */
} plim_preparation;

/* Begin with a program that has no plans. Device and program must outlive it. End it also after a failure of
 * plim_preparation_run. */
PLIM_MUST_USE plim_status plim_preparation_begin(plim_device *device, plim_program *program, plim_preparation *out);
void plim_preparation_end(plim_preparation *preparation); /* twice is legal, and one that is all zero */

/* Make the plans of the program, as `options` say.
 *   1. The training step is planned, decided by the policy, or loaded; the evaluation step is planned beside it.
 *   2. A last batch, where the program has one, is decided online in the same arena.
 *   3. The plans are rehearsed. A variant that the device refuses leaves the profiles, and 1 begins again.
 *   4. A plan is made for every budget that is foreseen, so that a budget that does not fit is refused before anything
 *      runs. With planning.front_folder the run finds these plans again.
 * With vram_bytes the program is first planned for seven eighths of what a budget of the GPU leaves now and warmed up,
 * so that everything is loaded and captured. Then it is planned for what is left.
 * PLIM_ENOFIT: preparation->stage says what did not fit, and planning.budget_bytes within which arena. PLIM_EDEVICE:
 * the numerics that are asked for, or the plan that is given, need a variant that the device refuses. PLIM_EUSAGE:
 * options of another size, a plan and a policy, or vram_bytes on a device that is no GPU. */
PLIM_MUST_USE plim_status plim_preparation_run(plim_preparation *preparation, const plim_preparation_options *options);

/* ---- its parts: the variants that a device refuses before the first step ---- */

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

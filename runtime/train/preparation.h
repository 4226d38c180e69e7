/* Makes a program without plans ready to train: plans every step within a budget, rehearses the plans on the device,
 * and plans for the budgets that are foreseen. On a GPU the budget may be for all memory of the device.
 *
 * A preparation belongs to the thread of its device.
 *
 * preparation_net.c makes the options of a net; preparation.c decides in which order the stages begin;
 * preparation_internal.h has their work. */
#ifndef PLIM_RUNTIME_TRAIN_PREPARATION_H
#define PLIM_RUNTIME_TRAIN_PREPARATION_H

#include "runtime/train/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The options of a net for a data set. For images: their size, classes and the constants of their pixels. For a text:
 * context and number of words as in plim_dataset_options_default. Other options as in plim_net_options_default.
 *   model  in   name of a built-in model, whose usual image size is used for noise; NULL: another net
 *   data   in   name of the data set
 *   image  in   [3] = height, width, channels of noise; NULL: the usual size of the model
 * PLIM_EUSAGE: there is no such data set, an image size was given for a data set that has images of its own or a text,
 * or the model does not read such data. */
PLIM_MUST_USE plim_status plim_preparation_net_options(plim_context *ctx, const char *model, const char *data,
                                                       const int32_t *image, plim_net_options *out);

/* Name of the data set of a built-in model where none is named, a static string: fashion-mnist, or noise for a model
 * whose images must be larger. model: NULL: another net. Safe from any thread. */
const char *plim_preparation_usual_data(const char *model);

typedef struct plim_preparation_options {
  size_t struct_bytes;        /* sizeof(plim_preparation_options) */
  plim_plan_options planning; /* budget and numerics of the training step; given numerics keys must not be borrowed from
                               * the program's profiles, which may change */
  const char *plan;           /* file of a plan to use as it is; NULL: a plan is made */
  const plim_policy *policy;  /* decides the training step online; NULL: a planner does. Never with `plan` */
  double thrash;              /* of policies: limit of the time of recomputations, as a multiple of the keep-all time */
  int32_t replay;             /* 1: the online arena decides the plan's addresses (plim_program_replay) */
  const plim_budget_change
      *budget_change; /* [n_budget_changes] budgets of a run that are foreseen, ascending by step */
  int32_t n_budget_changes;
  int64_t vram_bytes;                   /* > 0: budget for all memory of the run on a GPU; needs the two below */
  int32_t trial_steps;                  /* > 0: steps of a trial when the plan pages; needs the two below */
  const plim_dataset *dataset;          /* for the warm-up and the trial */
  const plim_trainer_options *training; /* for the warm-up and the trial */
} plim_preparation_options;

/* Planning as in plim_plan_options_default, planned addresses, thrash 1, a fixed budget, no trial. */
plim_preparation_options plim_preparation_options_default(void);

/* The stages of a preparation; after a failure the one that failed. */
typedef enum plim_preparation_stage {
  PLIM_PREPARE_OUTSIDE,   /* measure the memory outside the arena */
  PLIM_PREPARE_PLAN,      /* plan the training step */
  PLIM_PREPARE_POLICY,    /* let a policy decide the training step online */
  PLIM_PREPARE_ADDRESSES, /* let the arena decide the addresses of the plan */
  PLIM_PREPARE_TRIAL,     /* compare the plan that pages with a plan that does not */
  PLIM_PREPARE_LAST,      /* plan the last batch of an epoch */
  PLIM_PREPARE_REHEARSAL, /* rehearse the plans */
  PLIM_PREPARE_FORESEEN   /* plan for a budget that is foreseen */
} plim_preparation_stage;

/* Times of a training step in the trial: with the plan that pages, and with a plan for the same arena that does not.
 * Both are 0 when there was no trial. */
typedef struct plim_trial {
  int64_t paged_ns, unpaged_ns; /* least median of the turns */
} plim_trial;

typedef struct plim_preparation {
  plim_device *device;
  plim_program *program; /* borrowed, as the device is */
  plim_plan *keep_all;   /* its arena_bytes are 100 % of a budget given as a percentage */
  /* The options of the last planning. The budget is that of the arena. Numerics become those of keep_all
   * (PLIM_NUMERICS_GIVEN) when PLIM_NUMERICS_FASTEST was asked for and the device refused a variant. */
  plim_plan_options planning;
  plim_replan_options replan; /* for plans of other budgets with equal numerics; for plim_trainer_options.replan */
  plim_replay_counts replay;  /* of the policy, or of the arena that decides addresses */
  plim_replay_counts last;    /* of the last batch */
  plim_trial trial;
  int64_t room_bytes; /* bytes by which an arena that decides addresses exceeds the planned arena */
  plim_preparation_stage stage;
  int32_t failed_change;     /* at stage PLIM_PREPARE_FORESEEN: index of the budget change that failed */
  const char **numerics_key; /* numerics keys of `planning` after the device refused a variant */
} plim_preparation;

/* Begin with a program that has no plans. Device and program must outlive the preparation. End it also after a failure
 * of plim_preparation_run. PLIM_ENOMEM, or the errors of plim_program_keep_all. */
PLIM_MUST_USE plim_status plim_preparation_begin(plim_device *device, plim_program *program, plim_preparation *out);
/* Free the preparation. Legal for one that was ended before. */
void plim_preparation_end(plim_preparation *preparation);

/* Make the plans of the program, as `options` say.
 *   1. Plan the training step, or let the policy decide it, or load its plan. Plan the evaluation step with it.
 *      With trial_steps, a plan that pages runs in turns with one that does not, and the faster one stays.
 *   2. If the program has a last batch, decide it online in the same arena.
 *   3. Rehearse the plans. When the device refuses a variant, it leaves the profiles, and step 1 begins again.
 *   4. Plan for every budget that is foreseen, so that a budget that does not fit is refused before anything runs. With
 *      planning.front_folder the run finds these plans again.
 * With vram_bytes the program is planned twice. The first plan is for seven eighths of the bytes that the budget leaves
 * now; it is warmed up, so that everything is loaded and captured. The second plan is for the bytes that are left then.
 * PLIM_ENOFIT: preparation->stage says what did not fit, planning.budget_bytes into which arena. PLIM_EDEVICE: the
 * numerics that are asked for, or the plan that is given, need a variant that the device refuses. PLIM_EUSAGE: options
 * of another size, a plan and a policy, vram_bytes on a device that is no GPU, or vram_bytes or trial_steps without a
 * data set and training options. Otherwise the errors of the stage: those of planning, plim_plan_load, plim_exec_open
 * or plim_trainer_run. After a failure the program may have plans or none. */
PLIM_MUST_USE plim_status plim_preparation_run(plim_preparation *preparation, const plim_preparation_options *options);

#ifdef __cplusplus
}
#endif
#endif

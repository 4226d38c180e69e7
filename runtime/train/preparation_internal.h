/* The parts of a preparation. preparation.c decides which stage begins when; the work of a stage is here.
 *   preparation_stages.c   plan, load or decide a step; plans for budgets that are foreseen; the trial
 *   preparation_refused.c  rehearsal, and what follows when the device refuses a variant */
#ifndef PLIM_RUNTIME_TRAIN_PREPARATION_INTERNAL_H
#define PLIM_RUNTIME_TRAIN_PREPARATION_INTERNAL_H

#include "runtime/train/preparation.h"

/* A preparation that runs. */
typedef struct plim_preparing {
  plim_preparation *preparation;
  const plim_preparation_options *options;
  plim_context *ctx;
  plim_program *program;
} plim_preparing;

/* ---- preparation_stages.c ---- */

/* Take the plan of the training step from options->plan. PLIM_ENOFIT: it needs more than the budget. */
PLIM_MUST_USE plim_status plim_preparing_load(plim_preparing *work);

/* Plan the training step. Where a trial may follow, a part of the time limit is left for its other plan. */
PLIM_MUST_USE plim_status plim_preparing_plan(plim_preparing *work);

/* Let the policy decide the training step. Without a budget it gets the arena of keep-all. */
PLIM_MUST_USE plim_status plim_preparing_decide(plim_preparing *work);

/* Decide the last batch of an epoch online. */
PLIM_MUST_USE plim_status plim_preparing_decide_last(plim_preparing *work);

/* Is there to be a trial of the plan that the program has? Only a run shows how much copies and ops delay each other on
 * this machine. */
int plim_preparing_needs_trial(const plim_preparing *work);

/* Run the trial. *taken 1: the plan without paging was faster, and stays. */
PLIM_MUST_USE plim_status plim_preparing_try_unpaged(plim_preparing *work, int *taken);

/* Plan for each budget that is foreseen. failed_change names the one that failed. */
PLIM_MUST_USE plim_status plim_preparing_plan_foreseen(plim_preparing *work);

/* ---- preparation_refused.c ---- */

/* Rehearse the plans. *refused 1: the device refused a variant, which has left the profiles: plan again. */
PLIM_MUST_USE plim_status plim_preparing_rehearse(plim_preparing *work, int *refused);

#endif

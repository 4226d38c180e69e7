/* Plans, rehearses and plans again, until a program can train. Each function here says in which order stages begin;
 * preparation_internal.h has what a stage does.
 *
 * On a GPU the arena is smaller by the bytes that kernels and libraries load. These bytes depend on the plan, and the
 * plan depends on the arena's bytes. So within a budget of the whole GPU a first plan is made for somewhat less than
 * the bytes that are left when nothing has run. It runs until everything is loaded and captured. The final plan gets
 * all bytes that are left then. */
#include "runtime/train/preparation.h"

#include "runtime/base/integers.h"
#include "runtime/device/vram.h"
#include "runtime/train/preparation_internal.h"
#include "runtime/train/warm_up.h"

/* The first plan on a GPU leaves one part in HEADROOM for the bytes that it loads. */
enum { HEADROOM = 8 };

plim_preparation_options plim_preparation_options_default(void) {
  return (plim_preparation_options){
      .struct_bytes = sizeof(plim_preparation_options), .planning = plim_plan_options_default(), .thrash = 1};
}

plim_status plim_preparation_begin(plim_device *device, plim_program *program, plim_preparation *out) {
  plim_preparation preparation = {.device = device,
                                  .program = program,
                                  .planning = plim_plan_options_default(),
                                  .replan = plim_replan_options_default()};
  PLIM_TRY(plim_program_keep_all(program, &preparation.keep_all));
  *out = preparation;
  return PLIM_OK;
}

void plim_preparation_end(plim_preparation *preparation) {
  if (preparation->numerics_key) {
    plim_release(preparation->device->ctx, preparation->numerics_key,
                 preparation->program->graph[PLIM_PROGRAM_TRAIN]->n_ops, sizeof *preparation->numerics_key);
  }
  plim_plan_free(preparation->keep_all);
  *preparation = (plim_preparation){.device = NULL};
}

/* After a failure plim_preparation.stage is the stage that failed. */
static void begin(plim_preparing *work, plim_preparation_stage stage) {
  work->preparation->stage = stage;
}

/* ---- plans that the device accepts ---- */

/* Plan for the present budget, without what follows the plan of the training step. */
static plim_status plan_alone(plim_preparing *work) {
  begin(work, PLIM_PREPARE_PLAN);
  return plim_program_plan(work->program, &work->preparation->planning);
}

static plim_status plan_training(plim_preparing *work) {
  const plim_preparation_options *o = work->options;
  begin(work, o->policy ? PLIM_PREPARE_POLICY : PLIM_PREPARE_PLAN);
  if (o->policy) return plim_preparing_decide(work);
  PLIM_TRY(o->plan ? plim_preparing_load(work) : plim_preparing_plan(work));
  if (!o->replay) return PLIM_OK;
  begin(work, PLIM_PREPARE_ADDRESSES);
  return plim_program_replay(work->program, o->plan ? NULL : &work->preparation->planning, &work->preparation->replay,
                             &work->preparation->room_bytes);
}

static plim_status decide_last(plim_preparing *work) {
  if (!work->program->graph[PLIM_PROGRAM_LAST]) return PLIM_OK;
  begin(work, PLIM_PREPARE_LAST);
  return plim_preparing_decide_last(work);
}

static plim_status plan_all(plim_preparing *work) {
  PLIM_TRY(plan_training(work));
  return decide_last(work);
}

static plim_status rehearse(plim_preparing *work, int *refused) {
  begin(work, PLIM_PREPARE_REHEARSAL);
  return plim_preparing_rehearse(work, refused);
}

/* Plan, and rehearse the plan, until the device refuses nothing. The loop ends: each round has one variant less. */
static plim_status plan_until_accepted(plim_preparing *work, plim_status (*plan)(plim_preparing *work)) {
  for (int refused = 1; refused;) {
    PLIM_TRY(plan(work));
    PLIM_TRY(rehearse(work, &refused));
  }
  return PLIM_OK;
}

/* ---- a plan that pages beside one that does not ---- */

/* The plan without paging stays. *refused 1: not so, the device refuses one of its variants. */
static plim_status accept_unpaged(plim_preparing *work, int *refused) {
  PLIM_TRY(decide_last(work));
  return rehearse(work, refused);
}

/* Run a trial when the plan pages, and keep the faster plan. */
static plim_status keep_faster(plim_preparing *work) {
  int taken = 0, refused = 0;
  work->preparation->trial = (plim_trial){0, 0};
  if (!plim_preparing_needs_trial(work)) return PLIM_OK;
  begin(work, PLIM_PREPARE_TRIAL);
  PLIM_TRY(plim_preparing_try_unpaged(work, &taken));
  if (taken) PLIM_TRY(accept_unpaged(work, &refused));
  if (!refused) return PLIM_OK;
  work->preparation->trial = (plim_trial){0, 0};
  return plan_until_accepted(work, plan_all); /* back to paging, without that variant */
}

/* ---- all of it ---- */

/* Do everything for one size of the arena. */
static plim_status prepare_for(plim_preparing *work, int64_t budget_bytes) {
  work->preparation->planning.budget_bytes = budget_bytes;
  PLIM_TRY(plan_until_accepted(work, plan_all));
  PLIM_TRY(keep_faster(work));
  begin(work, PLIM_PREPARE_FORESEEN);
  return plim_preparing_plan_foreseen(work);
}

/* Make the first plan on a GPU. It is for a smaller budget, or, when there is none or the caller gives a plan or a
 * policy, for all bytes. */
static plim_status prepare_first(plim_preparing *work, int64_t bytes) {
  if (work->options->plan || work->options->policy) return prepare_for(work, bytes);
  work->preparation->planning.budget_bytes = bytes - bytes / HEADROOM;
  const plim_status status = plan_until_accepted(work, plan_alone);
  return status == PLIM_ENOFIT ? prepare_for(work, bytes) : status;
}

static plim_status prepare_on_gpu(plim_preparing *work) {
  const plim_preparation_options *o = work->options;
  plim_preparation *preparation = work->preparation;
  int64_t left = 0, captured = 0;
  begin(work, PLIM_PREPARE_OUTSIDE);
  PLIM_TRY(plim_vram_left(preparation->device, o->vram_bytes, 0, &left));
  PLIM_TRY(prepare_first(work, plim_integers_smaller(o->planning.budget_bytes, left)));
  begin(work, PLIM_PREPARE_OUTSIDE);
  PLIM_TRY(plim_warm_up_run(preparation->device, o->dataset, work->program, o->training, &captured));
  PLIM_TRY(plim_vram_left(preparation->device, o->vram_bytes, captured, &left));
  return prepare_for(work, plim_integers_smaller(o->planning.budget_bytes, left));
}

static plim_status check_options(plim_context *ctx, const plim_preparation_options *options) {
  const int can_train = options->dataset && options->training;
  PLIM_TRY(plim_check_options(ctx, "plim_preparation_options", options->struct_bytes, sizeof *options));
  if (options->plan && options->policy) {
    return plim_fail(ctx, PLIM_EUSAGE, "a step is planned or decided online: give a plan or a policy, not both");
  }
  if (options->vram_bytes > 0 && !can_train) {
    return plim_fail(ctx, PLIM_EUSAGE, "a budget of the whole GPU needs a data set and options to warm up with");
  }
  if (options->trial_steps == 0 || (options->trial_steps > 0 && can_train)) return PLIM_OK;
  return plim_fail(ctx, PLIM_EUSAGE, "a trial needs a number of steps above 0, a data set and options to train with");
}

plim_status plim_preparation_run(plim_preparation *preparation, const plim_preparation_options *options) {
  plim_preparing work = {preparation, options, preparation->device->ctx, preparation->program};
  PLIM_TRY(check_options(work.ctx, options));
  preparation->planning = options->planning;
  return options->vram_bytes > 0 ? prepare_on_gpu(&work) : prepare_for(&work, options->planning.budget_bytes);
}

/* Plans, rehearses and plans again, until a program can train. Nothing is computed before training begins. So a new
 * plan may use other kernels when the device refuses one, as if the profile had never had it.
 *
 * On a GPU the arena is smaller by the bytes that kernels and libraries load. These bytes depend on the plan, and the
 * plan depends on the arena's bytes. So within a budget of the whole GPU a first plan is made for somewhat less than
 * the bytes that are left when nothing has run. It runs until everything is loaded and captured. The final plan gets
 * all bytes that are left then. */
#include "runtime/train/preparation.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/effort.h"
#include "runtime/base/integers.h"
#include "runtime/device/vram.h"
#include "runtime/train/rehearsal.h"
#include "runtime/train/trial.h"
#include "runtime/train/warm_up.h"

/* The first plan on a GPU leaves one part in HEADROOM for the bytes that it loads. The plan without paging of a trial
 * gets one part in TRIAL_PART of a time limit. */
enum { HEADROOM = 8, TRIAL_PART = 4 };

typedef struct preparing {
  plim_preparation *preparation;
  const plim_preparation_options *options;
  plim_context *ctx;
  plim_program *program;
} preparing;

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

static plim_status fail_about(plim_context *ctx, plim_status status, const char *what) {
  return plim_fail(ctx, status, "%s: %s", what, plim_context_error(ctx));
}

/* ---- the training step ---- */

static plim_status load_plan(preparing *work) {
  const char *path = work->options->plan;
  plim_plan *plan = NULL;
  PLIM_TRY(plim_plan_load(work->ctx, path, &plan));
  PLIM_TRY(plim_program_adopt(work->program, plan));
  int64_t arena = plim_program_arena_bytes(work->program), budget = work->preparation->planning.budget_bytes;
  if (arena <= budget) return PLIM_OK;
  return plim_fail(work->ctx, PLIM_ENOFIT, "%s needs %lld bytes, the budget is %lld: give more, or no --plan", path,
                   (long long)arena, (long long)budget);
}

static plim_online_plan_options online_options(preparing *work) {
  plim_online_plan_options wanted = plim_online_plan_options_default();
  if (work->options->policy) wanted.policy = work->options->policy;
  wanted.planning = work->preparation->planning;
  wanted.thrash = work->options->thrash;
  return wanted;
}

/* Let the policy decide the training step. A policy needs a budget: the default is the arena of keep-all. */
static plim_status decide(preparing *work) {
  plim_online_plan_options wanted = online_options(work);
  plim_plan *plan = NULL;
  if (wanted.planning.budget_bytes == PLIM_BYTES_UNLIMITED) {
    wanted.planning.budget_bytes = work->preparation->keep_all->arena_bytes;
  }
  PLIM_TRY(plim_online_plan_make(work->ctx, work->program->graph[PLIM_PROGRAM_TRAIN],
                                 work->program->profile[PLIM_PROGRAM_TRAIN], &wanted, &work->preparation->replay,
                                 &plan));
  return plim_program_adopt(work->program, plan);
}

/* May a trial follow, when the plan pages? */
static int may_try(preparing *work) {
  const plim_preparation_options *o = work->options;
  const plim_paging *paging = work->preparation->planning.paging;
  return o->trial_steps > 0 && !o->plan && !o->policy && !o->replay && paging && paging->space && paging->recompute;
}

/* A quarter of a time limit is for the plan that does not page. */
static plim_status plan_within_limit(preparing *work) {
  plim_plan_options planning = work->preparation->planning;
  if (may_try(work)) planning.time_limit_ns -= planning.time_limit_ns / TRIAL_PART; /* never all of it */
  return plim_program_plan(work->program, &planning);
}

static plim_status plan_training(preparing *work) {
  work->preparation->stage = work->options->policy ? PLIM_PREPARE_POLICY : PLIM_PREPARE_PLAN;
  if (work->options->policy) return decide(work);
  PLIM_TRY(work->options->plan ? load_plan(work) : plan_within_limit(work));
  if (!work->options->replay) return PLIM_OK;
  work->preparation->stage = PLIM_PREPARE_ADDRESSES;
  return plim_program_replay(work->program, work->options->plan ? NULL : &work->preparation->planning,
                             &work->preparation->replay, &work->preparation->room_bytes);
}

/* Does the plan copy storages to a space that does not compute? */
static int copies_to_pages(const plim_plan *plan) {
  return plim_plan_other_devices(plan) < plan->n_page_spaces;
}

/* Run a trial when the plan pages. Only a run shows how much copies and ops delay each other on this machine. */
static plim_status try_without_pages(preparing *work, int *taken) {
  const plim_preparation_options *o = work->options;
  plim_plan_options planning = work->preparation->planning;
  *taken = 0;
  work->preparation->trial = (plim_trial){0, 0};
  if (!may_try(work) || !copies_to_pages(work->program->plan[PLIM_PROGRAM_TRAIN])) return PLIM_OK;
  work->preparation->stage = PLIM_PREPARE_TRIAL;
  planning.time_limit_ns = plim_effort_share(planning.time_limit_ns, TRIAL_PART);
  PLIM_TRY(plim_trial_run(work->preparation->device, o->dataset, work->program, &planning, o->training, o->trial_steps,
                          &work->preparation->trial));
  *taken = work->preparation->trial.unpaged_ns < work->preparation->trial.paged_ns;
  return PLIM_OK;
}

/* Decide the last batch online. Given numerics keys are of the training graph, and cannot be used for its graph. */
static plim_status decide_last(preparing *work) {
  const plim_graph *graph = work->program->graph[PLIM_PROGRAM_LAST];
  plim_online_plan_options wanted = online_options(work);
  char what[64];
  if (!graph) return PLIM_OK;
  work->preparation->stage = PLIM_PREPARE_LAST;
  if (wanted.planning.numerics == PLIM_NUMERICS_GIVEN) wanted.planning.numerics = PLIM_NUMERICS_AUTO;
  plim_status status = plim_program_decide_last(work->program, &wanted, &work->preparation->last);
  if (status != PLIM_ENOFIT) return status;
  (void)snprintf(what, sizeof what, "the last batch of %d images", (int)graph->batch);
  return fail_about(work->ctx, status, what);
}

/* ---- variants that the device refuses ---- */

static int has_key(const plim_profile *profile, int32_t op, const char *numerics_key) {
  for (int32_t v = profile->first[op]; v < profile->first[op + 1]; v++) {
    if (strcmp(profile->variant[v].numerics_key, numerics_key) == 0) return 1;
  }
  return 0;
}

/* The first refused variant whose op has no other variant with the numerics key that was asked for; NULL: none. */
static const plim_refused_variant *refused_for_all(preparing *work, const plim_refused_list *list) {
  const plim_plan_options *planning = &work->preparation->planning;
  for (int32_t i = 0; i < list->n && planning->numerics == PLIM_NUMERICS_GIVEN; i++) {
    const plim_refused_variant *row = &list->row[i];
    const char *numerics_key =
        row->graph == work->program->graph[PLIM_PROGRAM_TRAIN] ? planning->numerics_key[row->op] : NULL;
    if (numerics_key && !has_key(work->program->profile[PLIM_PROGRAM_TRAIN], row->op, numerics_key)) return row;
  }
  return NULL;
}

/* Fix the numerics of PLIM_NUMERICS_FASTEST to those that were fastest before the device refused a variant. */
static plim_status fix_numerics(preparing *work) {
  plim_preparation *preparation = work->preparation;
  if (preparation->planning.numerics != PLIM_NUMERICS_FASTEST) return PLIM_OK;
  if (!preparation->numerics_key) { /* an earlier run may have needed them too */
    PLIM_TRY(plim_allocate(work->ctx, work->program->graph[PLIM_PROGRAM_TRAIN]->n_ops,
                           sizeof *preparation->numerics_key, &preparation->numerics_key));
  }
  plim_plan_numerics_keys(preparation->keep_all, preparation->numerics_key);
  preparation->planning.numerics = PLIM_NUMERICS_GIVEN;
  preparation->planning.numerics_key = preparation->numerics_key;
  return PLIM_OK;
}

static plim_status keep_numerics(preparing *work, const plim_refused_list *list) {
  PLIM_TRY(fix_numerics(work));
  const plim_refused_variant *row = refused_for_all(work, list);
  if (!row) return PLIM_OK;
  return plim_fail(
      work->ctx, PLIM_EDEVICE,
      "op \"%s\": the device refuses variant \"%s\" (%s), and no other has the numerics that are asked for: "
      "give --numerics auto",
      row->graph->op[row->op].name, row->variant, row->why);
}

static plim_status drop_refused(preparing *work, const plim_refused_list *list) {
  const plim_refused_variant *first = &list->row[0];
  plim_preparation *preparation = work->preparation;
  plim_plan *keep_all = NULL;
  if (work->options->plan) {
    return plim_fail(work->ctx, PLIM_EDEVICE,
                     "%s: the device refuses variant \"%s\" of op \"%s\" (%s): plan again here", work->options->plan,
                     first->variant, first->graph->op[first->op].name, first->why);
  }
  PLIM_TRY(plim_rehearsal_drop(work->program, preparation->device, list));
  PLIM_TRY(keep_numerics(work, list));
  if (preparation->planning.numerics == PLIM_NUMERICS_GIVEN) return PLIM_OK; /* keep_all may own the keys */
  PLIM_TRY(plim_program_keep_all(work->program, &keep_all));
  plim_plan_free(preparation->keep_all);
  preparation->keep_all = keep_all;
  return PLIM_OK;
}

/* Rehearse the plans. *refused 1: the device refused a variant, which has left the profiles. */
static plim_status rehearse(preparing *work, int *refused) {
  plim_refused_list list;
  work->preparation->stage = PLIM_PREPARE_REHEARSAL;
  PLIM_TRY(plim_rehearsal_for_plans(work->program, work->preparation->device, &list, refused));
  return *refused ? drop_refused(work, &list) : PLIM_OK;
}

/* Plan, and rehearse the plan, until the device refuses nothing. */
static plim_status plan_until_accepted(preparing *work, plim_status (*plan)(preparing *work)) {
  for (int refused = 1; refused;) {
    PLIM_TRY(plan(work));
    PLIM_TRY(rehearse(work, &refused));
  }
  return PLIM_OK;
}

/* ---- budgets that are foreseen ---- */

/* Plan for a budget that is foreseen. The plan front keeps the plans for the run; without a front the run plans again.
 */
static plim_status plan_ahead(preparing *work, const plim_budget_change *change) {
  const plim_plan *now[PLIM_PROGRAM_GRAPHS];
  plim_plan *plan[PLIM_PROGRAM_GRAPHS] = {NULL};
  int64_t first = plim_program_arena_bytes(work->program), bytes = change->bytes < first ? change->bytes : first;
  for (int i = 0; i < PLIM_PROGRAM_GRAPHS; i++) now[i] = work->program->plan[i];
  plim_status status = plim_program_replan(work->program, now, &work->preparation->replan, bytes, plan);
  for (int i = 0; i < PLIM_PROGRAM_GRAPHS; i++) plim_plan_free(plan[i]);
  return status;
}

static plim_status plan_foreseen(preparing *work) {
  plim_preparation *preparation = work->preparation;
  preparation->replan.planning = preparation->planning;
  preparation->replan.policy = work->options->policy;
  preparation->replan.thrash = work->options->thrash;
  preparation->stage = PLIM_PREPARE_FORESEEN;
  for (preparation->failed_change = 0; preparation->failed_change < work->options->n_budget_changes;
       preparation->failed_change++) {
    PLIM_TRY(plan_ahead(work, &work->options->budget_change[preparation->failed_change]));
  }
  return PLIM_OK;
}

/* ---- all of it ---- */

static plim_status plan_all(preparing *work) {
  PLIM_TRY(plan_training(work));
  return decide_last(work);
}

static plim_status plan_within(preparing *work, int64_t budget_bytes) {
  int taken = 0, refused = 0;
  work->preparation->planning.budget_bytes = budget_bytes;
  PLIM_TRY(plan_until_accepted(work, plan_all));
  PLIM_TRY(try_without_pages(work, &taken));
  if (taken) PLIM_TRY(decide_last(work));
  if (taken) PLIM_TRY(rehearse(work, &refused));
  if (refused) { /* back to paging, without that variant */
    work->preparation->trial = (plim_trial){0, 0};
    PLIM_TRY(plan_until_accepted(work, plan_all));
  }
  return plan_foreseen(work);
}

static plim_status plan_alone(preparing *work) {
  work->preparation->stage = PLIM_PREPARE_PLAN;
  return plim_program_plan(work->program, &work->preparation->planning);
}

/* Make the first plan on a GPU. It is for a smaller budget, or, when there is none or the caller gives a plan or a
 * policy, for all bytes. */
static plim_status plan_first(preparing *work, int64_t bytes) {
  if (work->options->plan || work->options->policy) return plan_within(work, bytes);
  work->preparation->planning.budget_bytes = bytes - bytes / HEADROOM;
  const plim_status status = plan_until_accepted(work, plan_alone);
  return status == PLIM_ENOFIT ? plan_within(work, bytes) : status;
}

static plim_status plan_on_gpu(preparing *work) {
  const plim_preparation_options *o = work->options;
  plim_preparation *preparation = work->preparation;
  int64_t left = 0, captured = 0;
  PLIM_TRY(plim_vram_left(preparation->device, o->vram_bytes, 0, &left));
  PLIM_TRY(plan_first(work, plim_integers_smaller(o->planning.budget_bytes, left)));
  preparation->stage = PLIM_PREPARE_OUTSIDE;
  PLIM_TRY(plim_warm_up_run(preparation->device, o->dataset, work->program, o->training, &captured));
  PLIM_TRY(plim_vram_left(preparation->device, o->vram_bytes, captured, &left));
  return plan_within(work, plim_integers_smaller(o->planning.budget_bytes, left));
}

plim_status plim_preparation_run(plim_preparation *preparation, const plim_preparation_options *options) {
  preparing work = {preparation, options, preparation->device->ctx, preparation->program};
  PLIM_TRY(plim_check_options(work.ctx, "plim_preparation_options", options->struct_bytes, sizeof *options));
  if (options->plan && options->policy) {
    return plim_fail(work.ctx, PLIM_EUSAGE, "a step is planned or decided online: give a plan or a policy, not both");
  }
  if (options->vram_bytes > 0 && (!options->dataset || !options->training)) {
    return plim_fail(work.ctx, PLIM_EUSAGE, "a budget of the whole GPU needs a data set and options to warm up with");
  }
  if (options->trial_steps != 0 && (options->trial_steps < 0 || !options->dataset || !options->training)) {
    return plim_fail(work.ctx, PLIM_EUSAGE,
                     "a trial needs a number of steps above 0, a data set and options to train with");
  }
  preparation->planning = options->planning;
  preparation->stage = PLIM_PREPARE_OUTSIDE;
  return options->vram_bytes > 0 ? plan_on_gpu(&work) : plan_within(&work, options->planning.budget_bytes);
}

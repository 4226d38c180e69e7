/* The work of the stages of a preparation: each function makes the plans of one stage, or loads them, or compares two
 * of them by a trial. */
#include "runtime/base/effort.h"
#include "runtime/train/preparation_internal.h"
#include "runtime/train/trial.h"

/* The plan without paging of a trial gets one part in TRIAL_PART of a time limit. */
enum { TRIAL_PART = 4 };

/* ---- the training step ---- */

plim_status plim_preparing_load(plim_preparing *work) {
  const char *path = work->options->plan;
  plim_plan *plan = NULL;
  PLIM_TRY(plim_plan_load(work->ctx, path, &plan));
  PLIM_TRY(plim_program_adopt(work->program, plan));
  int64_t arena = plim_program_arena_bytes(work->program), budget = work->preparation->planning.budget_bytes;
  if (arena <= budget) return PLIM_OK;
  return plim_fail(work->ctx, PLIM_ENOFIT, "%s needs %lld bytes, the budget is %lld: give more, or no --plan", path,
                   (long long)arena, (long long)budget);
}

static plim_online_plan_options online_options(const plim_preparing *work) {
  plim_online_plan_options wanted = plim_online_plan_options_default();
  if (work->options->policy) wanted.policy = work->options->policy;
  wanted.planning = work->preparation->planning;
  wanted.thrash = work->options->thrash;
  return wanted;
}

plim_status plim_preparing_decide(plim_preparing *work) {
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

/* May the training step have a trial, if its plan pages? */
static int may_try(const plim_preparing *work) {
  const plim_preparation_options *o = work->options;
  const plim_paging *paging = work->preparation->planning.paging;
  return o->trial_steps > 0 && !o->plan && !o->policy && !o->replay && paging && paging->space && paging->recompute;
}

plim_status plim_preparing_plan(plim_preparing *work) {
  plim_plan_options planning = work->preparation->planning;
  if (may_try(work)) planning.time_limit_ns -= planning.time_limit_ns / TRIAL_PART; /* never all of it */
  return plim_program_plan(work->program, &planning);
}

/* ---- the trial ---- */

/* Does the plan copy storages to a space that does not compute? */
static int copies_to_pages(const plim_plan *plan) {
  return plim_plan_other_devices(plan) < plan->n_page_spaces;
}

int plim_preparing_needs_trial(const plim_preparing *work) {
  return may_try(work) && copies_to_pages(work->program->plan[PLIM_PROGRAM_TRAIN]);
}

plim_status plim_preparing_try_unpaged(plim_preparing *work, int *taken) {
  const plim_preparation_options *o = work->options;
  plim_trial *trial = &work->preparation->trial;
  plim_plan_options planning = work->preparation->planning;
  planning.time_limit_ns = plim_effort_share(planning.time_limit_ns, TRIAL_PART);
  PLIM_TRY(plim_trial_run(work->preparation->device, o->dataset, work->program, &planning, o->training, o->trial_steps,
                          trial));
  *taken = trial->unpaged_ns < trial->paged_ns;
  return PLIM_OK;
}

/* ---- the last batch ---- */

plim_status plim_preparing_decide_last(plim_preparing *work) {
  const plim_graph *graph = work->program->graph[PLIM_PROGRAM_LAST];
  plim_online_plan_options wanted = online_options(work);
  /* Given numerics keys are of the training graph, and cannot be used for this one. */
  if (wanted.planning.numerics == PLIM_NUMERICS_GIVEN) wanted.planning.numerics = PLIM_NUMERICS_AUTO;
  const plim_status status = plim_program_decide_last(work->program, &wanted, &work->preparation->last);
  if (status != PLIM_ENOFIT) return status;
  return plim_fail(work->ctx, status, "the last batch of %d images: %s", (int)graph->batch,
                   plim_context_error(work->ctx));
}

/* ---- budgets that are foreseen ---- */

/* Plan for a budget that is foreseen. The plan front keeps the plans for the run; without a front the run plans again.
 */
static plim_status plan_ahead(plim_preparing *work, const plim_budget_change *change) {
  const plim_plan *now[PLIM_PROGRAM_GRAPHS];
  plim_plan *plan[PLIM_PROGRAM_GRAPHS] = {NULL};
  int64_t first = plim_program_arena_bytes(work->program), bytes = change->bytes < first ? change->bytes : first;
  for (int i = 0; i < PLIM_PROGRAM_GRAPHS; i++) now[i] = work->program->plan[i];
  plim_status status = plim_program_replan(work->program, now, &work->preparation->replan, bytes, plan);
  for (int i = 0; i < PLIM_PROGRAM_GRAPHS; i++) plim_plan_free(plan[i]);
  return status;
}

plim_status plim_preparing_plan_foreseen(plim_preparing *work) {
  plim_preparation *preparation = work->preparation;
  preparation->replan.planning = preparation->planning;
  preparation->replan.policy = work->options->policy;
  preparation->replan.thrash = work->options->thrash;
  for (preparation->failed_change = 0; preparation->failed_change < work->options->n_budget_changes;
       preparation->failed_change++) {
    PLIM_TRY(plan_ahead(work, &work->options->budget_change[preparation->failed_change]));
  }
  return PLIM_OK;
}

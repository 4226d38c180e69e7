/* Retiming: once a plan has run a few training steps, the next ones are timed op by op, so that every operand has the
 * address and the cache state that it has in training. Then the same budget is planned again with the measured times.
 *
 * This file decides which steps are timed, and runs the new plan if it is faster. measured_times.h turns the samples
 * into times of commands, and retimed.h into what plans are made from. */
#include <string.h>

#include "runtime/base/integers.h"
#include "runtime/train/retimed.h"
#include "runtime/train/trainer_internal.h"

enum { WARM_STEPS = 2, STEPS_MAX = 1000 };

/* A device that replays recorded steps warms up for one step more, because its first replay may load modules. */
enum { WARM_REPLAYS = 1 };

/* Does no clock measure the commands of the plan one by one? */
static int untimed(const plim_trainer *trainer, const plim_plan *plan) {
  return plan->n_page_spaces > 0 && plim_device_has_queues(trainer->device);
}

static plim_status check_options(const plim_trainer *trainer) {
  const plim_trainer_options *o = &trainer->options;
  if (o->retime_steps < 0 || o->retime_steps > STEPS_MAX) {
    return plim_fail(trainer->ctx, PLIM_EUSAGE, "%d steps to time: 0 to %d", (int)o->retime_steps, (int)STEPS_MAX);
  }
  const plim_plan *plan = trainer->program->plan[PLIM_PROGRAM_TRAIN];
  if (o->retime_steps > 0 && untimed(trainer, plan)) {
    return plim_fail(trainer->ctx, PLIM_EUNSUPPORTED,
                     "commands on several queues of device %s are not timed: no retiming", trainer->device->api->name);
  }
  if (o->retime_steps == 0 || (o->replan && !o->replan->policy)) return PLIM_OK;
  return plim_fail(trainer->ctx, PLIM_EUSAGE, "a trainer that times its steps needs to know how plans are made");
}

plim_status plim_retiming_open(plim_trainer *trainer) {
  PLIM_TRY(check_options(trainer));
  trainer->retiming.on = trainer->options.retime_steps > 0;
  return PLIM_OK;
}

static int64_t sample_count(const plim_trainer *trainer, const plim_plan *plan) {
  return (int64_t)trainer->options.retime_steps * plan->n_commands;
}

static void free_samples(plim_trainer *trainer) {
  plim_retiming *r = &trainer->retiming;
  if (!r->plan) return;
  plim_release(trainer->ctx, r->sample, sample_count(trainer, r->plan), sizeof *r->sample);
  plim_release(trainer->ctx, r->scratch, 2 * (int64_t)r->plan->n_commands, sizeof *r->scratch);
}

/* Begin anew with the plan that runs now. */
static void restart(plim_trainer *trainer, const plim_plan *plan) {
  plim_retiming *r = &trainer->retiming;
  if (r->sample) plim_exec_timing_end(trainer->exec);
  free_samples(trainer);
  *r = (plim_retiming){.on = r->on, .plan = plan};
}

void plim_retiming_close(plim_trainer *trainer) {
  free_samples(trainer);
}

/* Run the new plan if it is faster by the measured times. Owns `plan`. */
static plim_status take_faster(plim_trainer *trainer, plim_plan **plan, plim_retime_report *report) {
  int refused = 0;
  report->again_ns = plan[PLIM_PROGRAM_TRAIN]->time_ns;
  report->overhead_percent = plim_plan_overhead_percent(plan[PLIM_PROGRAM_TRAIN]);
  if (report->again_ns < report->measured_ns) {
    const plim_status status = plim_trainer_install_plans(trainer, plan, &refused);
    report->taken = !refused;
    return status;
  }
  for (int32_t i = 0; i < PLIM_PROGRAM_GRAPHS; i++) plim_plan_free(plan[i]);
  return PLIM_OK;
}

/* Plan for the present budget with the measured times. A budget without such a plan keeps the one that runs. */
static plim_status plan_again(plim_trainer *trainer, const plim_measured_times *times, plim_profile *timed,
                              plim_retime_report *report) {
  plim_program program = *trainer->program;
  plim_replan_options options = *trainer->options.replan;
  plim_paging paging;
  plim_plan *plan[PLIM_PROGRAM_GRAPHS] = {NULL};
  const int64_t budget = times->plan->budget_bytes, first = plim_exec_first_bytes(trainer->exec);
  program.profile[PLIM_PROGRAM_TRAIN] = timed;
  options.planning.front_folder = NULL; /* the measured times hold for this run only */
  if (options.planning.paging) {
    paging = *options.planning.paging;
    plim_retimed_links(times, &paging);
    if (times->plan->n_page_spaces > 0) paging.delay_share = times->delay_share;
    options.planning.paging = &paging;
  }
  const plim_status status =
      plim_program_replan(&program, trainer->plan, &options, plim_integers_smaller(budget, first), plan);
  if (status == PLIM_ENOFIT) return PLIM_OK;
  PLIM_TRY(status);
  return take_faster(trainer, plan, report);
}

/* Plan again from the samples, and report. After a failure a caller that goes on times anew. */
static plim_status finish(plim_trainer *trainer) {
  const plim_timed_steps steps = {trainer->retiming.plan, trainer->options.retime_steps, trainer->retiming.sample};
  const plim_graph *graph = trainer->program->graph[PLIM_PROGRAM_TRAIN];
  plim_retime_report report = {.step = trainer->step, .predicted_ns = steps.plan->time_ns};
  plim_measured_times times = {.plan = NULL};
  plim_profile *timed = NULL;
  const int64_t begin_ns = plim_now_ns();
  double variation;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_measured_times_find(trainer->ctx, &steps, &times));
  PLIM_TRY_OR_DONE(plim_measured_times_predict(graph, &times, &report.measured_ns));
  PLIM_TRY_OR_DONE(plim_measured_times_variation(trainer->ctx, &steps, report.measured_ns, &variation));
  PLIM_TRY_OR_DONE(plim_retimed_profile(graph, trainer->program->profile[PLIM_PROGRAM_TRAIN], &times, &timed));
  PLIM_TRY_OR_DONE(plan_again(trainer, &times, timed, &report));
  report.measured_ns = plim_integers_from_real(variation * (double)report.measured_ns);
  report.again_ns = plim_integers_from_real(variation * (double)report.again_ns);
done:
  plim_profile_free(timed);
  plim_measured_times_free(trainer->ctx, &times);
  restart(trainer, NULL);
  PLIM_TRY(status);
  trainer->retiming.on = 0;
  report.time_ns = plim_now_ns() - begin_ns;
  if (trainer->options.on_retime) trainer->options.on_retime(trainer->options.on_retime_user, &report);
  return PLIM_OK;
}

/* The times of the step that has ended. */
static plim_status write_sample(const plim_trainer *trainer, int32_t plan_index, plim_timed *sample) {
  const plim_plan *plan = trainer->retiming.plan;
  const int64_t *time_ns = plim_exec_times(trainer->exec, plan_index);
  const plim_exec_timeline line = plim_exec_last_timeline(trainer->exec, plan_index);
  int64_t *beside_ns = trainer->retiming.scratch, *lag_ns = beside_ns + plan->n_commands;
  memset(beside_ns, 0, 2 * (size_t)plan->n_commands * sizeof *beside_ns);
  if (line.begin_ns) PLIM_TRY(plim_paged_run_beside(plan, line.begin_ns, line.time_ns, beside_ns));
  if (line.begin_ns) plim_paged_run_lag(plan, line.begin_ns, line.time_ns, lag_ns);
  for (int32_t j = 0; j < plan->n_commands; j++) sample[j] = (plim_timed){time_ns[j], beside_ns[j], lag_ns[j]};
  return PLIM_OK;
}

static plim_status begin_timing(plim_trainer *trainer, const plim_plan *plan) {
  plim_retiming *r = &trainer->retiming;
  PLIM_TRY(plim_allocate(trainer->ctx, 2 * (int64_t)plan->n_commands, sizeof *r->scratch, &r->scratch));
  PLIM_TRY(plim_allocate(trainer->ctx, sample_count(trainer, plan), sizeof *r->sample, &r->sample));
  plim_exec_timing_begin(trainer->exec);
  return PLIM_OK;
}

plim_status plim_retiming_note(plim_trainer *trainer, int32_t plan_index) {
  plim_retiming *r = &trainer->retiming;
  const plim_plan *plan = trainer->plan[PLIM_PROGRAM_TRAIN];
  if (!r->on || plan_index != PLIM_PROGRAM_TRAIN) return PLIM_OK;
  if (untimed(trainer, plan)) { /* a budget that changed brought it: another change may bring one that is timed */
    restart(trainer, NULL);
    return PLIM_OK;
  }
  if (r->plan != plan || plim_budget_changes_switched(trainer)) restart(trainer, plan);
  const int32_t warm = WARM_STEPS + (plim_device_times_commands(trainer->device) ? WARM_REPLAYS : 0);
  r->seen++;
  if (r->seen < warm) return PLIM_OK;
  if (r->seen == warm) {
    plim_status status = begin_timing(trainer, plan);
    if (status != PLIM_OK) restart(trainer, NULL); /* a caller that goes on begins anew */
    return status;
  }
  const int32_t n = r->seen - warm; /* timed training steps that have ended */
  PLIM_TRY(write_sample(trainer, plan_index, r->sample + (int64_t)(n - 1) * plan->n_commands));
  if (n < trainer->options.retime_steps) return PLIM_OK;
  return finish(trainer);
}

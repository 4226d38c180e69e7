/* Times measured in training steps. Once a plan has run a few training steps, the next ones are timed op by op. So
 * every operand has the address and the cache state that it has in training. Then the same budget is planned again with
 * the measured times.
 *
 * Other variants of an op have not run: their times keep their ratio to the time of the one that ran. Copies are timed
 * too, and the times of each link are scaled by the ratio of its copies.
 *
 * The delay by copies is found from the same steps. Let ops without copies beside them take r times their planned
 * times. What the other ops take beyond r times theirs is the delay; it is divided by the time of the copies beside
 * them. The times that the budget is planned again with are without the delay. */
#include <string.h>

#include "runtime/base/integers.h"
#include "runtime/train/trainer_internal.h"

enum {
  WARM_STEPS = 2,
  STEPS_MAX = 1000,
  DELAYED_MAX = 4 /* a run beside copies is taken to last at most so many times its own time */
};

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

/* The median time of command j of the plan over the timed training steps, with its lag: threads that wait take time to
 * wake, and the simulator knows none. */
static int64_t median(const plim_trainer *trainer, int32_t j, double delay_share, int64_t *scratch) {
  const plim_retiming *r = &trainer->retiming;
  int32_t n = trainer->options.retime_steps;
  for (int32_t i = 0; i < n; i++) {
    const plim_timed *s = &r->sample[(int64_t)i * r->plan->n_commands + j];
    const int64_t own_ns = s->time_ns - plim_integers_from_real(delay_share * (double)s->beside_ns);
    scratch[i] = s->lag_ns + (own_ns > s->time_ns / DELAYED_MAX ? own_ns : s->time_ns / DELAYED_MAX);
  }
  plim_integers_sort(scratch, n);
  return scratch[n / 2];
}

/* The measured times of a plan. */
typedef struct measured {
  double delay_share;  /* by which a run took longer, as a multiple of the time of copies beside it */
  int64_t *time_ns;    /* [n_commands] median over the timed steps */
  int64_t *variant_ns; /* [n_variants] mean over the runs of the variant in a step; PLIM_UNKNOWN: no command runs it */
} measured;

static plim_status find_times(const plim_trainer *trainer, measured *times) {
  const plim_plan *plan = trainer->retiming.plan;
  int64_t *scratch = NULL;
  int32_t *runs = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(trainer->ctx, plan->n_commands, sizeof *times->time_ns, &times->time_ns));
  PLIM_TRY_OR_DONE(plim_allocate(trainer->ctx, plan->n_variants, sizeof *times->variant_ns, &times->variant_ns));
  PLIM_TRY_OR_DONE(plim_allocate(trainer->ctx, trainer->options.retime_steps, sizeof *scratch, &scratch));
  PLIM_TRY_OR_DONE(plim_allocate(trainer->ctx, plan->n_variants, sizeof *runs, &runs));
  times->delay_share = plim_paged_run_delay(plan, trainer->options.retime_steps, trainer->retiming.sample);
  for (int32_t j = 0; j < plan->n_commands; j++) {
    times->time_ns[j] = median(trainer, j, times->delay_share, scratch);
    if (plan->command[j].kind == PLIM_COMMAND_COPY) continue;
    times->variant_ns[plan->command[j].variant] += times->time_ns[j];
    runs[plan->command[j].variant]++;
  }
  for (int32_t v = 0; v < plan->n_variants; v++) {
    times->variant_ns[v] = runs[v] > 0 ? times->variant_ns[v] / runs[v] : PLIM_UNKNOWN;
  }
done:
  plim_release(trainer->ctx, runs, plan->n_variants, sizeof *runs);
  plim_release(trainer->ctx, scratch, trainer->options.retime_steps, sizeof *scratch);
  return status;
}

static void free_measured(const plim_trainer *trainer, measured *times) {
  plim_release(trainer->ctx, times->variant_ns, trainer->retiming.plan->n_variants, sizeof *times->variant_ns);
  plim_release(trainer->ctx, times->time_ns, trainer->retiming.plan->n_commands, sizeof *times->time_ns);
}

/* Predict the time of the plan with the measured times: the makespan of its queues. */
static plim_status predict(const plim_trainer *trainer, const measured *times, int64_t *out) {
  const plim_plan *plan = trainer->retiming.plan;
  plim_plan draft = *plan, *timed = NULL;
  plim_plan_space page[PLIM_PAGE_SPACES];
  plim_command *command = NULL;
  plim_plan_variant *variant = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(trainer->ctx, plan->n_commands, sizeof *command, &command));
  PLIM_TRY_OR_DONE(plim_allocate(trainer->ctx, plan->n_variants, sizeof *variant, &variant));
  for (int32_t j = 0; j < plan->n_commands; j++) {
    command[j] = plan->command[j];
    if (command[j].kind == PLIM_COMMAND_COPY) command[j].time_ns = times->time_ns[j];
  }
  for (int32_t v = 0; v < plan->n_variants; v++) {
    variant[v] = plan->variant[v];
    if (times->variant_ns[v] >= 0) variant[v].variant.time_ns = times->variant_ns[v];
  }
  for (int32_t k = 0; k < plan->n_page_spaces; k++) {
    page[k] = plan->page[k];
    if (!page[k].computes) page[k].delay_permille = (int32_t)(1000 * times->delay_share);
  }
  draft.page = page;
  draft.command = command;
  draft.variant = variant;
  PLIM_TRY_OR_DONE(plim_plan_from_parts(trainer->program->graph[PLIM_PROGRAM_TRAIN], &draft, &timed));
  *out = timed->time_ns;
done:
  plim_plan_free(timed);
  plim_release(trainer->ctx, variant, plan->n_variants, sizeof *variant);
  plim_release(trainer->ctx, command, plan->n_commands, sizeof *command);
  return status;
}

/* How long the commands of a timed step took together. end_ns [n_commands] scratch. */
static int64_t makespan(const plim_plan *plan, const plim_timed *sample, int64_t *end_ns) {
  int64_t free_ns[PLIM_PLAN_QUEUES] = {0}, last_ns = 0;
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *command = &plan->command[j];
    int64_t begin_ns = plim_command_begin_ns(free_ns[command->queue], command->n_wait, command->wait, end_ns);
    end_ns[j] = free_ns[command->queue] = begin_ns + sample[j].lag_ns + sample[j].time_ns;
    if (end_ns[j] > last_ns) last_ns = end_ns[j];
  }
  return last_ns;
}

/* Where queues wait for each other, the later one of two times that vary counts: a step takes longer than the medians
 * of its commands say. *ratio: of the median makespan to that of the medians, predicted_ns. */
static plim_status find_variation(const plim_trainer *trainer, int64_t predicted_ns, double *ratio) {
  const plim_plan *plan = trainer->retiming.plan;
  const int32_t steps = trainer->options.retime_steps;
  int64_t *makespan_ns = NULL, *end_ns = NULL;
  plim_status status;
  *ratio = 1;
  PLIM_TRY_OR_DONE(plim_allocate(trainer->ctx, steps, sizeof *makespan_ns, &makespan_ns));
  PLIM_TRY_OR_DONE(plim_allocate(trainer->ctx, plan->n_commands, sizeof *end_ns, &end_ns));
  for (int32_t i = 0; i < steps; i++) {
    makespan_ns[i] = makespan(plan, trainer->retiming.sample + (int64_t)i * plan->n_commands, end_ns);
  }
  plim_integers_sort(makespan_ns, steps);
  const int64_t median_ns = makespan_ns[steps / 2];
  if (predicted_ns > 0) *ratio = (double)median_ns / (double)predicted_ns;
done:
  plim_release(trainer->ctx, makespan_ns, steps, sizeof *makespan_ns);
  plim_release(trainer->ctx, end_ns, plan->n_commands, sizeof *end_ns);
  return status;
}

/* Scale the time of each link by the ratio of its measured copies to their predictions. */
static void scale_links(const plim_plan *plan, const measured *times, plim_paging *paging) {
  enum { OUT, IN, DEVICE, LINKS };
  double planned_ns[LINKS] = {0}, found_ns[LINKS] = {0};
  int64_t *const latency_ns[LINKS] = {&paging->latency_ns[PLIM_LINK_OUT], &paging->latency_ns[PLIM_LINK_IN],
                                      &paging->device_latency_ns};
  double *const rate[LINKS] = {&paging->bytes_per_ns[PLIM_LINK_OUT], &paging->bytes_per_ns[PLIM_LINK_IN],
                               &paging->device_bytes_per_ns};
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *command = &plan->command[j];
    if (command->kind != PLIM_COMMAND_COPY) continue;
    const int link = !plim_plan_computes(plan, command->to)     ? OUT
                     : !plim_plan_computes(plan, command->from) ? IN
                                                                : DEVICE;
    planned_ns[link] += (double)command->time_ns;
    found_ns[link] += (double)times->time_ns[j];
  }
  for (int i = 0; i < LINKS; i++) {
    if (planned_ns[i] <= 0 || found_ns[i] <= 0) continue;
    const double slower = found_ns[i] / planned_ns[i];
    *latency_ns[i] = plim_integers_from_real((double)*latency_ns[i] * slower);
    *rate[i] /= slower;
  }
}

static int64_t scaled(int64_t time_ns, int64_t measured_ns, int64_t profiled_ns) {
  return plim_integers_from_real((double)time_ns * (double)measured_ns / (double)(profiled_ns > 0 ? profiled_ns : 1));
}

/* The profile's row of a plan's variant; PLIM_NONE: it has none. */
static int32_t row_of(const plim_profile *profile, const plim_plan_variant *variant) {
  for (int32_t i = profile->first[variant->op]; i < profile->first[variant->op + 1]; i++) {
    if (strcmp(profile->variant[i].name, variant->variant.name) == 0) return i;
  }
  return PLIM_NONE;
}

void plim_retimed_rows(const plim_plan *plan, const plim_profile *profile, const int64_t *time_ns, plim_variant *row) {
  for (int32_t v = 0; v < plan->n_variants; v++) {
    const int32_t ran = row_of(profile, &plan->variant[v]), op = plan->variant[v].op;
    if (time_ns[v] < 0 || ran < 0) continue;
    for (int32_t i = profile->first[op]; i < profile->first[op + 1]; i++) {
      row[i].time_ns = scaled(profile->variant[i].time_ns, time_ns[v], profile->variant[ran].time_ns);
    }
  }
  for (int32_t v = 0; v < plan->n_variants; v++) { /* after the scaled ones: a plan may run two variants of one op */
    const int32_t ran = row_of(profile, &plan->variant[v]);
    if (time_ns[v] >= 0 && ran >= 0) row[ran].time_ns = time_ns[v];
  }
}

/* Make a copy of the profile with the measured times. */
static plim_status timed_profile(const plim_trainer *trainer, const measured *times, plim_profile **out) {
  const plim_profile *profile = trainer->program->profile[PLIM_PROGRAM_TRAIN];
  int32_t n = profile->first[profile->n_ops];
  plim_variant *row = NULL;
  PLIM_TRY(plim_allocate(trainer->ctx, n, sizeof *row, &row));
  memcpy(row, profile->variant, (size_t)n * sizeof *row);
  plim_retimed_rows(trainer->retiming.plan, profile, times->variant_ns, row);
  plim_status status =
      plim_profile_make(trainer->program->graph[PLIM_PROGRAM_TRAIN], &profile->machine, 1, profile->first, row, out);
  plim_release(trainer->ctx, row, n, sizeof *row);
  return status;
}

/* Plan for the present budget with the measured times. The plan runs from now on if it is faster by these times. */
static plim_status plan_again(plim_trainer *trainer, const measured *times, plim_profile *timed,
                              plim_retime_report *report) {
  plim_program program = *trainer->program;
  plim_replan_options options = *trainer->options.replan;
  plim_paging paging;
  plim_plan *plan[PLIM_PROGRAM_GRAPHS] = {NULL};
  int64_t budget = trainer->retiming.plan->budget_bytes, first = plim_exec_first_bytes(trainer->exec);
  program.profile[PLIM_PROGRAM_TRAIN] = timed;
  options.planning.front_folder = NULL; /* the measured times hold for this run only */
  if (options.planning.paging) {
    paging = *options.planning.paging;
    scale_links(trainer->retiming.plan, times, &paging);
    if (trainer->retiming.plan->n_page_spaces > 0) paging.delay_share = times->delay_share;
    options.planning.paging = &paging;
  }
  plim_status status = plim_program_replan(&program, trainer->plan, &options, budget < first ? budget : first, plan);
  if (status == PLIM_ENOFIT) return PLIM_OK;
  PLIM_TRY(status);
  report->again_ns = plan[PLIM_PROGRAM_TRAIN]->time_ns;
  report->taken = report->again_ns < report->measured_ns;
  report->overhead_percent = plim_plan_overhead_percent(plan[PLIM_PROGRAM_TRAIN]);
  if (report->taken) {
    int refused;
    plim_status installed = plim_trainer_install_plans(trainer, plan, &refused);
    if (refused) report->taken = 0;
    return installed;
  }
  for (int32_t i = 0; i < PLIM_PROGRAM_GRAPHS; i++) plim_plan_free(plan[i]);
  return PLIM_OK;
}

static plim_status finish(plim_trainer *trainer) {
  plim_retime_report report = {.step = trainer->step, .predicted_ns = trainer->retiming.plan->time_ns};
  plim_profile *timed = NULL;
  measured times = {.time_ns = NULL};
  int64_t begin_ns = plim_now_ns();
  double variation;
  plim_status status;
  PLIM_TRY_OR_DONE(find_times(trainer, &times));
  PLIM_TRY_OR_DONE(predict(trainer, &times, &report.measured_ns));
  PLIM_TRY_OR_DONE(find_variation(trainer, report.measured_ns, &variation));
  PLIM_TRY_OR_DONE(timed_profile(trainer, &times, &timed));
  PLIM_TRY_OR_DONE(plan_again(trainer, &times, timed, &report));
  report.measured_ns = plim_integers_from_real(variation * (double)report.measured_ns);
  report.again_ns = plim_integers_from_real(variation * (double)report.again_ns);
done:
  plim_profile_free(timed);
  free_measured(trainer, &times);
  restart(trainer, NULL); /* after a failure a caller that goes on times anew */
  PLIM_TRY(status);
  trainer->retiming.on = 0;
  report.time_ns = plim_now_ns() - begin_ns;
  if (trainer->options.on_retime) trainer->options.on_retime(trainer->options.on_retime_user, &report);
  return PLIM_OK;
}

/* The times of the step that has ended. */
static void write_sample(const plim_trainer *trainer, int32_t plan_index, plim_timed *sample) {
  const plim_plan *plan = trainer->retiming.plan;
  const int64_t *time_ns = plim_exec_times(trainer->exec, plan_index);
  const plim_exec_timeline line = plim_exec_last_timeline(trainer->exec, plan_index);
  int64_t *beside_ns = trainer->retiming.scratch, *lag_ns = beside_ns + plan->n_commands;
  memset(beside_ns, 0, 2 * (size_t)plan->n_commands * sizeof *beside_ns);
  if (line.begin_ns) plim_paged_run_beside(plan, line.begin_ns, line.time_ns, beside_ns);
  if (line.begin_ns) plim_paged_run_lag(plan, line.begin_ns, line.time_ns, lag_ns);
  for (int32_t j = 0; j < plan->n_commands; j++) sample[j] = (plim_timed){time_ns[j], beside_ns[j], lag_ns[j]};
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
  write_sample(trainer, plan_index, r->sample + (int64_t)(n - 1) * plan->n_commands);
  if (n < trainer->options.retime_steps) return PLIM_OK;
  return finish(trainer);
}

/* From timed steps to one time for each command: the median over the steps of its own time and the lag before it. Its
 * own time is without the delay by the copies beside it, which the simulator adds where a plan puts copies. */
#include "runtime/train/measured_times.h"

#include "runtime/base/integers.h"

enum { DELAYED_MAX = 4 /* a run beside copies is taken to last at most so many times its own time */ };

/* The median time of command j over the timed steps, without the delay and with its lag: threads that wait take time to
 * wake, and the simulator knows none. scratch [steps->n]. */
static int64_t median(const plim_timed_steps *steps, int32_t j, double delay_share, int64_t *scratch) {
  for (int32_t i = 0; i < steps->n; i++) {
    const plim_timed *s = &steps->sample[(int64_t)i * steps->plan->n_commands + j];
    const int64_t own_ns = s->time_ns - plim_integers_from_real(delay_share * (double)s->beside_ns);
    scratch[i] = s->lag_ns + (own_ns > s->time_ns / DELAYED_MAX ? own_ns : s->time_ns / DELAYED_MAX);
  }
  plim_integers_sort(scratch, steps->n);
  return scratch[steps->n / 2];
}

plim_status plim_measured_times_find(plim_context *ctx, const plim_timed_steps *steps, plim_measured_times *times) {
  const plim_plan *plan = steps->plan;
  int64_t *scratch = NULL;
  int32_t *runs = NULL;
  plim_status status;
  *times = (plim_measured_times){.plan = plan};
  PLIM_TRY_OR_DONE(plim_allocate(ctx, plan->n_commands, sizeof *times->time_ns, &times->time_ns));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, plan->n_variants, sizeof *times->variant_ns, &times->variant_ns));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, steps->n, sizeof *scratch, &scratch));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, plan->n_variants, sizeof *runs, &runs));
  times->delay_share = plim_paged_run_delay(plan, steps->n, steps->sample);
  for (int32_t j = 0; j < plan->n_commands; j++) {
    times->time_ns[j] = median(steps, j, times->delay_share, scratch);
    if (plan->command[j].kind == PLIM_COMMAND_COPY) continue;
    times->variant_ns[plan->command[j].variant] += times->time_ns[j];
    runs[plan->command[j].variant]++;
  }
  for (int32_t v = 0; v < plan->n_variants; v++) {
    times->variant_ns[v] = runs[v] > 0 ? times->variant_ns[v] / runs[v] : PLIM_UNKNOWN;
  }
done:
  plim_release(ctx, runs, plan->n_variants, sizeof *runs);
  plim_release(ctx, scratch, steps->n, sizeof *scratch);
  return status;
}

void plim_measured_times_free(plim_context *ctx, plim_measured_times *times) {
  if (!times->plan) return;
  plim_release(ctx, times->variant_ns, times->plan->n_variants, sizeof *times->variant_ns);
  plim_release(ctx, times->time_ns, times->plan->n_commands, sizeof *times->time_ns);
}

plim_status plim_measured_times_predict(const plim_graph *graph, const plim_measured_times *times, int64_t *out) {
  const plim_plan *plan = times->plan;
  plim_context *ctx = graph->ctx;
  plim_plan draft = *plan, *timed = NULL;
  plim_plan_space page[PLIM_PAGE_SPACES];
  plim_command *command = NULL;
  plim_plan_variant *variant = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, plan->n_commands, sizeof *command, &command));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, plan->n_variants, sizeof *variant, &variant));
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
  PLIM_TRY_OR_DONE(plim_plan_from_parts(graph, &draft, &timed));
  *out = timed->time_ns;
done:
  plim_plan_free(timed);
  plim_release(ctx, variant, plan->n_variants, sizeof *variant);
  plim_release(ctx, command, plan->n_commands, sizeof *command);
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

plim_status plim_measured_times_variation(plim_context *ctx, const plim_timed_steps *steps, int64_t predicted_ns,
                                          double *ratio) {
  const plim_plan *plan = steps->plan;
  int64_t *makespan_ns = NULL, *end_ns = NULL;
  plim_status status;
  *ratio = 1;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, steps->n, sizeof *makespan_ns, &makespan_ns));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, plan->n_commands, sizeof *end_ns, &end_ns));
  for (int32_t i = 0; i < steps->n; i++) {
    makespan_ns[i] = makespan(plan, steps->sample + (int64_t)i * plan->n_commands, end_ns);
  }
  plim_integers_sort(makespan_ns, steps->n);
  const int64_t median_ns = makespan_ns[steps->n / 2];
  if (predicted_ns > 0) *ratio = (double)median_ns / (double)predicted_ns;
done:
  plim_release(ctx, makespan_ns, steps->n, sizeof *makespan_ns);
  plim_release(ctx, end_ns, plan->n_commands, sizeof *end_ns);
  return status;
}

/* The profile and the links that a plan was made from, with the times that its ops and copies really took in training
 * steps. */
#include "runtime/train/retimed.h"

#include <string.h>

#include "runtime/base/integers.h"

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

plim_status plim_retimed_profile(const plim_graph *graph, const plim_profile *profile, const plim_measured_times *times,
                                 plim_profile **out) {
  const int32_t n = profile->first[profile->n_ops];
  plim_variant *row = NULL;
  PLIM_TRY(plim_allocate(graph->ctx, n, sizeof *row, &row));
  memcpy(row, profile->variant, (size_t)n * sizeof *row);
  plim_retimed_rows(times->plan, profile, times->variant_ns, row);
  plim_status status = plim_profile_make(graph, &profile->machine, 1, profile->first, row, out);
  plim_release(graph->ctx, row, n, sizeof *row);
  return status;
}

void plim_retimed_links(const plim_measured_times *times, plim_paging *paging) {
  enum { OUT, IN, DEVICE, LINKS };
  const plim_plan *plan = times->plan;
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

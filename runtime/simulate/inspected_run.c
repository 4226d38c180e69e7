/* Opens inspected runs: reads the files beside a trace, finds the medians of its times, and simulates online runs
 * again. */
#include "runtime/simulate/inspected_run.h"

#include <stdio.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/base/integers.h"
#include "runtime/graph/check/check.h"
#include "runtime/graph/sibling.h"
#include "runtime/inspect/decision_log.h"
#include "runtime/simulate/simulation.h"

/* ---- files ---- */

static plim_status load_plan(plim_inspected_run *inspected, const char *path) {
  char of_graph[PLIM_FILE_PATH_BYTES], sentence[PLIM_ERROR_BYTES];
  PLIM_TRY(plim_sibling_graph_path(inspected->ctx, path, of_graph));
  PLIM_TRY(plim_plan_load(inspected->ctx, path, &inspected->read_plan));
  PLIM_TRY(plim_graph_load(inspected->ctx, of_graph, &inspected->graph));
  inspected->plan = inspected->read_plan;
  plim_status status = plim_plan_check(inspected->ctx, inspected->graph, inspected->plan);
  if (status == PLIM_OK || status == PLIM_ENOMEM) return status;
  (void)snprintf(sentence, sizeof sentence, "%s", plim_context_error(inspected->ctx));
  return plim_fail(inspected->ctx, status, "%s: %s", path, sentence); /* which of the files it is */
}

static plim_status load_trace(plim_inspected_run *inspected, const char *path) {
  char of_plan[PLIM_FILE_PATH_BYTES];
  PLIM_TRY(plim_trace_load(inspected->ctx, path, &inspected->trace));
  PLIM_TRY(plim_sibling_plan_path(inspected->ctx, path, of_plan));
  PLIM_TRY(load_plan(inspected, of_plan));
  return plim_trace_check(inspected->trace, path, inspected->plan, of_plan);
}

static plim_status set_medians(plim_inspected_run *inspected) {
  int32_t n = inspected->plan->n_commands;
  int64_t *sample = NULL;
  PLIM_TRY(plim_allocate(inspected->ctx, n, sizeof *inspected->measured_ns, &inspected->measured_ns));
  inspected->runs = inspected->trace ? inspected->trace->n_rows / n : 0;
  PLIM_TRY(plim_allocate(inspected->ctx, inspected->runs, sizeof *sample, &sample));
  for (int32_t j = 0; j < n && inspected->runs > 0; j++) {
    for (int64_t r = 0; r < inspected->runs; r++) sample[r] = inspected->trace->row[r * n + j].time_ns;
    plim_integers_sort(sample, inspected->runs);
    inspected->measured_ns[j] = sample[inspected->runs / 2];
  }
  plim_release(inspected->ctx, sample, inspected->runs, sizeof *sample);
  return PLIM_OK;
}

/* ---- second simulations ---- */

/* Make the plan of program order with the variants that the plan runs. */
static plim_status make_order(plim_inspected_run *inspected) {
  const plim_plan *plan = inspected->plan;
  int64_t n = inspected->graph->n_ops;
  plim_plan_options options = plim_plan_options_default();
  int32_t *first = NULL;
  plim_variant *variant = NULL;
  plim_profile *profile = NULL;
  plim_status status;
  options.unpacked = 1;
  options.order = PLIM_ORDER_FIXED;
  PLIM_TRY_OR_DONE(plim_allocate(inspected->ctx, n + 1, sizeof *first, &first));
  PLIM_TRY_OR_DONE(plim_allocate(inspected->ctx, n, sizeof *variant, &variant));
  for (int32_t o = 0; o < n; o++) first[o + 1] = o + 1;
  for (int32_t j = plan->n_commands - 1; j >= 0; j--) {
    variant[plan->command[j].op] = plan->variant[plan->command[j].variant].variant;
  }
  PLIM_TRY_OR_DONE(plim_profile_make(inspected->graph, &plan->numerics.machine, 1, first, variant, &profile));
  PLIM_TRY_OR_DONE(plim_plan_keep_all(inspected->ctx, inspected->graph, profile, &options, &inspected->order));
done:
  plim_profile_free(profile);
  plim_release(inspected->ctx, first, n + 1, sizeof *first);
  plim_release(inspected->ctx, variant, n, sizeof *variant);
  return status;
}

/* Simulate an online run again. When the result differs, because another version decided the run, its reasons are not
 * known. */
static plim_status simulate_again(plim_inspected_run *inspected) {
  static const char prefix[] = "online ";
  const plim_policy *policy = strncmp(inspected->plan->planner, prefix, sizeof prefix - 1) == 0
                                  ? plim_policy_find(inspected->plan->planner + sizeof prefix - 1)
                                  : NULL;
  if (!policy) return PLIM_OK;
  PLIM_TRY(make_order(inspected));
  plim_decision_log_options options = {inspected->graph, inspected->order, policy, inspected->plan->budget_bytes, 0};
  PLIM_TRY(plim_decision_log_new(inspected->ctx, &options, &inspected->decisions));
  if (plim_decision_log_equals(inspected->decisions, inspected->plan, &inspected->differs_at)) {
    inspected->differs_at = PLIM_NONE;
  } else {
    plim_decision_log_free(inspected->decisions);
    inspected->decisions = NULL;
  }
  return PLIM_OK;
}

static plim_status open_file(plim_inspected_run *inspected, const char *path) {
  PLIM_TRY(plim_sibling_is_plan(path) ? load_plan(inspected, path) : load_trace(inspected, path));
  PLIM_TRY(plim_inspect_new(inspected->graph, inspected->plan, &inspected->inspect));
  PLIM_TRY(set_medians(inspected));
  return simulate_again(inspected);
}

static plim_status finish(plim_inspected_run *inspected, plim_status status, plim_inspected_run *out) {
  if (status == PLIM_OK) {
    *out = *inspected;
  } else {
    plim_inspected_run_close(inspected);
  }
  return status;
}

plim_status plim_inspected_run_open(plim_context *ctx, const char *path, plim_inspected_run *out) {
  plim_inspected_run inspected = {.ctx = ctx, .differs_at = PLIM_NONE};
  return finish(&inspected, open_file(&inspected, path), out);
}

static plim_status simulate(plim_inspected_run *inspected, const char *graph, const plim_policy *policy,
                            const char *memory, double thrash) {
  plim_simulation sim;
  plim_decision_log_options options = {.policy = policy};
  PLIM_TRY(plim_graph_load(inspected->ctx, graph, &inspected->graph));
  PLIM_TRY(plim_simulation_open(inspected->ctx, inspected->graph, thrash, &sim));
  plim_status status = plim_simulation_budget(&sim, memory, PLIM_SIMULATE_ARENA, &options.budget_bytes);
  options.limit_ns = plim_simulation_limit_ns(&sim, sim.order->keep_all_ns);
  inspected->order = sim.order;
  sim.order = NULL;
  plim_simulation_close(&sim);
  if (status != PLIM_OK) return status;
  options.graph = inspected->graph;
  options.order = inspected->order;
  PLIM_TRY(plim_decision_log_new(inspected->ctx, &options, &inspected->decisions));
  inspected->plan = plim_decision_log_plan(inspected->decisions);
  if (!inspected->plan)
    return plim_fail(inspected->ctx, PLIM_ENOFIT, "%s", plim_decision_log_failure(inspected->decisions));
  PLIM_TRY(plim_inspect_new(inspected->graph, inspected->plan, &inspected->inspect));
  return set_medians(inspected);
}

plim_status plim_inspected_run_simulate(plim_context *ctx, const char *graph, const plim_policy *policy,
                                        const char *memory, double thrash, plim_inspected_run *out) {
  plim_inspected_run inspected = {.ctx = ctx, .differs_at = PLIM_NONE};
  return finish(&inspected, simulate(&inspected, graph, policy, memory, thrash), out);
}

void plim_inspected_run_close(plim_inspected_run *run) {
  if (run->plan) plim_release(run->ctx, run->measured_ns, run->plan->n_commands, sizeof *run->measured_ns);
  plim_inspect_free(run->inspect);
  plim_decision_log_free(run->decisions);
  plim_plan_free(run->order);
  plim_plan_free(run->read_plan);
  plim_graph_free(run->graph);
  plim_trace_free(run->trace);
  *run = (plim_inspected_run){.ctx = run->ctx};
}

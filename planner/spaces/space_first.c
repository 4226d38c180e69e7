/* Takes a first plan for a large graph from a planner of one arena. A planner of one arena looks at a graph of many
 * ops in less time than covering here, which weighs each decision along the whole sequence. Its costs are those of the
 * objective on the device. */
#include "planner/spaces/space_make_internal.h"

#include <math.h>

#include "planner/spaces/spaces_tuning.h"
#include "runtime/base/effort.h"

/* Whole numbers that energies are rounded to: the sum of all ops has so many. */
static const double energy_units = 0x1p50;

static void set_costs(const plim_space_problem *p, const plim_space_search_options *asked, int64_t *cost) {
  double sum = 0;
  for (int32_t i = 0; i < p->n && asked->objective == PLIM_OBJECTIVE_ENERGY; i++) {
    sum += fmax(0, plim_space_run_joule(p, i, 0));
  }
  for (int32_t i = 0; i < p->n; i++) {
    cost[i] = plim_space_run_ns(p, i, 0);
    if (sum > 0) cost[i] = llround(fmax(0, plim_space_run_joule(p, i, 0)) / sum * energy_units);
  }
}

static int runs_all(const plim_space_problem *p) {
  for (int32_t i = 0; i < p->n; i++) {
    if (plim_space_run_ns(p, i, 0) < 0) return 0;
  }
  return 1;
}

static int may_help(const plim_space_problem *p, const plim_space_search_options *asked,
                    const plim_space_options *options) {
  int one = p->platform->n_devices == 1 || !asked->place;
  return options->one_arena && one && asked->recompute && p->n >= spaces_tuning.search.large_nodes && runs_all(p);
}

static plim_status add_runs(const plim_plan *plan, plim_space_events *out) {
  for (int32_t c = 0; c < plan->n_commands; c++) {
    if (plan->command[c].kind == PLIM_COMMAND_RUN) plim_space_events_add(out, PLIM_SPACE_RUN, plan->command[c].op, 0);
  }
  return out->status;
}

/* Where pages are allowed, starts on demand have their time. 0: there is no limit; -1: no time is left. */
static int64_t limit_ns(const plim_space_problem *p, const plim_space_search_options *asked, int32_t percent) {
  int64_t left = plim_effort_left_ns(p->ctx), reserve = asked->page ? spaces_tuning.first.reserve_ns_a_node * p->n : 0;
  if (left == INT64_MAX) return 0;
  return left > reserve ? (left - reserve) / 100 * percent + 1 : -1;
}

plim_status plim_space_first(const plim_space_problem *p, const plim_space_search_options *asked,
                             const plim_space_options *options, int32_t percent, plim_space_events *out) {
  int64_t *cost = NULL;
  const int64_t limit = limit_ns(p, asked, percent);
  plim_plan *plan = NULL;
  plim_status status;
  if (!may_help(p, asked, options) || limit < 0) return PLIM_OK;
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n, sizeof *cost, &cost));
  set_costs(p, asked, cost);
  PLIM_TRY_OR_DONE(
      options->one_arena(p->graph, cost, asked->budget[p->platform->device[0].space], limit, options->threads, &plan));
  if (plan) PLIM_TRY_OR_DONE(add_runs(plan, out));
done:
  plim_plan_free(plan);
  plim_release(p->ctx, cost, p->n, sizeof *cost);
  return status;
}

/* Checks what a call asks for, and computes what follows from that alone. */
#include "planner/spaces/space_make_internal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "planner/spaces/spaces_tuning.h"
#include "runtime/base/effort.h"
#include "runtime/base/name.h"

/* ---- planners ---- */

enum { TIME = 1U << PLIM_OBJECTIVE_TIME, SERIAL = 1U << PLIM_OBJECTIVE_SERIAL, ENERGY = 1U << PLIM_OBJECTIVE_ENERGY };

static const plim_space_planner planners[] = {
    {"search", "greedy covering and local search over runs, copies and devices, least time, sum of times or energy",
     PLIM_SPACE_PLAN_ALL, PLIM_SPACE_FLUID, TIME | SERIAL | ENERGY, PLIM_OBJECTIVE_TIME, 0, 1, 1},
    {"poet", "Patil et al. 2022: recompute and paging by integer programming, least energy", PLIM_SPACE_PLAN_POET,
     PLIM_SPACE_POET, ENERGY, PLIM_OBJECTIVE_ENERGY, 0, 0, 0},
    {"xengine", "Schuler et al. 2022: placement and recompute by integer programming, least sum of times or time",
     PLIM_SPACE_PLAN_PLACED, PLIM_SPACE_XENGINE, TIME | SERIAL, PLIM_OBJECTIVE_SERIAL, 1, 0, 0},
    {"milp",
     "stages with copies beside compute, by integer programming: recompute, paging and placement, any objective",
     PLIM_SPACE_PLAN_FLUID, PLIM_SPACE_FLUID, TIME | SERIAL | ENERGY, PLIM_OBJECTIVE_TIME, 0, 0, 1},
};
enum { PLANNERS = sizeof planners / sizeof planners[0] };

const char *plim_space_planner_name(int32_t row) {
  return row >= 0 && row < PLANNERS ? planners[row].name : NULL;
}

const char *plim_space_planner_source(int32_t row) {
  return row >= 0 && row < PLANNERS ? planners[row].source : NULL;
}

static plim_status find_planner(plim_context *ctx, const plim_space_options *o, const plim_space_planner **out) {
  char advice[PLIM_NAME_ADVICE_BYTES];
  int known = o->objective >= 0 && o->objective < PLIM_OBJECTIVE_COUNT;
  const char *name = o->planner ? o->planner : planners[0].name;
  int32_t row = plim_name_find(plim_space_planner_name, name);
  if (row < 0) {
    return plim_fail(ctx, PLIM_EUSAGE, "no planner over spaces is called \"%s\"%s", name,
                     plim_name_advice(plim_space_planner_name, name, advice));
  }
  *out = &planners[row];
  if (o->objective < 0 || (known && ((*out)->objectives >> o->objective & 1U))) return PLIM_OK;
  return plim_fail(ctx, PLIM_EUSAGE, "planner %s does not take the objective %s; its own is %s", name,
                   known ? plim_objective_name((plim_objective)o->objective) : "given",
                   plim_objective_name((*out)->own));
}

/* ---- what is asked ---- */

plim_space_options plim_space_options_default(void) {
  return (plim_space_options){.struct_bytes = sizeof(plim_space_options),
                              .objective = -1,
                              .page = 1,
                              .recompute = 1,
                              .place = 1,
                              .deadline_ns = INT64_MAX,
                              .together = 1};
}

static plim_status set_deadline(plim_space_request *request) {
  const plim_space_options *o = request->options;
  request->model.deadline_ns = o->deadline_ns;
  if (!(o->deadline_factor > 0)) return PLIM_OK;
  if (request->problem->device_ns == INT64_MAX) {
    return plim_fail(request->ctx, PLIM_EDATA,
                     "a deadline as a factor needs a device that runs every op; there is none");
  }
  long double ns = floorl((long double)o->deadline_factor * (long double)request->problem->device_ns + 1e-6L);
  request->model.deadline_ns = ns < 0x1p61 ? (int64_t)ns : INT64_MAX;
  return PLIM_OK;
}

static plim_status set_budgets(plim_space_request *request) {
  const plim_platform *platform = request->problem->platform;
  PLIM_TRY(plim_allocate(request->ctx, platform->n_spaces, sizeof *request->budget, &request->budget));
  for (int32_t s = 0; s < platform->n_spaces; s++) {
    request->budget[s] = request->options->budget ? request->options->budget[s] : platform->space[s].budget_bytes;
  }
  request->model.budget = request->budget;
  return PLIM_OK;
}

plim_status plim_space_request_make(plim_context *ctx, const plim_graph *graph, const plim_platform *platform,
                                    const plim_space_options *options, plim_space_request *out) {
  const plim_space_planner *planner = NULL;
  *out = (plim_space_request){.ctx = ctx, .options = options, .started_ns = plim_now_ns()};
  PLIM_TRY(find_planner(ctx, options, &planner));
  assert(planner);
  out->planner = planner;
  out->model = (plim_space_model_options){
      .model_class = planner->model_class,
      .objective = options->objective < 0 ? planner->own : (plim_objective)options->objective,
      .page = options->page && !planner->recompute_alone,
      .recompute = options->recompute,
      .place = options->place};
  const int energy = out->model.objective == PLIM_OBJECTIVE_ENERGY;
  PLIM_TRY(plim_space_problem_make(graph, platform, energy, &out->problem));
  if (energy && !out->problem->has_energy) {
    return plim_fail(ctx, PLIM_EDATA, "platform %s: its copies have no energy, as their times come from the graph",
                     platform->name);
  }
  PLIM_TRY(set_budgets(out));
  return set_deadline(out);
}

void plim_space_request_free(plim_space_request *request) {
  if (!request->problem) return;
  plim_release(request->ctx, request->budget, request->problem->platform->n_spaces, sizeof *request->budget);
  plim_space_problem_free(request->problem);
}

double plim_space_seconds_left(const plim_space_request *request) {
  const int64_t given = request->options->time_limit_ns, limit = given > 0 ? given : spaces_tuning.program.unlimited_ns;
  const int64_t own = plim_effort_rest(limit, request->started_ns), outer = plim_effort_left_ns(request->ctx);
  const int64_t left = own < outer ? own : outer;
  return left > spaces_tuning.program.solver_ns_min ? (double)left / 1e9 : -1;
}

plim_solve_options plim_space_effort(const plim_space_request *request) {
  return (plim_solve_options){.threads = request->options->threads,
                              .seconds = plim_space_seconds_left(request),
                              .iterations = request->options->iterations,
                              .cutoff = INFINITY};
}

/* ---- in units of the objective ---- */

double plim_space_idle_joule(const plim_space_problem *problem, int64_t ns) {
  double watt = 0;
  for (int32_t d = 0; d < problem->platform->n_devices; d++) watt += problem->platform->device[d].idle_watt;
  return watt * ((double)ns * 1e-9);
}

double plim_space_keep_all(const plim_space_request *request) {
  const plim_space_problem *p = request->problem;
  if (request->model.objective != PLIM_OBJECTIVE_ENERGY) {
    return (double)(p->device_ns < INT64_MAX ? p->device_ns : p->fastest_ns);
  }
  return p->device_joule + plim_space_idle_joule(p, p->device_ns);
}

double plim_space_least(const plim_space_request *request) {
  const plim_space_problem *p = request->problem;
  if (request->model.objective == PLIM_OBJECTIVE_SERIAL) return (double)p->fastest_ns;
  if (request->model.objective == PLIM_OBJECTIVE_TIME) return (double)p->fastest_ns / p->platform->n_devices;
  double least = 0;
  for (int32_t i = 0; i < p->n; i++) {
    double joule = INFINITY;
    for (int32_t d = 0; d < p->platform->n_devices; d++) {
      if (plim_space_run_ns(p, i, d) >= 0) joule = fmin(joule, plim_space_run_joule(p, i, d));
    }
    least += joule;
  }
  return least + plim_space_idle_joule(p, p->fastest_ns / p->platform->n_devices);
}

/* ---- plans ---- */

int plim_space_joins(const plim_space_request *request) {
  return request->planner->joins && request->options->together;
}

/* May copies of the platform share a latency, which no program counts? */
static int may_join(const plim_space_request *request) {
  const plim_platform *p = request->problem->platform;
  int may = 0;
  for (int32_t l = 0; l < p->n_links; l++) may |= !p->link[l].given && p->link[l].latency_s > 0;
  return may && plim_space_joins(request);
}

/* Copies beside compute need not wait for the end of a stage, so fluid stages prove nothing of the makespan, nor of
 * what idle devices draw meanwhile. */
int plim_space_proves(const plim_space_request *request) {
  if (request->model.model_class != PLIM_SPACE_FLUID) return 1;
  if (request->model.objective == PLIM_OBJECTIVE_TIME || may_join(request)) return 0;
  return request->model.objective == PLIM_OBJECTIVE_SERIAL || !(plim_space_idle_joule(request->problem, 1) > 0);
}

plim_status plim_space_plan_of(const plim_space_request *request, plim_space_events *events, double bound, int proved,
                               plim_space_plan **out) {
  plim_space_plan draft = {.plan_class = request->planner->plan_class,
                           .objective = request->model.objective,
                           .deadline_ns = request->model.deadline_ns,
                           .keep_all = plim_space_keep_all(request),
                           .bound = bound > 0 ? bound : 0};
  (void)snprintf(draft.planner, sizeof draft.planner, "%s", request->planner->name);
  if (plim_space_joins(request)) PLIM_TRY(plim_space_gather(request->problem, &draft, request->budget, events));
  return plim_space_lower(request->problem, events, &draft, request->budget, proved, out);
}

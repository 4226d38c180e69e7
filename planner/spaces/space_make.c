/* The planners over spaces: a program of their class is built, solved with a gap of zero, read as a sequence, lowered
 * to commands and checked. A solver's tolerances may let a point pass above a budget: then the program is solved again
 * for as much less; the bound is the first one's. */
#include "planner/spaces/space_make.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "planner/solvers/solver.h"
#include "planner/spaces/space_bound.h"
#include "planner/spaces/space_first.h"
#include "planner/spaces/space_gather.h"
#include "planner/spaces/space_kept.h"
#include "planner/spaces/space_known.h"
#include "planner/spaces/space_model.h"
#include "planner/spaces/space_portfolio.h"
#include "planner/spaces/space_smallest.h"
#include "planner/spaces/spaces_tuning.h"
#include "runtime/base/effort.h"
#include "runtime/base/name.h"

typedef struct planner {
  const char *name, *source;
  plim_space_plan_class plan_class;
  plim_space_class model_class;
  unsigned objectives; /* bits by plim_objective */
  plim_objective own;
  int32_t recompute_alone; /* 1: cannot page */
  int32_t searches;        /* 1: without a program */
  int32_t joins;           /* 1: a copy may carry several storages; 0: no copy of its class does */
} planner;

enum { TIME = 1U << PLIM_OBJECTIVE_TIME, SERIAL = 1U << PLIM_OBJECTIVE_SERIAL, ENERGY = 1U << PLIM_OBJECTIVE_ENERGY };

static const planner planners[] = {
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

plim_space_options plim_space_options_default(void) {
  return (plim_space_options){.struct_bytes = sizeof(plim_space_options),
                              .objective = -1,
                              .page = 1,
                              .recompute = 1,
                              .place = 1,
                              .deadline_ns = INT64_MAX,
                              .together = 1};
}

typedef struct work {
  plim_context *ctx;
  const plim_space_options *options;
  const planner *planner;
  plim_space_problem *problem;
  plim_solver *solver;
  int64_t *budget;     /* [n_spaces] asked for */
  int64_t *limit;      /* [n_spaces] that the program gets */
  int64_t deadline_ns; /* asked for; that of the model may be earlier */
  plim_space_model_options model;
  int64_t started_ns;
  double least;  /* no plan is better, whatever its class */
  double bound;  /* of the first program; -INFINITY: none */
  double cutoff; /* that the last program had */
  int32_t ended; /* 1: the last program has no point below its cutoff */
  plim_space_outcome outcome;
  plim_space_portfolio portfolio;    /* without a program */
  plim_space_events known;           /* the best of the known plans that fits; none: empty */
  double known_value;                /* INFINITY: none */
  plim_space_events first;           /* the runs of a plan of one arena; none: empty */
  const plim_space_events *start[2]; /* [n_starts] of searches: known and first events */
  int32_t n_starts;
  plim_space_plan *plan;
} work;

/* ---- what was asked for ---- */

static plim_status find_planner(plim_context *ctx, const plim_space_options *o, const planner **out) {
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

static plim_status set_deadline(work *w) {
  const plim_space_options *o = w->options;
  w->model.deadline_ns = w->deadline_ns = o->deadline_ns;
  if (!(o->deadline_factor > 0)) return PLIM_OK;
  if (w->problem->device_ns == INT64_MAX) {
    return plim_fail(w->ctx, PLIM_EDATA, "a deadline as a factor needs a device that runs every op; there is none");
  }
  long double ns = floorl((long double)o->deadline_factor * (long double)w->problem->device_ns + 1e-6L);
  w->model.deadline_ns = w->deadline_ns = ns < 0x1p61 ? (int64_t)ns : INT64_MAX;
  return PLIM_OK;
}

static plim_status choose_model(work *w, const plim_graph *graph, const plim_platform *platform) {
  const plim_space_options *o = w->options;
  w->started_ns = plim_now_ns();
  PLIM_TRY(find_planner(w->ctx, o, &w->planner));
  assert(w->planner);
  w->model = (plim_space_model_options){.model_class = w->planner->model_class,
                                        .objective = o->objective < 0 ? w->planner->own : (plim_objective)o->objective,
                                        .page = o->page && !w->planner->recompute_alone,
                                        .recompute = o->recompute,
                                        .place = o->place};
  PLIM_TRY(plim_space_problem_make(graph, platform, w->model.objective == PLIM_OBJECTIVE_ENERGY, &w->problem));
  if (w->model.objective == PLIM_OBJECTIVE_ENERGY && !w->problem->has_energy) {
    return plim_fail(w->ctx, PLIM_EDATA, "platform %s: its copies have no energy, as their times come from the graph",
                     platform->name);
  }
  PLIM_TRY(plim_allocate(w->ctx, platform->n_spaces, sizeof *w->budget, &w->budget));
  PLIM_TRY(plim_allocate(w->ctx, platform->n_spaces, sizeof *w->limit, &w->limit));
  for (int32_t s = 0; s < platform->n_spaces; s++) {
    w->budget[s] = w->limit[s] = o->budget ? o->budget[s] : platform->space[s].budget_bytes;
  }
  w->model.budget = w->limit;
  w->known = w->first = (plim_space_events){.ctx = w->ctx};
  for (int i = 0; i < PLIM_SPACE_SEARCHES; i++) w->portfolio.events[i] = w->known;
  return set_deadline(w);
}

/* ---- solving ---- */

static double seconds_left(const work *w) {
  int64_t left = plim_effort_left_ns(w->ctx);
  if (w->options->time_limit_ns > 0) {
    int64_t own = w->options->time_limit_ns - (plim_now_ns() - w->started_ns);
    if (own < left) left = own;
  }
  if (left == INT64_MAX) return 0;
  return left > 10000000 ? (double)left / 1e9 : -1;
}

static int on_progress(void *user, double objective, double bound) {
  const work *w = user;
  plim_progress progress = {.stage = w->planner->name,
                            .total = -1,
                            .elapsed_ns = plim_now_ns() - w->started_ns,
                            .best_percent = -1,
                            .bound_percent = -1};
  (void)objective;
  (void)bound;
  plim_context_report(w->ctx, &progress);
  return plim_effort_over(w->ctx, PLIM_EFFORT_LOOK);
}

plim_solve_options plim_space_effort(const plim_space_options *options, double seconds) {
  return (plim_solve_options){
      .threads = options->threads, .seconds = seconds, .steps = options->iterations, .cutoff = INFINITY};
}

plim_status plim_space_solve(plim_context *ctx, plim_solver *solver, const plim_space_model *m,
                             const plim_solve_options *effort, plim_solution *solution, double *point) {
  *solution = (plim_solution){.end = PLIM_SOLVE_STOPPED, .objective = INFINITY, .bound = -INFINITY};
  if (effort->seconds >= 0) PLIM_TRY(plim_solver_solve(solver, &m->linear, effort, solution, point));
  if (plim_context_cancelled(ctx) && !solution->found) return plim_fail(ctx, PLIM_ECANCEL, "planning was cancelled");
  return PLIM_OK;
}

/* ---- the plan ---- */

/* What idle devices draw in so many nanoseconds. */
static double idle_joule(const work *w, int64_t ns) {
  double watt = 0;
  for (int32_t d = 0; d < w->problem->platform->n_devices; d++) watt += w->problem->platform->device[d].idle_watt;
  return watt * ((double)ns * 1e-9);
}

static double keep_all(const work *w) {
  const plim_space_problem *p = w->problem;
  if (w->model.objective != PLIM_OBJECTIVE_ENERGY) {
    return (double)(p->device_ns < INT64_MAX ? p->device_ns : p->fastest_ns);
  }
  return p->device_joule + idle_joule(w, p->device_ns);
}

/* No plan is better: every op once where it is cheapest. */
static double least_of_all(const work *w) {
  const plim_space_problem *p = w->problem;
  if (w->model.objective == PLIM_OBJECTIVE_SERIAL) return (double)p->fastest_ns;
  if (w->model.objective == PLIM_OBJECTIVE_TIME) return (double)p->fastest_ns / p->platform->n_devices;
  double least = 0;
  for (int32_t i = 0; i < p->n; i++) {
    double joule = INFINITY;
    for (int32_t d = 0; d < p->platform->n_devices; d++) {
      if (plim_space_run_ns(p, i, d) >= 0) joule = fmin(joule, plim_space_run_joule(p, i, d));
    }
    least += joule;
  }
  return least + idle_joule(w, p->fastest_ns / p->platform->n_devices);
}

/* May a command copy several storages? */
static int joins(const work *w) {
  return w->planner->joins && w->options->together;
}

/* May copies of the platform share a latency, which no program counts? */
static int may_join(const work *w) {
  const plim_platform *p = w->problem->platform;
  int may = 0;
  for (int32_t l = 0; l < p->n_links; l++) may |= !p->link[l].given && p->link[l].latency_s > 0;
  return may && joins(w);
}

/* Does the program's bound hold for plans of its class? Copies beside compute need not wait for the end of a stage, so
 * fluid stages prove nothing of the makespan, nor of what idle devices draw meanwhile. */
static int proves(const work *w) {
  if (w->model.model_class != PLIM_SPACE_FLUID) return 1;
  if (w->model.objective == PLIM_OBJECTIVE_TIME || may_join(w)) return 0;
  return w->model.objective == PLIM_OBJECTIVE_SERIAL || !(idle_joule(w, 1) > 0);
}

/* What the program proves, for the plan's own objective, or what holds for every plan. */
static double plan_bound(const work *w) {
  double bound = w->least;
  if (proves(w) && w->bound > bound) bound = w->bound;
  return bound > 0 ? bound : 0;
}

/* The plan of a sequence. */
static plim_status make_plan(const work *w, plim_space_events *events, double bound, int proved,
                             plim_space_plan **out) {
  plim_space_plan draft = {
      .objective = w->model.objective, .deadline_ns = w->deadline_ns, .keep_all = keep_all(w), .bound = bound};
  (void)snprintf(draft.planner, sizeof draft.planner, "%s", w->planner->name);
  draft.plan_class = w->planner->plan_class;
  if (joins(w)) PLIM_TRY(plim_space_gather(w->problem, &draft, w->budget, events));
  return plim_space_lower(w->problem, events, &draft, w->budget, proved, out);
}

static plim_status lower_events(work *w, plim_space_events *events, double bound, int proved) {
  plim_space_plan_free(w->plan);
  w->plan = NULL;
  return make_plan(w, events, bound, proved, &w->plan);
}

static plim_status lower_point(work *w, const plim_space_model *m, const double *point, int proved) {
  plim_space_events events = {.ctx = w->ctx};
  plim_status status = plim_space_model_read(m, point, &events);
  if (status == PLIM_OK) status = lower_events(w, &events, plan_bound(w), proved);
  plim_space_events_free(&events);
  return status;
}

/* Bytes by which the plan is above a budget, and time by which it misses a deadline on the makespan: the program gets
 * as much less. */
static int64_t tighten(work *w) {
  int64_t excess = 0;
  for (int32_t s = 0; s < w->plan->n_spaces; s++) {
    int64_t above = w->plan->space[s].peak_bytes - w->budget[s];
    if (w->budget[s] == INT64_MAX || above <= 0) continue;
    w->limit[s] -= above;
    excess += above;
  }
  int64_t late = w->plan->makespan_ns - w->deadline_ns;
  if (w->model.model_class == PLIM_SPACE_POET || w->deadline_ns == INT64_MAX || late <= 0) return excess;
  w->model.deadline_ns -= late;
  return plim_add_bytes(excess, late) < 0 ? INT64_MAX : excess + late;
}

static plim_status take(work *w, const plim_space_model *m, const plim_solution *s, const double *point,
                        int32_t round) {
  if (round == 0) {
    w->outcome =
        (plim_space_outcome){s->objective / m->scale, s->bound / m->scale, m->linear.n_columns, m->linear.n_rows};
  }
  int proved = s->end == PLIM_SOLVE_OPTIMAL && round == 0 && proves(w);
  return lower_point(w, m, point, proved);
}

/* The program's objective at the plan that the search found: points that are not below it are of no interest. A fluid
 * stage's time is not the plan's, and idle power is not in a program. */
static double cutoff(const work *w, const plim_space_model *m) {
  if (!w->portfolio.best.fits || !proves(w) || idle_joule(w, 1) > 0) return INFINITY;
  return w->portfolio.best.value * m->scale;
}

static plim_status solve_round(work *w, int32_t round, int32_t *found) {
  plim_space_model *m = NULL;
  plim_solve_options effort;
  plim_solution s;
  double *point = NULL;
  plim_status status;
  int32_t columns = 0;
  *found = 0;
  PLIM_TRY(plim_space_model_make(w->problem, &w->model, &m));
  columns = m->linear.n_columns;
  PLIM_CHECK(plim_allocate(w->ctx, columns, sizeof *point, &point));
  w->cutoff = cutoff(w, m);
  effort = plim_space_effort(w->options, seconds_left(w));
  effort.cutoff = w->cutoff;
  effort.on_progress = on_progress;
  effort.user = w;
  PLIM_CHECK(plim_space_solve(w->ctx, w->solver, m, &effort, &s, point));
  *found = s.found;
  w->ended = s.end == PLIM_SOLVE_INFEASIBLE;
  if (round == 0) w->outcome = (plim_space_outcome){INFINITY, s.bound / m->scale, columns, m->linear.n_rows};
  if (round == 0 && s.bound > -INFINITY) w->bound = s.bound / m->scale;
  if (round == 0 && w->ended && w->cutoff < INFINITY) w->bound = w->portfolio.best.value;
  if (s.found) PLIM_CHECK(take(w, m, &s, point, round));
done:
  plim_release(w->ctx, point, columns, sizeof *point);
  plim_space_model_free(m);
  return status;
}

/* Every op once, in program order: where one device has room for that, nothing is better. */
static plim_status try_keep_all(work *w, int32_t *fits) {
  plim_space_events events = {.ctx = w->ctx};
  *fits = 0;
  if (w->problem->platform->n_devices != 1) return PLIM_OK;
  for (int32_t o = 0; o < w->problem->n; o++) plim_space_events_add(&events, PLIM_SPACE_RUN, o, 0);
  plim_status status = events.status;
  if (status == PLIM_OK) status = lower_events(w, &events, keep_all(w), 1);
  plim_space_events_free(&events);
  if (status != PLIM_OK) return status;
  int32_t space = w->problem->platform->device[0].space;
  *fits = w->plan->space[space].peak_bytes <= w->budget[space] && w->plan->makespan_ns <= w->deadline_ns;
  double value = plim_space_plan_value(w->plan);
  if (*fits) w->outcome = (plim_space_outcome){.model_objective = value, .model_bound = value};
  return PLIM_OK;
}

/* ---- known plans, and the search ---- */

static plim_space_search_options search_options(const work *w) {
  const plim_space_options *o = w->options;
  int64_t items = w->planner->searches ? tuning.program.items_alone : tuning.program.items_before;
  int64_t rounds = items / (w->problem->n + 10);
  return (plim_space_search_options){.objective = w->model.objective,
                                     .page = w->model.page,
                                     .recompute = w->model.recompute,
                                     .place = w->model.place,
                                     .budget = w->budget,
                                     .deadline_ns = w->deadline_ns,
                                     .deadline_on_runs = w->planner->model_class == PLIM_SPACE_POET,
                                     .bound = w->least,
                                     .keep_all = keep_all(w),
                                     .n_starts = w->n_starts,
                                     .start = w->start,
                                     .rounds = w->planner->searches && o->iterations > 0 ? o->iterations : rounds};
}

static plim_status try_known(work *w) {
  const plim_space_search_options asked = search_options(w);
  PLIM_TRY(plim_space_known_best(w->problem, &asked, joins(w), w->options->n_known, w->options->known, &w->known_value,
                                 &w->known));
  if (w->known_value < INFINITY) w->start[w->n_starts++] = &w->known;
  return PLIM_OK;
}

static plim_status try_first(work *w) {
  const plim_space_search_options asked = search_options(w);
  if (w->planner->searches) PLIM_TRY(plim_space_first(w->problem, &asked, w->options, tuning.first.percent, &w->first));
  if (w->first.n > 0) w->start[w->n_starts++] = &w->first;
  return PLIM_OK;
}

static plim_status bound_all(work *w) {
  const plim_space_search_options asked = search_options(w);
  double bound = 0;
  int64_t part = w->options->time_limit_ns / tuning.program.bound_parts;
  int64_t outer = plim_effort_begin(w->ctx, plim_effort_deadline_of(plim_now_ns(), part));
  PLIM_TRY(plim_effort_end(w->ctx, outer, plim_space_bound(w->problem, &asked, &bound)));
  w->least = fmax(w->least, bound);
  return PLIM_OK;
}

/* Without a program: greedy covering and local search, with a share of the time where a program comes after it, and
 * with all but a quarter otherwise, which is for the refusal. */
static plim_status search_portfolio(work *w) {
  int64_t limit = w->options->time_limit_ns, share = w->planner->searches ? limit - limit / 4 : limit / 5;
  int64_t outer = plim_effort_begin(w->ctx, plim_effort_deadline_of(w->started_ns, share));
  plim_status status = try_first(w);
  const plim_space_search_options asked = search_options(w);
  if (status == PLIM_OK) status = plim_space_portfolio_search(w->problem, &asked, least_of_all(w), &w->portfolio);
  return plim_effort_end(w->ctx, outer, status);
}

/* The best plan of those found becomes the plan, unless the one that there is takes no more. Copies that are joined may
 * put one before another, so all of them are lowered. */
static plim_status take_found(work *w, int32_t within) {
  const double bound = plan_bound(w);
  for (int32_t i = 0; i < PLIM_SPACE_SEARCHES; i++) {
    const plim_space_found *found = &w->portfolio.found[i];
    plim_space_plan *plan = NULL;
    if (!found->fits) continue;
    PLIM_TRY(make_plan(w, &w->portfolio.events[i], bound, proves(w) && w->bound >= found->value, &plan));
    if (within && plim_space_plan_value(w->plan) <= plim_space_plan_value(plan)) {
      plim_space_plan_free(plan);
      continue;
    }
    plim_space_plan_free(w->plan);
    w->plan = plan;
    within = 1;
  }
  return PLIM_OK;
}

/* The best known plan becomes the plan, unless the one that there is is as good. */
static plim_status take_known(work *w, int has_plan) {
  if (has_plan && plim_space_plan_value(w->plan) <= w->known_value) return PLIM_OK;
  return w->known_value < INFINITY ? lower_events(w, &w->known, plan_bound(w), proves(w) && w->bound >= w->known_value)
                                   : PLIM_OK;
}

/* What the search says of larger budgets and later deadlines. */
static plim_status refuse_by_search(work *w) {
  const plim_space_search_options asked = search_options(w);
  int64_t outer = plim_effort_begin(w->ctx, plim_effort_deadline_of(w->started_ns, w->options->time_limit_ns));
  return plim_effort_end(w->ctx, outer, plim_space_search_refuse(w->problem, &asked));
}

static plim_status refuse(work *w) {
  if (plim_context_cancelled(w->ctx)) return plim_fail(w->ctx, PLIM_ECANCEL, "planning was cancelled");
  if (w->planner->searches) return refuse_by_search(w);
  if (w->ended) {
    int64_t outer = plim_effort_begin(w->ctx, plim_effort_deadline_of(w->started_ns, w->options->time_limit_ns));
    return plim_effort_end(w->ctx, outer,
                           plim_space_refuse(w->problem, w->solver, &w->model, w->budget, w->options, seconds_left(w)));
  }
  return plim_fail(w->ctx, PLIM_ENOFIT,
                   "planner %s found no plan within the effort that it had, which does not say that there is none: "
                   "raise --time-limit or --iterations",
                   w->planner->name);
}

/* The program, and again with less where its plan is above budgets or deadline. *within 1: the last plan keeps them
 * all. */
static plim_status solve(work *w, int32_t *within) {
  int32_t found = 1;
  *within = 0;
  PLIM_TRY(plim_solver_open(w->ctx, NULL, &w->solver));
  for (int32_t round = 0; round < tuning.program.rounds && found && !*within; round++) {
    PLIM_TRY(solve_round(w, round, &found));
    *within = found && tighten(w) == 0;
    if (found || w->portfolio.best.fits || w->known_value < INFINITY) continue;
    return round == 0 ? refuse(w) : refuse_by_search(w); /* later rounds had a plan, above budgets or deadline */
  }
  return PLIM_OK;
}

static plim_status find_plan(work *w) {
  int32_t within = 0, fits;
  w->least = least_of_all(w);
  PLIM_TRY(try_keep_all(w, &fits));
  if (fits) return plim_space_plan_check(w->ctx, w->problem->graph, w->plan);
  PLIM_TRY(bound_all(w));
  PLIM_TRY(try_known(w));
  PLIM_TRY(search_portfolio(w));
  if (!w->planner->searches) PLIM_TRY(solve(w, &within));
  if (!within && !w->portfolio.best.fits && !(w->known_value < INFINITY)) return refuse(w);
  PLIM_TRY(take_found(w, within));
  PLIM_TRY(take_known(w, within || w->portfolio.best.fits));
  return plim_space_plan_check(w->ctx, w->problem->graph, w->plan);
}

static plim_status make(plim_context *ctx, const plim_graph *graph, const plim_platform *platform,
                        const plim_space_options *options, plim_space_outcome *outcome, plim_space_plan **out) {
  work w = {.ctx = ctx,
            .options = options,
            .bound = -INFINITY,
            .known_value = INFINITY,
            .outcome = {INFINITY, -INFINITY, 0, 0}};
  plim_status status = choose_model(&w, graph, platform);
  if (status == PLIM_OK) status = find_plan(&w);
  if (status == PLIM_OK) {
    *out = w.plan;
    w.plan = NULL;
    if (outcome) *outcome = w.outcome;
  }
  plim_space_plan_free(w.plan);
  plim_space_portfolio_free(&w.portfolio);
  plim_space_events_free(&w.known);
  plim_space_events_free(&w.first);
  plim_solver_close(w.solver);
  plim_release(ctx, w.budget, platform->n_spaces, sizeof *w.budget);
  plim_release(ctx, w.limit, platform->n_spaces, sizeof *w.limit);
  plim_space_problem_free(w.problem);
  return status;
}

plim_status plim_space_plan_make(plim_context *ctx, const plim_graph *graph, const plim_platform *platform,
                                 const plim_space_options *options, plim_space_outcome *outcome,
                                 plim_space_plan **out) {
  plim_space_options with_kept;
  plim_space_kept kept;
  plim_space_plan *plan = NULL;
  PLIM_TRY(plim_check_options(ctx, "plim_space_options", options->struct_bytes, sizeof *options));
  if (!options->front_folder) return make(ctx, graph, platform, options, outcome, out);
  PLIM_TRY(plim_space_kept_open(graph, platform, options, &kept));
  with_kept = *options;
  with_kept.known = kept.known;
  with_kept.n_known = kept.n_known;
  plim_status status = make(ctx, graph, platform, &with_kept, outcome, &plan);
  if (status == PLIM_OK) status = plim_space_kept_save(&kept, plan);
  plim_space_kept_close(&kept);
  if (status == PLIM_OK) *out = plan;
  if (status != PLIM_OK) plim_space_plan_free(plan);
  return status;
}

/* The planners over spaces: keep-all, known plans, the search, and for the planners that have one a program of their
 * class. The best plan of them is checked. */
#include "planner/spaces/space_make.h"

#include <math.h>

#include "planner/spaces/bound/space_bound.h"
#include "planner/spaces/space_request.h"
#include "planner/spaces/spaces_tuning.h"
#include "runtime/base/effort.h"
#include "runtime/base/integers.h"

typedef struct work {
  plim_space_request request;
  double least;                      /* no plan is better, whatever its class */
  plim_space_events known;           /* the best of the known plans that fits; none: empty */
  double known_value;                /* INFINITY: none */
  plim_space_events first;           /* the runs of a plan of one arena; none: empty */
  const plim_space_events *start[2]; /* [n_starts] of searches: known and first events */
  int32_t n_starts;
  plim_space_portfolio portfolio; /* what the search found */
  plim_space_program program;     /* not opened for planner search */
  plim_space_outcome outcome;
  plim_space_plan *plan; /* the best so far; NULL: none */
} work;

/* Every op once, in program order: where one device has room for that, nothing is better. */
static plim_status try_keep_all(work *w) {
  const plim_space_request *r = &w->request;
  const plim_platform *platform = r->problem->platform;
  plim_space_events events = {.ctx = r->ctx};
  plim_space_plan *plan = NULL;
  if (platform->n_devices != 1) return PLIM_OK;
  for (int32_t o = 0; o < r->problem->n; o++) plim_space_events_add(&events, PLIM_SPACE_RUN, o, 0);
  plim_status status = events.status;
  if (status == PLIM_OK) status = plim_space_plan_of(r, &events, plim_space_keep_all(r), 1, &plan);
  plim_space_events_free(&events);
  if (status != PLIM_OK) return status;
  const int32_t space = platform->device[0].space;
  if (plan->space[space].peak_bytes > r->budget[space] || plan->makespan_ns > r->model.deadline_ns) {
    plim_space_plan_free(plan);
    return PLIM_OK;
  }
  const double value = plim_space_plan_value(plan);
  w->outcome = (plim_space_outcome){.model_objective = value, .model_bound = value};
  w->plan = plan;
  return PLIM_OK;
}

/* ---- known plans, and the search ---- */

static plim_space_search_options search_options(const work *w) {
  const plim_space_request *r = &w->request;
  const int searches = r->planner->searches;
  int64_t events = searches ? spaces_tuning.program.events_alone : spaces_tuning.program.events_before;
  int64_t rounds = events / (r->problem->n + 10);
  return (plim_space_search_options){
      .objective = r->model.objective,
      .page = r->model.page,
      .recompute = r->model.recompute,
      .place = r->model.place,
      .budget = r->budget,
      .deadline_ns = r->model.deadline_ns,
      .deadline_on_runs = r->model.model_class == PLIM_SPACE_POET,
      .bound = w->least,
      .keep_all = plim_space_keep_all(r),
      .n_starts = w->n_starts,
      .start = w->start,
      .rounds = searches && r->options->iterations > 0 ? r->options->iterations : rounds};
}

static plim_status try_known(work *w) {
  const plim_space_search_options asked = search_options(w);
  const plim_space_options *o = w->request.options;
  PLIM_TRY(plim_space_known_best(w->request.problem, &asked, plim_space_joins(&w->request), o->n_known, o->known,
                                 &w->known_value, &w->known));
  if (w->known_value < INFINITY) w->start[w->n_starts++] = &w->known;
  return PLIM_OK;
}

static plim_status try_first(work *w) {
  const plim_space_request *r = &w->request;
  const plim_space_search_options asked = search_options(w);
  if (r->planner->searches)
    PLIM_TRY(plim_space_first(r->problem, &asked, r->options, spaces_tuning.first.percent, &w->first));
  if (w->first.n > 0) w->start[w->n_starts++] = &w->first;
  return PLIM_OK;
}

static plim_status bound_all(work *w) {
  const plim_space_request *r = &w->request;
  const plim_space_search_options asked = search_options(w);
  double bound = 0;
  int64_t part = plim_effort_share(r->options->time_limit_ns, spaces_tuning.program.bound_parts);
  int64_t outer = plim_effort_begin(r->ctx, plim_effort_deadline_of(plim_now_ns(), part));
  PLIM_TRY(plim_effort_end(r->ctx, outer, plim_space_bound(r->problem, &asked, &bound)));
  w->least = fmax(w->least, bound);
  return PLIM_OK;
}

/* Greedy covering and local search. Where a program comes after them they get a part of the time. Otherwise they get
 * all but the part that a refusal needs. However short the limit is, they get the time for a small graph. */
static plim_status search_portfolio(work *w) {
  const plim_space_request *r = &w->request;
  int64_t limit = r->options->time_limit_ns, rest = limit - limit / spaces_tuning.program.refusal_parts;
  int64_t share = r->planner->searches ? rest : plim_effort_share(limit, spaces_tuning.program.search_parts);
  const int64_t deadline_ns = plim_effort_deadline_of(r->started_ns, share);
  const int64_t least_ns = plim_now_ns() + spaces_tuning.program.search_ns_min;
  int64_t outer = plim_effort_begin(r->ctx, plim_integers_larger(deadline_ns, least_ns));
  plim_status status = try_first(w);
  const plim_space_search_options asked = search_options(w);
  if (status == PLIM_OK) {
    status = plim_space_portfolio_search(r->problem, &asked, plim_space_least(r), &w->portfolio);
  }
  return plim_effort_end(r->ctx, outer, status);
}

/* ---- the plan ---- */

static plim_status run_program(work *w) {
  const double best = w->portfolio.best.fits ? w->portfolio.best.value : INFINITY;
  PLIM_TRY(plim_space_program_open(&w->request, w->least, &w->program));
  plim_status status = plim_space_program_solve(&w->program, best);
  const int has_other = w->portfolio.best.fits || w->known_value < INFINITY;
  if (status == PLIM_ECANCEL && has_other) status = PLIM_OK; /* what was found before a cancel counts */
  PLIM_TRY(status);
  w->outcome = w->program.outcome;
  w->plan = w->program.plan;
  w->program.plan = NULL;
  return PLIM_OK;
}

/* The plan of a sequence that was found without the program becomes the plan, if it is better. */
static plim_status keep_plan(work *w, plim_space_events *events, double value) {
  const int programmed = w->program.request != NULL;
  const double bound = programmed ? plim_space_program_bound(&w->program) : w->least;
  const int proved = programmed && plim_space_program_proves(&w->program, value);
  plim_space_plan *plan = NULL;
  PLIM_TRY(plim_space_plan_of(&w->request, events, bound, proved, &plan));
  if (w->plan && plim_space_plan_value(w->plan) <= plim_space_plan_value(plan)) {
    plim_space_plan_free(plan);
    return PLIM_OK;
  }
  plim_space_plan_free(w->plan);
  w->plan = plan;
  return PLIM_OK;
}

/* Copies that are joined may put one sequence before another, so all that were found are lowered. */
static plim_status take_found(work *w) {
  for (int32_t i = 0; i < PLIM_SPACE_SEARCHES; i++) {
    const plim_space_found *found = &w->portfolio.found[i];
    if (found->fits) PLIM_TRY(keep_plan(w, &w->portfolio.events[i], found->value));
  }
  return w->known_value < INFINITY ? keep_plan(w, &w->known, w->known_value) : PLIM_OK;
}

/* ---- refusals ---- */

/* What program or search say of larger budgets and later deadlines. */
static plim_status refuse_with(work *w, int by_program) {
  const plim_space_request *r = &w->request;
  const plim_space_search_options asked = search_options(w);
  int64_t outer = plim_effort_begin(r->ctx, plim_effort_deadline_of(r->started_ns, r->options->time_limit_ns));
  const plim_status status = by_program ? plim_space_refuse(r, w->program.solver)
                                        : plim_space_search_refuse(r->problem, &asked, &w->outcome.cut_short);
  return plim_effort_end(r->ctx, outer, status);
}

static plim_status refuse(work *w) {
  const plim_space_request *r = &w->request;
  if (plim_context_cancelled(r->ctx)) return plim_fail(r->ctx, PLIM_ECANCEL, "planning was cancelled");
  plim_status status = PLIM_OK;
  /* the first program may have a point above budgets or deadline */
  if (r->planner->searches || (w->program.had_point && w->program.ended)) {
    status = refuse_with(w, 0);
  } else if (w->program.ended) {
    status = refuse_with(w, 1);
  }
  if (status != PLIM_OK) return status;
  w->outcome.cut_short = 1;
  return plim_fail(r->ctx, PLIM_ENOFIT,
                   "planner %s found no plan within the effort that it had, which does not say that there is none",
                   r->planner->name);
}

static plim_status find_plan(work *w) {
  const plim_graph *graph = w->request.problem->graph;
  w->least = plim_space_least(&w->request);
  PLIM_TRY(try_keep_all(w));
  if (w->plan) return plim_space_plan_check(w->request.ctx, graph, w->plan);
  PLIM_TRY(bound_all(w));
  PLIM_TRY(try_known(w));
  PLIM_TRY(search_portfolio(w));
  if (!w->request.planner->searches) PLIM_TRY(run_program(w));
  PLIM_TRY(take_found(w));
  return w->plan ? plim_space_plan_check(w->request.ctx, graph, w->plan) : refuse(w);
}

static plim_status make_plan(plim_context *ctx, const plim_graph *graph, const plim_platform *platform,
                             const plim_space_options *options, plim_space_outcome *outcome, plim_space_plan **out) {
  work w = {.known = {.ctx = ctx},
            .first = {.ctx = ctx},
            .known_value = INFINITY,
            .outcome = {.model_objective = INFINITY, .model_bound = -INFINITY}};
  for (int i = 0; i < PLIM_SPACE_SEARCHES; i++) w.portfolio.events[i] = w.known;
  plim_status status = plim_space_request_make(ctx, graph, platform, options, &w.request);
  if (status == PLIM_OK) status = find_plan(&w);
  if (outcome && (status == PLIM_OK || status == PLIM_ENOFIT)) *outcome = w.outcome;
  if (status == PLIM_OK) {
    *out = w.plan;
    w.plan = NULL;
  }
  plim_space_plan_free(w.plan);
  plim_space_program_free(&w.program);
  plim_space_portfolio_free(&w.portfolio);
  plim_space_events_free(&w.known);
  plim_space_events_free(&w.first);
  plim_space_request_free(&w.request);
  return status;
}

plim_status plim_space_plan_make(plim_context *ctx, const plim_graph *graph, const plim_platform *platform,
                                 const plim_space_options *options, plim_space_outcome *outcome,
                                 plim_space_plan **out) {
  plim_space_options with_kept;
  plim_space_kept kept;
  plim_space_plan *plan = NULL;
  PLIM_TRY(plim_check_options(ctx, "plim_space_options", options->struct_bytes, sizeof *options));
  if (!options->front_folder) return make_plan(ctx, graph, platform, options, outcome, out);
  PLIM_TRY(plim_space_kept_open(graph, platform, options, &kept));
  with_kept = *options;
  with_kept.known = kept.known;
  with_kept.n_known = kept.n_known;
  plim_status status = make_plan(ctx, graph, platform, &with_kept, outcome, &plan);
  if (status == PLIM_OK) status = plim_space_kept_save(&kept, plan);
  plim_space_kept_close(&kept);
  if (status != PLIM_OK) {
    plim_space_plan_free(plan);
    return status;
  }
  *out = plan;
  return PLIM_OK;
}

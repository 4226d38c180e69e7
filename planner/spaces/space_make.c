/* The planners over spaces. Who calls whom:
 *
 *   plim_space_plan_make: with a folder, reads plans of earlier calls, and keeps this one (space_kept.c)
 *   -> answer_request         makes the request (space_request.c), and frees all that was made for it
 *      -> find_plan
 *         -> try_keep_all     every op once on the only device: where that fits nothing is better
 *         -> bound_all        what no plan is below (bound/)
 *         -> try_known        the known plan that is best here: a start (search/space_known.c)
 *         -> search_portfolio
 *            -> try_first     runs of a plan of one arena: a start (space_first.c)
 *            -> plim_space_portfolio_search, the searches (space_portfolio.c)
 *         -> run_program      for a planner that has one: the program of its class (space_program.c)
 *         -> lower_found      the best of program, searches and known plans is the plan, which the checker proves
 *         -> refuse           there is none: what larger budgets do (search/space_smallest.c, space_refusal.c) */
#include "planner/spaces/space_make.h"

#include <math.h>

#include "planner/spaces/bound/space_bound.h"
#include "planner/spaces/space_make_internal.h"
#include "planner/spaces/spaces_tuning.h"
#include "runtime/base/effort.h"
#include "runtime/base/integers.h"

typedef struct plan_work {
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
} plan_work;

/* Every op once, in program order: where one device has room for that, nothing is better. */
static plim_status try_keep_all(plan_work *work) {
  const plim_space_request *request = &work->request;
  const plim_platform *platform = request->problem->platform;
  plim_space_events events = {.ctx = request->ctx};
  plim_space_plan *plan = NULL;
  if (platform->n_devices != 1) return PLIM_OK;
  for (int32_t o = 0; o < request->problem->n; o++) plim_space_events_add(&events, PLIM_SPACE_RUN, o, 0);
  plim_status status = events.status;
  if (status == PLIM_OK) status = plim_space_plan_of(request, &events, plim_space_keep_all(request), 1, &plan);
  plim_space_events_free(&events);
  if (status != PLIM_OK) return status;
  const int32_t space = platform->device[0].space;
  if (plan->space[space].peak_bytes > request->budget[space] || plan->makespan_ns > request->model.deadline_ns) {
    plim_space_plan_free(plan);
    return PLIM_OK;
  }
  const double value = plim_space_plan_value(plan);
  work->outcome = (plim_space_outcome){.model_objective = value, .model_bound = value};
  work->plan = plan;
  return PLIM_OK;
}

/* ---- known plans, and the search ---- */

/* Rounds of a search that is not told their number. All rounds together look at a fixed number of events. On a small
 * graph a round takes fewer decisions too, each of which looks at the events: there are more rounds by that factor. */
static int64_t usual_rounds(const plim_space_request *request) {
  const int64_t size = (int64_t)request->problem->n + 10, small = spaces_tuning.program.small_nodes;
  if (!request->planner->searches) return spaces_tuning.program.events_before / size;
  const int64_t rounds = spaces_tuning.program.events_alone / size;
  const int64_t more = size < small ? rounds * small / size : rounds;
  return more < spaces_tuning.program.rounds_max ? more : spaces_tuning.program.rounds_max;
}

static plim_space_search_options search_options(const plan_work *work) {
  const plim_space_request *request = &work->request;
  const int searches = request->planner->searches;
  return (plim_space_search_options){
      .objective = request->model.objective,
      .page = request->model.page,
      .recompute = request->model.recompute,
      .place = request->model.place,
      .budget = request->budget,
      .deadline_ns = request->model.deadline_ns,
      .deadline_on_runs = request->model.model_class == PLIM_SPACE_POET,
      .bound = work->least,
      .keep_all = plim_space_keep_all(request),
      .n_starts = work->n_starts,
      .start = work->start,
      .rounds = searches && request->options->iterations > 0 ? request->options->iterations : usual_rounds(request)};
}

static plim_status try_known(plan_work *work) {
  const plim_space_search_options asked = search_options(work);
  const plim_space_options *o = work->request.options;
  PLIM_TRY(plim_space_known_best(work->request.problem, &asked, plim_space_joins(&work->request), o->n_known, o->known,
                                 &work->known_value, &work->known));
  if (work->known_value < INFINITY) work->start[work->n_starts++] = &work->known;
  return PLIM_OK;
}

static plim_status try_first(plan_work *work) {
  const plim_space_request *request = &work->request;
  const plim_space_search_options asked = search_options(work);
  if (request->planner->searches)
    PLIM_TRY(plim_space_first(request->problem, &asked, request->options, spaces_tuning.first.percent, &work->first));
  if (work->first.n > 0) work->start[work->n_starts++] = &work->first;
  return PLIM_OK;
}

static plim_status bound_all(plan_work *work) {
  const plim_space_request *request = &work->request;
  const plim_space_search_options asked = search_options(work);
  double bound = 0;
  int64_t part = plim_effort_share(request->options->time_limit_ns, spaces_tuning.program.bound_parts);
  int64_t outer = plim_effort_begin(request->ctx, plim_effort_deadline_of(plim_now_ns(), part));
  PLIM_TRY(plim_effort_end(request->ctx, outer, plim_space_bound(request->problem, &asked, &bound)));
  work->least = fmax(work->least, bound);
  return PLIM_OK;
}

/* Greedy covering and local search. Where a program comes after them they get a part of the time. Otherwise they get
 * all but the part that a refusal needs. However short the limit is, they get the time for a small graph. */
static plim_status search_portfolio(plan_work *work) {
  const plim_space_request *request = &work->request;
  const int64_t limit_ns = request->options->time_limit_ns;
  const int64_t share_ns = request->planner->searches ? limit_ns - limit_ns / spaces_tuning.program.refusal_parts
                                                      : plim_effort_share(limit_ns, spaces_tuning.program.search_parts);
  const int64_t deadline_ns = plim_effort_deadline_of(request->started_ns, share_ns);
  const int64_t min_ns = plim_now_ns() + spaces_tuning.program.search_ns_min;
  int64_t outer = plim_effort_begin(request->ctx, plim_integers_larger(deadline_ns, min_ns));
  plim_status status = try_first(work);
  const plim_space_search_options asked = search_options(work);
  if (status == PLIM_OK) {
    status = plim_space_portfolio_search(request->problem, &asked, plim_space_least(request), &work->portfolio);
  }
  return plim_effort_end(request->ctx, outer, status);
}

/* ---- the program, and the best plan ---- */

static plim_status run_program(plan_work *work) {
  const double best = work->portfolio.best.fits ? work->portfolio.best.value : INFINITY;
  PLIM_TRY(plim_space_program_open(&work->request, work->least, &work->program));
  plim_status status = plim_space_program_solve(&work->program, best);
  const int has_other = work->portfolio.best.fits || work->known_value < INFINITY;
  if (status == PLIM_ECANCEL && has_other) status = PLIM_OK; /* what was found before a cancel counts */
  PLIM_TRY(status);
  work->outcome = work->program.outcome;
  work->plan = work->program.plan;
  work->program.plan = NULL;
  return PLIM_OK;
}

/* The plan of a sequence that was found without the program becomes the plan, if it is better. */
static plim_status keep_if_better(plan_work *work, plim_space_events *events, double value) {
  const int programmed = work->program.request != NULL;
  const double bound = programmed ? plim_space_program_bound(&work->program) : work->least;
  const int proved = programmed && plim_space_program_proves(&work->program, value);
  plim_space_plan *plan = NULL;
  PLIM_TRY(plim_space_plan_of(&work->request, events, bound, proved, &plan));
  if (work->plan && plim_space_plan_value(work->plan) <= plim_space_plan_value(plan)) {
    plim_space_plan_free(plan);
    return PLIM_OK;
  }
  plim_space_plan_free(work->plan);
  work->plan = plan;
  return PLIM_OK;
}

/* Copies that are joined may put one sequence before another, so all that were found are lowered. */
static plim_status lower_found(plan_work *work) {
  for (int32_t i = 0; i < PLIM_SPACE_SEARCHES; i++) {
    const plim_space_found *found = &work->portfolio.found[i];
    if (found->fits) PLIM_TRY(keep_if_better(work, &work->portfolio.events[i], found->value));
  }
  return work->known_value < INFINITY ? keep_if_better(work, &work->known, work->known_value) : PLIM_OK;
}

/* ---- refusals ---- */

/* What program or search say of larger budgets and later deadlines. */
static plim_status refuse_with(plan_work *work, int by_program) {
  const plim_space_request *request = &work->request;
  const plim_space_search_options asked = search_options(work);
  int64_t outer =
      plim_effort_begin(request->ctx, plim_effort_deadline_of(request->started_ns, request->options->time_limit_ns));
  const plim_status status = by_program ? plim_space_refuse(request, work->program.solver)
                                        : plim_space_search_refuse(request->problem, &asked, &work->outcome.cut_short);
  return plim_effort_end(request->ctx, outer, status);
}

static plim_status refuse(plan_work *work) {
  const plim_space_request *request = &work->request;
  if (plim_context_cancelled(request->ctx)) return plim_fail(request->ctx, PLIM_ECANCEL, "planning was cancelled");
  plim_status status = PLIM_OK;
  /* the first program may have a point above budgets or deadline */
  if (request->planner->searches || (work->program.had_point && work->program.ended)) {
    status = refuse_with(work, 0);
  } else if (work->program.ended) {
    status = refuse_with(work, 1);
  }
  if (status != PLIM_OK) return status;
  work->outcome.cut_short = 1;
  return plim_fail(request->ctx, PLIM_ENOFIT,
                   "planner %s found no plan within the effort that it had, which does not say that there is none",
                   request->planner->name);
}

static plim_status find_plan(plan_work *work) {
  const plim_graph *graph = work->request.problem->graph;
  work->least = plim_space_least(&work->request);
  PLIM_TRY(try_keep_all(work));
  if (work->plan) return plim_space_plan_check(work->request.ctx, graph, work->plan);
  PLIM_TRY(bound_all(work));
  PLIM_TRY(try_known(work));
  PLIM_TRY(search_portfolio(work));
  if (!work->request.planner->searches) PLIM_TRY(run_program(work));
  PLIM_TRY(lower_found(work));
  return work->plan ? plim_space_plan_check(work->request.ctx, graph, work->plan) : refuse(work);
}

static plim_status answer_request(plim_context *ctx, const plim_graph *graph, const plim_platform *platform,
                                  const plim_space_options *options, plim_space_outcome *outcome,
                                  plim_space_plan **out) {
  plan_work work = {.known = {.ctx = ctx},
                    .first = {.ctx = ctx},
                    .known_value = INFINITY,
                    .outcome = {.model_objective = INFINITY, .model_bound = -INFINITY}};
  for (int i = 0; i < PLIM_SPACE_SEARCHES; i++) work.portfolio.events[i] = work.known;
  plim_status status = plim_space_request_make(ctx, graph, platform, options, &work.request);
  if (status == PLIM_OK) status = find_plan(&work);
  if (outcome && (status == PLIM_OK || status == PLIM_ENOFIT)) *outcome = work.outcome;
  if (status == PLIM_OK) {
    *out = work.plan;
    work.plan = NULL;
  }
  plim_space_plan_free(work.plan);
  plim_space_program_free(&work.program);
  plim_space_portfolio_free(&work.portfolio);
  plim_space_events_free(&work.known);
  plim_space_events_free(&work.first);
  plim_space_request_free(&work.request);
  return status;
}

plim_status plim_space_plan_make(plim_context *ctx, const plim_graph *graph, const plim_platform *platform,
                                 const plim_space_options *options, plim_space_outcome *outcome,
                                 plim_space_plan **out) {
  plim_space_options with_kept;
  plim_space_kept kept;
  plim_space_plan *plan = NULL;
  PLIM_TRY(plim_check_options(ctx, "plim_space_options", options->struct_bytes, sizeof *options));
  if (!options->front_folder) return answer_request(ctx, graph, platform, options, outcome, out);
  PLIM_TRY(plim_space_kept_open(graph, platform, options, &kept));
  with_kept = *options;
  with_kept.known = kept.known;
  with_kept.n_known = kept.n_known;
  plim_status status = answer_request(ctx, graph, platform, &with_kept, outcome, &plan);
  if (status == PLIM_OK) status = plim_space_kept_save(&kept, plan);
  plim_space_kept_close(&kept);
  if (status != PLIM_OK) {
    plim_space_plan_free(plan);
    return status;
  }
  *out = plan;
  return PLIM_OK;
}

/* Plans for a whole range of budgets: one planning a budget, from the smallest to the largest, each from the curve's
 * fastest plan so far and from what the cut model kept; then every budget gets the fastest plan that any of them found
 * within it. */
#include "planner/curve/curve_file.h"
#include "planner/curve/kept.h"
#include "planner/cut/cut.h"

typedef struct sweep {
  const plim_problem *problem;
  const plim_plan_options *options;
  const plim_strategy *strategy;
  plim_curve *curve;
  plim_cut_kit *kit;
  int64_t started_ns;
} sweep;

/* The options of planning number i of n: an equal share of the time that is left. */
static plim_plan_options options_of(const sweep *s, int32_t i, int32_t n, int64_t budget) {
  plim_plan_options o = *s->options;
  o.budget_bytes = budget;
  if (o.time_limit_ns > 0) {
    int64_t left = o.time_limit_ns - (plim_now_ns() - s->started_ns);
    o.time_limit_ns = left > n - i ? left / (n - i) : 1;
  }
  return o;
}

static plim_status plan_one(const sweep *s, const plim_plan_options *options) {
  plim_planning *pl = NULL;
  int32_t kept;
  PLIM_TRY(plim_planning_begin(s->problem, options, &pl));
  pl->kit = s->kit;
  plim_status status = plim_kept_run(pl, s->strategy, s->curve, &kept);
  plim_planning_end(pl);
  return status;
}

static void report(const sweep *s, int32_t done, int32_t n, int64_t budget) {
  const plim_curve_point *best = plim_curve_find(s->curve, budget);
  double all = (double)s->problem->keep_all_ns, bound = (double)plim_curve_bound(s->curve, budget);
  plim_progress progress = {.stage = "curve",
                            .done = done,
                            .total = n,
                            .elapsed_ns = plim_now_ns() - s->started_ns,
                            .best_percent = best && all > 0 ? 100 * ((double)best->time_ns - all) / all : -1,
                            .bound_percent = bound > all && all > 0 ? 100 * (bound - all) / all : 0};
  plim_context_report(s->problem->ctx, &progress);
}

static plim_status plan_all(const sweep *s, int32_t n, const int64_t *budget) {
  for (int32_t i = 0; i < n; i++) {
    plim_plan_options options = options_of(s, i, n, budget[i]);
    plim_status status = plan_one(s, &options);
    if (status == PLIM_ECANCEL) return PLIM_OK; /* the others get what is known */
    PLIM_TRY(status);
    report(s, i + 1, n, budget[i]);
  }
  return PLIM_OK;
}

static plim_status emit_one(const sweep *s, int64_t budget, plim_plan **out) {
  plim_plan_options options = *s->options;
  plim_planning *pl = NULL;
  int32_t taken = 0;
  const plim_curve_point *point = plim_curve_find(s->curve, budget);
  if (!point) return PLIM_OK;
  options.budget_bytes = budget;
  PLIM_TRY(plim_planning_begin(s->problem, &options, &pl));
  plim_status status = plim_planning_offer_point(pl, point, &taken);
  int64_t bound = plim_curve_bound(s->curve, budget);
  if (bound > pl->bound_ns && bound <= point->time_ns) pl->bound_ns = bound;
  if (status == PLIM_OK && taken) status = plim_planning_emit(pl, s->strategy->name, out);
  plim_planning_end(pl);
  return status;
}

static plim_status emit_all(const sweep *s, int32_t n, const int64_t *budget, plim_plan **plan) {
  plim_status status = PLIM_OK;
  for (int32_t i = 0; i < n; i++) plan[i] = NULL;
  for (int32_t i = 0; i < n && status == PLIM_OK; i++) status = emit_one(s, budget[i], &plan[i]);
  for (int32_t i = 0; i < n && status != PLIM_OK; i++) {
    plim_plan_free(plan[i]);
    plan[i] = NULL;
  }
  return status;
}

static plim_status run(const sweep *s, int32_t n, const int64_t *budget, plim_plan **plan) {
  plim_curve_file file;
  PLIM_TRY(plim_curve_open(s->problem, s->options, s->strategy->name, &file, s->curve));
  PLIM_TRY(plan_all(s, n, budget));
  PLIM_TRY(plim_curve_save(&file, s->curve));
  return emit_all(s, n, budget, plan);
}

plim_status plim_plan_curve(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                            const plim_plan_options *options, int32_t n, const int64_t *budget, plim_plan **plan) {
  plim_problem *problem = NULL;
  plim_plan_class plan_class;
  plim_curve curve = {.ctx = ctx};
  sweep s = {.options = options, .curve = &curve, .started_ns = plim_now_ns()};
  PLIM_TRY(plim_strategy_find(ctx, options->planner, &s.strategy));
  PLIM_TRY(plim_strategy_class(ctx, s.strategy, options->order, &plan_class));
  PLIM_TRY(plim_problem_make(ctx, graph, profile, options, plan_class, &problem));
  s.problem = problem;
  plim_status status = plim_cut_kit_new(problem, &s.kit);
  if (status == PLIM_OK) status = run(&s, n, budget, plan);
  plim_cut_kit_free(s.kit);
  plim_curve_free(&curve);
  plim_problem_free(problem);
  return status;
}

/* Plans for a whole range of budgets: one incumbent a budget, from the smallest to the largest, each from the plan
 * front's fastest plan so far and from what the cut model kept; then every budget gets the fastest plan that any of
 * them found within it. Where the range begins at the smallest budget with a plan, the search for that one leaves its
 * plan in the same plan front, so that no budget of the range is without. */
#include "planner/bound/cut.h"
#include "planner/one_arena/arena_plan.h"
#include "planner/one_arena/one_arena_internal.h"
#include "runtime/base/effort.h"

/* Which budgets, and what they get. */
typedef struct range {
  int32_t n;
  const int64_t *budget; /* [n] */
  plim_plan **plan;      /* [n] */
  plim_plan_span *span;  /* NULL: the budgets are given. Else they are chosen once the smallest is found */
} range;

typedef struct sweep {
  const range *range;
  plim_strategy_call call;
  plim_front *front;
  plim_bound_cache *bound_cache;
  int64_t started_ns;
} sweep;

static void report(const sweep *s, int32_t i) {
  const int64_t budget = s->range->budget[i];
  const plim_front_point *best = plim_front_find(s->front, budget);
  const double bound = plim_problem_percent(s->call.problem, plim_front_bound(s->front, budget));
  plim_progress progress = {.stage = "front",
                            .done = i + 1,
                            .total = s->range->n,
                            .elapsed_ns = plim_now_ns() - s->started_ns,
                            .best_percent = best ? plim_problem_percent(s->call.problem, best->time_ns) : -1,
                            .bound_percent = bound > 0 ? bound : 0};
  plim_context_report(s->call.problem->ctx, &progress);
}

static plim_status plan_one(void *user, int32_t i, int64_t time_limit_ns) {
  const sweep *s = user;
  plim_plan_options options = *s->call.options;
  plim_incumbent *inc = NULL;
  int32_t from_front;
  options.budget_bytes = s->range->budget[i];
  options.time_limit_ns = time_limit_ns;
  PLIM_TRY(plim_incumbent_begin(s->call.problem, &options, &inc));
  inc->shared.bound_cache = s->bound_cache;
  plim_status status = plim_strategy_run(inc, s->call.strategy, s->front, &from_front);
  plim_incumbent_end(inc);
  if (status == PLIM_OK) report(s, i);
  return status;
}

/* After a cancel the budgets that are left get what is known. */
static plim_status plan_all(sweep *s) {
  const plim_budget_sweep driver = {.n = s->range->n,
                                    .budget = s->range->budget,
                                    .time_limit_ns = s->call.options->time_limit_ns,
                                    .started_ns = s->started_ns,
                                    .may_skip = 1,
                                    .plan = plan_one,
                                    .user = s};
  return plim_budget_sweep_run(&driver);
}

static plim_status emit_one(const sweep *s, int64_t budget, plim_plan **out) {
  plim_plan_options options = *s->call.options;
  plim_incumbent *inc = NULL;
  int taken = 0;
  const plim_front_point *point = plim_front_find(s->front, budget);
  if (!point) return PLIM_OK;
  options.budget_bytes = budget;
  PLIM_TRY(plim_incumbent_begin(s->call.problem, &options, &inc));
  plim_status status = plim_incumbent_submit_point(inc, point, &taken);
  int64_t bound = plim_front_bound(s->front, budget);
  if (bound <= point->time_ns) plim_incumbent_raise_bound(inc, bound);
  if (status == PLIM_OK && taken) status = plim_incumbent_emit(inc, s->call.strategy->name, out);
  plim_incumbent_end(inc);
  return status;
}

static void free_all(const range *budgets) {
  for (int32_t i = 0; i < budgets->n; i++) {
    plim_plan_free(budgets->plan[i]);
    budgets->plan[i] = NULL;
  }
}

static plim_status emit_all(const sweep *s, const range *budgets) {
  plim_status status = PLIM_OK;
  for (int32_t i = 0; i < budgets->n && status == PLIM_OK; i++) {
    status = emit_one(s, budgets->budget[i], &budgets->plan[i]);
  }
  if (status != PLIM_OK) free_all(budgets);
  return status;
}

/* Evenly spaced budgets from the smallest with a plan, whose plan is in the plan front then. */
static plim_status choose_budgets(const sweep *s, plim_plan_span *span) {
  plim_plan_options options = *s->call.options;
  plim_strategy_call call = s->call;
  call.options = &options;
  options.budget_bytes = PLIM_BYTES_UNLIMITED;
  options.time_limit_ns = plim_effort_percent(options.time_limit_ns, one_arena_tuning.floor_percent);
  PLIM_TRY(plim_floor_find(&call, s->front, &span->floor, NULL));
  int64_t low = span->floor.smallest_bytes, width = span->high_bytes > low ? span->high_bytes - low : 0;
  int64_t distances = span->n > 1 ? span->n - 1 : 1;
  for (int32_t i = 0; i < span->n; i++) {
    /* width / distances * i would lose what the division drops; the product of two ints and the rest cannot overflow */
    span->budget[i] = low + width / distances * i + width % distances * i / distances;
  }
  return PLIM_OK;
}

static plim_status plan_and_emit(void *user, plim_front *front) {
  sweep *s = user;
  const range *budgets = s->range;
  s->front = front;
  if (budgets->span) PLIM_TRY(choose_budgets(s, budgets->span));
  PLIM_TRY(plan_all(s));
  return emit_all(s, budgets);
}

static plim_status plan_range(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                              const plim_plan_options *options, const range *budgets) {
  sweep s = {.range = budgets, .started_ns = plim_now_ns()};
  for (int32_t i = 0; i < budgets->n; i++) budgets->plan[i] = NULL;
  PLIM_TRY(plim_strategy_begin(ctx, graph, profile, options, &s.call));
  int64_t outer_ns = plim_effort_begin(ctx, plim_plan_task_last_moment(options));
  plim_status status = plim_bound_cache_new(s.call.problem, &s.bound_cache);
  if (status == PLIM_OK) status = plim_strategy_with_front(&s.call, plan_and_emit, &s);
  status = plim_arena_effort_end(ctx, outer_ns, status);
  if (status != PLIM_OK) free_all(budgets); /* the plan front could not be saved */
  plim_bound_cache_free(s.bound_cache);
  plim_strategy_end(&s.call);
  return status;
}

plim_status plim_arena_front(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                             const plim_plan_options *options, int32_t n, const int64_t *budget, plim_plan **plan) {
  const range budgets = {.n = n, .budget = budget, .plan = plan};
  return plan_range(ctx, graph, profile, options, &budgets);
}

plim_status plim_arena_range(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                             const plim_plan_options *options, plim_plan_span *span) {
  const range budgets = {.n = span->n, .budget = span->budget, .plan = span->plan, .span = span};
  return plan_range(ctx, graph, profile, options, &budgets);
}

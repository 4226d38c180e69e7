/* From graph, profile and budget to a checked plan of one arena. Four things happen:
 *   1. plim_problem_make      (core/problem.c)             items, rules, choices of variants
 *   2. plim_strategy_run      (strategies/strategy_run.c)  a strategy submits schedules; the incumbent keeps the best
 *   3. plim_incumbent_emit    (core/incumbent.c)           the best as a plan, which the checker accepts
 *   4. plim_refuse            (refuse.c)                   in place of 3 where nothing fits
 * With options->front_folder, the plan front on disk is read before and written after. */
#include "planner/one_arena/arena_plan.h"

#include "planner/one_arena/one_arena_internal.h"
#include "planner/strategies/strategy.h"
#include "runtime/base/effort.h"
#include "runtime/base/integers.h"

plim_status plim_arena_effort_end(plim_context *ctx, int64_t outer_ns, plim_status status) {
  const plim_status outer = plim_effort_end(ctx, outer_ns, status);
  return status == PLIM_ECANCEL && outer == PLIM_OK ? plim_fail(ctx, PLIM_ENOFIT, "no plan was found in time") : outer;
}

/* A cancel ends it only where nothing was found. */
static plim_status end_strategy(const plim_incumbent *inc, plim_status status) {
  plim_context *ctx = inc->problem->ctx;
  int by_caller = plim_context_cancelled(ctx); /* else a deadline ended the strategy */
  if (status == PLIM_ECANCEL && (inc->has_best || !by_caller)) return PLIM_OK;
  if (status == PLIM_ECANCEL && inc->budget_bytes < INT64_MAX) {
    return plim_fail(ctx, status, "planning was cancelled before a plan within %lld bytes was found",
                     (long long)inc->budget_bytes);
  }
  if (status == PLIM_ECANCEL) return plim_fail(ctx, status, "planning was cancelled before a plan was found");
  return status;
}

/* The strategy ended just above the budget: look for fewest bytes as plim_plan_smallest does, so that the budget that
 * it names has a plan. */
static plim_status find_fewest(plim_incumbent *inc, const plim_strategy_task *task, plim_front *front) {
  const int64_t near_bytes =
      plim_integers_add_capped(inc->budget_bytes, inc->budget_bytes / one_arena_tuning.near_part);
  const plim_child child = {.min_memory = 1, .time_limit_ns = plim_incumbent_left_ns(inc)};
  plim_strategy_task left = *task; /* in the time that is left */
  plim_incumbent *fewest = NULL;
  plim_plan_floor floor = {.keep_all_bytes = 0};
  if (inc->options->brief || plim_incumbent_is_out_of_time(inc) || inc->least_bytes > near_bytes) return PLIM_OK;
  PLIM_TRY(plim_incumbent_child(inc, &child, &fewest));
  left.options = fewest->options;
  return plim_incumbent_join(inc, fewest, plim_floor_search(&left, front, &floor, fewest));
}

/* A task for one plan, and where its answer goes. */
typedef struct request {
  plim_strategy_task task;
  plim_plan_result *out;
} request;

/* The work of one call (plim_front_work). `front` NULL: none. */
static plim_status make_plan(void *user, plim_front *front) {
  const request *r = user;
  const plim_strategy_task *task = &r->task;
  plim_incumbent *inc = NULL;
  plim_plan_result made = {.plan = NULL};
  plim_status status;
  PLIM_TRY(plim_incumbent_begin(task->problem, task->options, &inc));
  status = plim_strategy_run(inc, task->strategy, front, &made.from_front);
  status = end_strategy(inc, status);
  if (status == PLIM_OK && !inc->has_best) status = plim_incumbent_submit_smallest(inc, front);
  if (status == PLIM_OK && !inc->has_best) status = end_strategy(inc, find_fewest(inc, task, front));
  if (status == PLIM_OK && !inc->has_best) status = plim_refuse(inc, task->strategy->name, &made.floor);
  if (status == PLIM_OK) status = plim_incumbent_emit(inc, task->strategy->name, &made.plan);
  plim_incumbent_end(inc);
  if (status == PLIM_OK || status == PLIM_ENOFIT) *r->out = made;
  return status;
}

static plim_status make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                        const plim_plan_options *options, plim_plan_result *out) {
  plim_plan_result made = {.plan = NULL};
  request r = {.out = &made};
  PLIM_TRY(plim_strategy_begin(ctx, graph, profile, options, &r.task));
  int through_front = options->front_folder && options->budget_bytes < INT64_MAX && !options->brief;
  plim_status status = through_front ? plim_strategy_with_front(&r.task, make_plan, &r) : make_plan(&r, NULL);
  plim_strategy_end(&r.task);
  if (status == PLIM_OK || status == PLIM_ENOFIT) {
    *out = made;
  } else {
    plim_plan_free(made.plan); /* the plan front could not be saved */
  }
  return status;
}

plim_status plim_arena_plan_search(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                   const plim_plan_options *options, plim_plan_result *out) {
  int64_t outer_ns = plim_effort_begin(ctx, plim_incumbent_last_moment(options));
  const plim_status made = make(ctx, graph, profile, options, out);
  const plim_status status = plim_arena_effort_end(ctx, outer_ns, made);
  if (made == PLIM_ECANCEL && status == PLIM_ENOFIT) { /* its floor is to be had at once */
    plim_plan_result late = {.plan = NULL};
    PLIM_TRY(plim_arena_bound(ctx, graph, profile, options, &late.floor));
    *out = late;
  }
  return status;
}

plim_status plim_arena_plan_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                 const plim_plan_options *options, plim_plan **out) {
  plim_plan_result made = {.plan = NULL};
  PLIM_TRY(plim_arena_plan_search(ctx, graph, profile, options, &made));
  *out = made.plan;
  return PLIM_OK;
}

/* A plan by the options' strategy, without the plan front. `enough_bytes`, `known_ns`: see plim_incumbent_accept. */
static plim_status make_base(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                             const plim_plan_options *options, int64_t enough_bytes, int64_t known_ns,
                             plim_plan **out) {
  plim_strategy_task task = {0};
  plim_incumbent *inc = NULL;
  plim_status status;
  int32_t from_front;
  PLIM_TRY_OR_DONE(plim_strategy_begin(ctx, graph, profile, options, &task));
  PLIM_TRY_OR_DONE(plim_incumbent_begin(task.problem, options, &inc));
  plim_incumbent_accept(inc, enough_bytes, known_ns);
  PLIM_TRY_OR_DONE(end_strategy(inc, plim_strategy_run(inc, task.strategy, NULL, &from_front)));
  if (!inc->has_best) {
    status = plim_fail(ctx, PLIM_ENOFIT, "no plan within %lld bytes was found", (long long)inc->budget_bytes);
    goto done;
  }
  PLIM_TRY_OR_DONE(plim_incumbent_emit(inc, task.strategy->name, out));
done:
  plim_incumbent_end(inc);
  plim_strategy_end(&task);
  return status;
}

plim_status plim_arena_once(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                            const plim_plan_options *options, plim_plan **out) {
  plim_plan_options once = *options;
  int64_t outer_ns = plim_effort_begin(ctx, plim_incumbent_last_moment(options));
  int64_t enough_bytes = options->budget_bytes < INT64_MAX ? options->budget_bytes : 0;
  once.budget_bytes = INT64_MAX;
  once.planner = "keep-all";
  plim_status status = make_base(ctx, graph, profile, &once, enough_bytes, INT64_MAX, out);
  return plim_arena_effort_end(ctx, outer_ns, status);
}

plim_status plim_arena_faster(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                              const plim_plan_options *options, int64_t known_ns, plim_plan **out) {
  int64_t outer_ns = plim_effort_begin(ctx, plim_incumbent_last_moment(options));
  plim_status status = make_base(ctx, graph, profile, options, 0, known_ns, out);
  return plim_arena_effort_end(ctx, outer_ns, status);
}

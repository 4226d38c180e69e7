/* From graph, profile and budget to a checked plan of one arena. Who calls whom:
 *
 *   plim_arena_plan_search: the time limit; where it ends all with nothing found, the bound of plim_arena_bound
 *   -> make_through_front: problem and strategy of the options; the plan front of options->front_folder on disk
 *      -> plan_or_refuse: one planning call
 *         -> plim_strategy_run              a strategy submits schedules, the incumbent keeps the best (strategies/)
 *         -> plim_incumbent_submit_smallest nothing fits: the plan of fewest bytes that the front has (core/)
 *         -> find_and_improve               still nothing: the search of floor.c, and from its plan to a faster one
 *         -> plim_refuse                    still nothing: the sentence of PLIM_ENOFIT (refuse.c)
 *         -> plim_incumbent_emit            the best as a plan, which the checker accepts (core/)
 *
 *   plim_arena_once, plim_arena_faster: for planners that make many plans and explain none
 *   -> plan_by_strategy: plim_strategy_run and plim_incumbent_emit alone */
#include "planner/one_arena/arena_plan.h"

#include "planner/core/problem.h"
#include "planner/one_arena/one_arena_internal.h"
#include "planner/strategies/strategy.h"
#include "runtime/base/effort.h"
#include "runtime/base/integers.h"

plim_status plim_arena_effort_end(plim_context *ctx, int64_t outer_ns, plim_status status) {
  const plim_status outer = plim_effort_end(ctx, outer_ns, status);
  return status == PLIM_ECANCEL && outer == PLIM_OK ? plim_fail(ctx, PLIM_ENOFIT, "no plan was found in time") : outer;
}

/* What the status of a strategy means for the call: a cancel ends it only where nothing was found. */
static plim_status status_of_strategy(const plim_incumbent *inc, plim_status status) {
  plim_context *ctx = inc->problem->ctx;
  int by_caller = plim_context_cancelled(ctx); /* else a deadline ended the strategy */
  if (status == PLIM_ECANCEL && (inc->has_best || !by_caller)) return PLIM_OK;
  if (status == PLIM_ECANCEL && inc->task.budget_bytes < PLIM_BYTES_UNLIMITED) {
    return plim_fail(ctx, status, "planning was cancelled before a plan within %lld bytes was found",
                     (long long)inc->task.budget_bytes);
  }
  if (status == PLIM_ECANCEL) return plim_fail(ctx, status, "planning was cancelled before a plan was found");
  return status;
}

/* A call for one plan, and where its answer goes. */
typedef struct request {
  plim_strategy_call call;
  int32_t near_only; /* 1: fewest bytes are looked for only where the strategy ended near the budget */
  plim_plan_result *out;
} request;

/* May the search for fewest bytes find a plan within the budget, and is it wanted? */
static int wants_fewest(const plim_incumbent *inc, int near_only) {
  const int64_t budget_bytes = inc->task.budget_bytes;
  const int64_t near_bytes = plim_integers_add_capped(budget_bytes, budget_bytes / one_arena_tuning.near_part);
  int32_t op;
  int is_proved = inc->bound_ns == PLIM_TIME_INFINITE || budget_bytes < plim_bound_bytes(inc->problem, &op);
  return !is_proved && !plim_incumbent_is_out_of_time(inc) && (!near_only || inc->least_bytes <= near_bytes);
}

/* The strategy has found nothing: look for fewest bytes by the same calls as plim_plan_smallest. Without a time limit
 * they end with the same plan, so that the budget that it names has a plan. */
static plim_status find_fewest(plim_incumbent *inc, const request *r, plim_front *front) {
  const plim_child child = {.min_memory = 1, .time_limit_ns = plim_plan_task_left_ns(&inc->task)};
  plim_strategy_call left = r->call; /* in the time that is left */
  plim_incumbent *fewest = NULL;
  plim_plan_floor floor = {.keep_all_bytes = 0};
  if (!wants_fewest(inc, r->near_only)) return PLIM_OK;
  PLIM_TRY(plim_incumbent_child(inc, &child, &fewest));
  left.options = fewest->task.options;
  return plim_incumbent_join(inc, fewest, plim_floor_search(fewest, &left, front, &floor));
}

/* A plan that only has few bytes becomes a faster one. */
static plim_status find_and_improve(plim_incumbent *inc, const request *r, plim_front *front) {
  PLIM_TRY(status_of_strategy(inc, find_fewest(inc, r, front)));
  if (!inc->has_best || !r->call.strategy->improve) return PLIM_OK;
  return status_of_strategy(inc, r->call.strategy->improve(inc));
}

/* A plim_front_work: the plan of the request, or PLIM_ENOFIT with a sentence that says why. `front` NULL: none. */
static plim_status plan_or_refuse(void *user, plim_front *front) {
  const request *r = user;
  const plim_strategy_call *call = &r->call;
  plim_incumbent *inc = NULL;
  plim_plan_result made = {.plan = NULL};
  plim_status status;
  PLIM_TRY(plim_incumbent_begin(call->problem, call->options, &inc));
  status = plim_strategy_run(inc, call->strategy, front, &made.from_front);
  status = status_of_strategy(inc, status);
  if (status == PLIM_OK && !inc->has_best) status = plim_incumbent_submit_smallest(inc, front);
  if (status == PLIM_OK && !inc->has_best) status = find_and_improve(inc, r, front);
  if (status == PLIM_OK && !inc->has_best) status = plim_refuse(inc, call->strategy->name, &made.floor);
  if (status == PLIM_OK) status = plim_incumbent_emit(inc, call->strategy->name, &made.plan);
  plim_incumbent_end(inc);
  if (status == PLIM_OK || status == PLIM_ENOFIT) *r->out = made;
  return status;
}

static plim_status make_through_front(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                      const plim_plan_options *options, int near_only, plim_plan_result *out) {
  plim_plan_result made = {.plan = NULL};
  request r = {.near_only = near_only, .out = &made};
  PLIM_TRY(plim_strategy_begin(ctx, graph, profile, options, &r.call));
  int through_front = options->front_folder && options->budget_bytes < PLIM_BYTES_UNLIMITED && !options->brief;
  plim_status status = through_front ? plim_strategy_with_front(&r.call, plan_or_refuse, &r) : plan_or_refuse(&r, NULL);
  plim_strategy_end(&r.call);
  if (status == PLIM_OK || status == PLIM_ENOFIT) {
    *out = made;
  } else {
    plim_plan_free(made.plan); /* the plan front could not be saved */
  }
  return status;
}

static plim_status search_in_time(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                  const plim_plan_options *options, int near_only, plim_plan_result *out) {
  int64_t outer_ns = plim_effort_begin(ctx, plim_plan_task_last_moment(options));
  const plim_status made = make_through_front(ctx, graph, profile, options, near_only, out);
  const plim_status status = plim_arena_effort_end(ctx, outer_ns, made);
  if (made == PLIM_ECANCEL && status == PLIM_ENOFIT) { /* its floor is to be had at once */
    plim_plan_result late = {.plan = NULL};
    PLIM_TRY(plim_arena_bound(ctx, graph, profile, options, &late.floor));
    *out = late;
  }
  return status;
}

plim_status plim_arena_plan_search(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                   const plim_plan_options *options, plim_plan_result *out) {
  return search_in_time(ctx, graph, profile, options, 0, out);
}

plim_status plim_arena_plan_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                 const plim_plan_options *options, plim_plan **out) {
  plim_plan_result made = {.plan = NULL};
  PLIM_TRY(search_in_time(ctx, graph, profile, options, 1, &made));
  *out = made.plan;
  return PLIM_OK;
}

/* A plan by the options' strategy alone. `enough_bytes`, `known_ns`: see plim_plan_task. */
static plim_status plan_by_strategy(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                    const plim_plan_options *options, int64_t enough_bytes, int64_t known_ns,
                                    plim_plan **out) {
  plim_strategy_call call = {0};
  plim_incumbent *inc = NULL;
  plim_status status;
  int32_t from_front;
  PLIM_TRY_OR_DONE(plim_strategy_begin(ctx, graph, profile, options, &call));
  PLIM_TRY_OR_DONE(plim_incumbent_begin(call.problem, options, &inc));
  inc->task.enough_bytes = enough_bytes;
  inc->task.known_ns = known_ns;
  PLIM_TRY_OR_DONE(status_of_strategy(inc, plim_strategy_run(inc, call.strategy, NULL, &from_front)));
  if (!inc->has_best) {
    status = plim_fail(ctx, PLIM_ENOFIT, "no plan within %lld bytes was found", (long long)inc->task.budget_bytes);
    goto done;
  }
  PLIM_TRY_OR_DONE(plim_incumbent_emit(inc, call.strategy->name, out));
done:
  plim_incumbent_end(inc);
  plim_strategy_end(&call);
  return status;
}

plim_status plim_arena_once(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                            const plim_plan_options *options, plim_plan **out) {
  plim_plan_options once = *options;
  int64_t outer_ns = plim_effort_begin(ctx, plim_plan_task_last_moment(options));
  int64_t enough_bytes = options->budget_bytes < PLIM_BYTES_UNLIMITED ? options->budget_bytes : 0;
  once.budget_bytes = PLIM_BYTES_UNLIMITED;
  once.planner = "keep-all";
  plim_status status = plan_by_strategy(ctx, graph, profile, &once, enough_bytes, PLIM_TIME_INFINITE, out);
  return plim_arena_effort_end(ctx, outer_ns, status);
}

plim_status plim_arena_faster(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                              const plim_plan_options *options, int64_t known_ns, plim_plan **out) {
  int64_t outer_ns = plim_effort_begin(ctx, plim_plan_task_last_moment(options));
  plim_status status = plan_by_strategy(ctx, graph, profile, options, 0, known_ns, out);
  return plim_arena_effort_end(ctx, outer_ns, status);
}

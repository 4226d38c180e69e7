/* The smallest budget with a checked plan, what is proven about it, and whether a budget is enough.
 *
 * A strategy looks for the fewest bytes, from the order that has the smallest arena without recomputation. The arena of
 * what it finds is the smallest budget. The bound below it is that of planner/core/byte_bound.c. Where a budget was
 * asked for that lies between the two, buffers are named that cannot lie together in it (refuse.c). */
#include "planner/one_arena/one_arena_internal.h"

#include "planner/core/problem.h"
#include "planner/one_arena/arena_plan.h"
#include "planner/search/searches.h"
#include "runtime/base/effort.h"

/* The order of the smallest arena without recomputation. Every strategy that begins there would look for it again. */
static plim_status find_keep_all(const plim_strategy_call *call, plim_schedule *out, int64_t *bytes) {
  plim_plan_options options = *call->options;
  plim_incumbent *inc = NULL;
  options.budget_bytes = PLIM_BYTES_UNLIMITED;
  plim_status status = plim_incumbent_begin(call->problem, &options, &inc);
  if (status == PLIM_OK) status = plim_incumbent_best_so_far(inc, plim_keep_all_run(inc));
  if (status == PLIM_OK) status = plim_schedule_copy(out, &inc->best);
  if (status == PLIM_OK) *bytes = inc->best_bytes;
  plim_incumbent_end(inc);
  return status;
}

plim_status plim_floor_search(plim_incumbent *inc, const plim_strategy_call *call, plim_front *front,
                              plim_plan_floor *floor) {
  plim_schedule keep_all = {.ctx = call->problem->ctx};
  plim_status status;
  const int64_t started_ns = plim_now_ns();
  PLIM_TRY_OR_DONE(find_keep_all(call, &keep_all, &floor->keep_all_bytes));
  inc->task.min_memory = 1;
  inc->task.target_bytes = 0;        /* and not the parent's budget, which a child has */
  inc->task.started_ns = started_ns; /* one limit for both */
  inc->shared.keep_all = &keep_all;
  status = plim_incumbent_best_so_far(inc, plim_strategy_run(inc, call->strategy, front, &floor->from_front));
  inc->shared.keep_all = NULL;
done:
  plim_schedule_free(&keep_all);
  return status;
}

plim_status plim_floor_find(const plim_strategy_call *call, plim_front *front, plim_plan_floor *out, plim_plan **plan) {
  const plim_problem *problem = call->problem;
  plim_plan_floor floor = {.fixed_numerics = problem->fixed_numerics};
  plim_plan_options free_options = *call->options;
  plim_incumbent *inc = NULL;
  plim_plan *made = NULL; /* the checker has a look, whether the plan is wanted or not: it may be a kept one */
  const int64_t wanted_bytes = call->options->budget_bytes;
  plim_status status;
  free_options.budget_bytes = PLIM_BYTES_UNLIMITED;
  PLIM_TRY_OR_DONE(plim_incumbent_begin(problem, &free_options, &inc));
  PLIM_TRY_OR_DONE(plim_floor_search(inc, call, front, &floor));
  floor.cut_short = plim_incumbent_is_out_of_time(inc);
  inc->task.budget_bytes = inc->best_bytes; /* the best is a plan for that budget */
  floor.smallest_bytes = inc->task.budget_bytes;
  plim_bound_floor(problem, &floor);
  if (wanted_bytes >= floor.bound_bytes && wanted_bytes < floor.smallest_bytes) {
    PLIM_TRY_OR_DONE(plim_refusal_conflict(inc, &inc->best, floor.smallest_bytes, wanted_bytes, floor.conflict));
  }
  PLIM_TRY_OR_DONE(plim_incumbent_emit(inc, call->strategy->name, &made));
  *out = floor;
  if (plan) {
    *plan = made;
    made = NULL;
  }
done:
  if (status == PLIM_ECANCEL) {
    status = plim_fail(problem->ctx, status, "cancelled while the smallest budget was looked for");
  }
  plim_plan_free(made);
  plim_incumbent_end(inc);
  return status;
}

/* A call for the smallest budget, and where its answer goes. */
typedef struct request {
  plim_strategy_call call;
  plim_plan_floor *out;
  plim_plan **plan; /* NULL: not wanted */
} request;

static plim_status find_smallest(void *user, plim_front *front) {
  const request *r = user;
  return plim_floor_find(&r->call, front, r->out, r->plan);
}

plim_status plim_arena_smallest(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                const plim_plan_options *options, plim_plan_floor *out, plim_plan **plan) {
  plim_plan_floor floor = {.keep_all_bytes = 0};
  plim_plan *made = NULL;
  request r = {.out = &floor, .plan = plan ? &made : NULL};
  PLIM_TRY(plim_strategy_begin(ctx, graph, profile, options, &r.call));
  int64_t outer_ns = plim_effort_begin(ctx, plim_plan_task_last_moment(options));
  plim_status status = plim_strategy_with_front(&r.call, find_smallest, &r);
  plim_strategy_end(&r.call);
  status = plim_arena_effort_end(ctx, outer_ns, status);
  if (status == PLIM_OK) *out = floor;
  if (status == PLIM_OK && plan) {
    *plan = made;
  } else {
    plim_plan_free(made); /* the plan front could not be saved */
  }
  return status;
}

plim_status plim_arena_bound(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                             const plim_plan_options *options, plim_plan_floor *out) {
  plim_strategy_call call;
  PLIM_TRY(plim_strategy_begin(ctx, graph, profile, options, &call));
  *out = (plim_plan_floor){.smallest_bytes = PLIM_BYTES_UNLIMITED, .fixed_numerics = call.problem->fixed_numerics};
  plim_bound_floor(call.problem, out);
  plim_strategy_end(&call);
  return PLIM_OK;
}

static plim_status meets_budget(const plim_strategy_call *call, int64_t budget, int *yes) {
  const plim_problem *problem = call->problem;
  plim_incumbent *inc = NULL;
  int32_t op;
  if (budget < plim_bound_bytes(problem, &op)) {
    *yes = 0;
    return PLIM_OK;
  }
  PLIM_TRY(plim_incumbent_begin(problem, call->options, &inc));
  inc->task.min_memory = inc->task.is_quick = 1;
  inc->task.target_bytes = budget;
  int64_t outer_ns = plim_effort_begin(problem->ctx, plim_plan_task_last_moment(call->options));
  plim_status status = plim_incumbent_best_so_far(inc, call->strategy->run_min_memory(inc));
  status = plim_effort_end(problem->ctx, outer_ns, status);
  if (status == PLIM_OK) *yes = inc->best_bytes <= budget;
  plim_incumbent_end(inc);
  return status;
}

plim_status plim_arena_fits(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                            const plim_plan_options *options, int *yes) {
  plim_plan_options free_options = *options;
  plim_strategy_call call;
  free_options.budget_bytes = PLIM_BYTES_UNLIMITED;
  PLIM_TRY(plim_strategy_begin(ctx, graph, profile, &free_options, &call));
  plim_status status = meets_budget(&call, options->budget_bytes, yes);
  plim_strategy_end(&call);
  return status;
}

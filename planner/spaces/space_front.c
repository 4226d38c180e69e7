/* Plans for growing budgets of one space: each search knows the plans before it, and a plan that fits another budget
 * and is better than its own is taken there too. */
#include <string.h>

#include "planner/front/front.h"
#include "planner/spaces/space_make_internal.h"
#include "planner/spaces/spaces_tuning.h"
#include "runtime/base/effort.h"

typedef struct space_front {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_platform *platform;
  plim_space_options options;
  int32_t space;                 /* whose budgets are gone over */
  double least;                  /* no plan of any budget is better */
  int64_t *budget;               /* [n_spaces] of the plan in hand */
  const plim_space_plan **known; /* [n_known] those of the caller, then those made here */
  int32_t n_known, known_capacity;
  plim_budget_sweep sweep;
  plim_space_plan **plan; /* [sweep.n] NULL: none */
} space_front;

/* The plan for one budget of the space, where one is found. Once the time is over the budgets that are left get what is
 * known. */
static plim_status plan_one(void *user, int32_t i, int64_t time_limit_ns) {
  space_front *front = user;
  plim_space_options own = front->options;
  plim_space_plan **plan = &front->plan[i];
  if (i > 0 && plim_effort_over(front->ctx, PLIM_EFFORT_LOOK)) return PLIM_ECANCEL;
  front->budget[front->space] = front->sweep.budget[i];
  own.known = front->known;
  own.n_known = front->n_known;
  own.time_limit_ns = time_limit_ns;
  plim_status status = plim_space_plan_make(front->ctx, front->graph, front->platform, &own, NULL, plan);
  if (status != PLIM_OK) return status == PLIM_ENOFIT ? PLIM_OK : status;
  front->known[front->n_known++] = *plan;
  return PLIM_OK;
}

/* The best of the plans of larger budgets that fits into budget i; NULL: none is better than its own. */
static const plim_space_plan *better_of_larger(const space_front *front, int32_t i) {
  plim_space_plan *const *plan = front->plan;
  const plim_space_plan *best = plan[i];
  for (int32_t j = i + 1; j < front->sweep.n; j++) {
    if (!plan[j] || plan[j]->space[front->space].peak_bytes > front->sweep.budget[i]) continue;
    if (!best || plim_space_plan_value(plan[j]) < plim_space_plan_value(best)) best = plan[j];
  }
  return best == plan[i] ? NULL : best;
}

/* No plan for budget i is better: what was proved of it, of larger budgets or of all. */
static double bound_at(const space_front *front, int32_t i) {
  double bound = front->least;
  for (int32_t j = i; j < front->sweep.n; j++) {
    if (front->plan[j] && front->plan[j]->bound > bound) bound = front->plan[j]->bound;
  }
  return bound;
}

/* Plan i becomes a known one, which fits into budget i. */
static plim_status take_plan(const space_front *front, int32_t i, const plim_space_plan *known) {
  const double value = plim_space_plan_value(known), bound = bound_at(front, i);
  plim_space_plan draft = *known, *own = NULL;
  plim_space_memory *space = NULL;
  PLIM_TRY(plim_allocate(front->ctx, known->n_spaces, sizeof *space, &space));
  memcpy(space, known->space, (size_t)known->n_spaces * sizeof *space);
  space[front->space].budget_bytes = front->sweep.budget[i];
  draft.space = space;
  draft.bound = bound < value ? bound : value;
  draft.proved = value <= bound;
  plim_status status = plim_space_plan_from_parts(front->ctx, &draft, &own);
  plim_release(front->ctx, space, known->n_spaces, sizeof *space);
  if (status == PLIM_OK) status = plim_space_plan_check(front->ctx, front->graph, own);
  if (status != PLIM_OK) {
    plim_space_plan_free(own);
    return status;
  }
  plim_space_plan_free(front->plan[i]);
  front->plan[i] = own;
  return PLIM_OK;
}

/* From the last budget to the first, what fits of larger ones; then back, what that found for smaller ones. */
static plim_status share_plans(const space_front *front) {
  plim_space_plan *const *plan = front->plan;
  for (int32_t i = front->sweep.n - 1; i >= 0; i--) {
    const plim_space_plan *better = better_of_larger(front, i);
    if (better) PLIM_TRY(take_plan(front, i, better));
  }
  for (int32_t i = 1; i < front->sweep.n; i++) {
    if (!plan[i - 1] || (plan[i] && plim_space_plan_value(plan[i]) <= plim_space_plan_value(plan[i - 1]))) continue;
    PLIM_TRY(take_plan(front, i, plan[i - 1]));
  }
  return PLIM_OK;
}

static plim_status find_least(space_front *front) {
  plim_space_request request;
  plim_status status = plim_space_request_make(front->ctx, front->graph, front->platform, &front->options, &request);
  if (status == PLIM_OK) front->least = plim_space_least(&request);
  plim_space_request_free(&request);
  return status;
}

static plim_status check_and_plan(space_front *front) {
  PLIM_TRY(plim_budget_sweep_check(front->ctx, front->sweep.n, front->sweep.budget));
  if (front->space < 0 || front->space >= front->platform->n_spaces) {
    return plim_fail(front->ctx, PLIM_EUSAGE, "platform %s has no space %d", front->platform->name, front->space);
  }
  const int64_t min_ns = spaces_tuning.program.search_ns_min, given_ns = front->sweep.time_limit_ns;
  const int64_t limit_ns = given_ns > 0 && given_ns < min_ns ? min_ns : given_ns;
  int64_t outer_ns = plim_effort_begin(front->ctx, plim_effort_deadline_of(front->sweep.started_ns, limit_ns));
  plim_status status = find_least(front);
  if (status == PLIM_OK) status = plim_budget_sweep_run(&front->sweep);
  PLIM_TRY(plim_effort_end(front->ctx, outer_ns, status));
  return share_plans(front);
}

plim_status plim_space_plan_front(plim_context *ctx, const plim_graph *graph, const plim_platform *platform,
                                  const plim_space_options *options, int32_t space, int32_t n, const int64_t *budget,
                                  plim_space_plan **plan) {
  space_front front = {.ctx = ctx, .graph = graph, .platform = platform, .space = space, .plan = plan};
  plim_status status;
  for (int32_t i = 0; i < n; i++) plan[i] = NULL;
  PLIM_TRY(plim_check_options(ctx, "plim_space_options", options->struct_bytes, sizeof *options));
  front.options = *options;
  front.known_capacity = options->n_known + n;
  front.sweep = (plim_budget_sweep){.n = n,
                                    .budget = budget,
                                    .time_limit_ns = options->time_limit_ns,
                                    .started_ns = plim_now_ns(),
                                    .plan = plan_one,
                                    .user = &front};
  PLIM_TRY_OR_DONE(plim_allocate(ctx, front.known_capacity, sizeof(const plim_space_plan *), &front.known));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, platform->n_spaces, sizeof *front.budget, &front.budget));
  for (int32_t s = 0; s < platform->n_spaces; s++) {
    front.budget[s] = options->budget ? options->budget[s] : platform->space[s].budget_bytes;
  }
  front.options.budget = front.budget;
  for (int32_t i = 0; i < options->n_known; i++) front.known[front.n_known++] = options->known[i];
  status = check_and_plan(&front);
done:
  for (int32_t i = 0; i < n && status != PLIM_OK; i++) {
    plim_space_plan_free(plan[i]);
    plan[i] = NULL;
  }
  plim_release(ctx, front.known, front.known_capacity, sizeof(const plim_space_plan *));
  plim_release(ctx, front.budget, platform->n_spaces, sizeof *front.budget);
  return status;
}

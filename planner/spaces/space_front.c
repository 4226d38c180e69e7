/* Plans for growing budgets of one space: each search knows the plans before it, and a plan that fits another budget
 * and is better than its own is taken there too. */
#include <string.h>

#include "planner/spaces/space_make.h"
#include "planner/spaces/spaces_tuning.h"
#include "runtime/base/effort.h"

typedef struct front {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_platform *platform;
  plim_space_options options;    /* of the plan in hand */
  int64_t *budget;               /* [n_spaces] of the plan in hand */
  const plim_space_plan **known; /* [room] those of the caller, then those made here */
  int32_t n_known, room, space;
  int64_t limit_ns, started_ns; /* of all budgets together */
} front;

/* A plan for one budget of the space; NULL: none was found. `parts` budgets share the time that is left. */
static plim_status plan_one(front *f, int64_t budget, int32_t parts, plim_space_plan **out) {
  f->budget[f->space] = budget;
  f->options.known = f->known;
  f->options.n_known = f->n_known;
  f->options.time_limit_ns = plim_effort_share(plim_effort_rest(f->limit_ns, f->started_ns), parts);
  plim_status status = plim_space_plan_make(f->ctx, f->graph, f->platform, &f->options, NULL, out);
  return status == PLIM_ENOFIT ? PLIM_OK : status;
}

/* Where the time is over, or after a cancel, the budgets that are left get what is known. */
static plim_status plan_all(front *f, int32_t n, const int64_t *budget, plim_space_plan **plan) {
  for (int32_t i = 0; i < n && (i == 0 || !plim_effort_over(f->ctx, PLIM_EFFORT_LOOK)); i++) {
    plim_status status = plan_one(f, budget[i], n - i, &plan[i]);
    if (status == PLIM_ECANCEL) return PLIM_OK;
    PLIM_TRY(status);
    if (plan[i]) f->known[f->n_known++] = plan[i];
  }
  return PLIM_OK;
}

/* The best of the plans of larger budgets that fits into budget i; NULL: none is better than its own. */
static const plim_space_plan *better_of_larger(const front *f, int32_t i, int32_t n, const int64_t *budget,
                                               plim_space_plan *const *plan) {
  const plim_space_plan *best = plan[i];
  for (int32_t j = i + 1; j < n; j++) {
    if (!plan[j] || plan[j]->space[f->space].peak_bytes > budget[i]) continue;
    if (!best || plim_space_plan_value(plan[j]) < plim_space_plan_value(best)) best = plan[j];
  }
  return best == plan[i] ? NULL : best;
}

/* No plan for budget i is better: what was proved of it, or of larger budgets. */
static double bound_at(int32_t i, int32_t n, plim_space_plan *const *plan) {
  double bound = 0;
  for (int32_t j = i; j < n; j++) {
    if (plan[j] && plan[j]->bound > bound) bound = plan[j]->bound;
  }
  return bound;
}

/* Plan i becomes a known one, which fits into budget i. */
static plim_status take_plan(const front *f, int32_t i, int32_t n, const plim_space_plan *known, int64_t budget,
                             plim_space_plan **plan) {
  const double value = plim_space_plan_value(known), bound = bound_at(i, n, plan);
  plim_space_plan draft = *known, *own = NULL;
  plim_space_memory *space = NULL;
  PLIM_TRY(plim_allocate(f->ctx, known->n_spaces, sizeof *space, &space));
  memcpy(space, known->space, (size_t)known->n_spaces * sizeof *space);
  space[f->space].budget_bytes = budget;
  draft.space = space;
  draft.bound = bound < value ? bound : value;
  draft.proved = value <= bound;
  plim_status status = plim_space_plan_from_parts(f->ctx, &draft, &own);
  plim_release(f->ctx, space, known->n_spaces, sizeof *space);
  if (status == PLIM_OK) status = plim_space_plan_check(f->ctx, f->graph, own);
  if (status != PLIM_OK) {
    plim_space_plan_free(own);
    return status;
  }
  plim_space_plan_free(plan[i]);
  plan[i] = own;
  return PLIM_OK;
}

/* From the last budget to the first, what fits of larger ones; then back, what that found for smaller ones. */
static plim_status share(const front *f, int32_t n, const int64_t *budget, plim_space_plan **plan) {
  for (int32_t i = n - 1; i >= 0; i--) {
    const plim_space_plan *better = better_of_larger(f, i, n, budget, plan);
    if (better) PLIM_TRY(take_plan(f, i, n, better, budget[i], plan));
  }
  for (int32_t i = 1; i < n; i++) {
    if (!plan[i - 1] || (plan[i] && plim_space_plan_value(plan[i]) <= plim_space_plan_value(plan[i - 1]))) continue;
    PLIM_TRY(take_plan(f, i, n, plan[i - 1], budget[i], plan));
  }
  return PLIM_OK;
}

static plim_status check_and_plan(front *f, int32_t n, const int64_t *budget, plim_space_plan **plan) {
  for (int32_t i = 1; i < n; i++) {
    if (budget[i] >= budget[i - 1]) continue;
    return plim_fail(f->ctx, PLIM_EUSAGE, "budget %d of the front, %lld bytes, is below the one before it", i,
                     (long long)budget[i]);
  }
  if (f->space < 0 || f->space >= f->platform->n_spaces) {
    return plim_fail(f->ctx, PLIM_EUSAGE, "platform %s has no space %d", f->platform->name, f->space);
  }
  const int64_t least_ns = spaces_tuning.program.search_least_ns;
  const int64_t limit_ns = f->limit_ns > 0 && f->limit_ns < least_ns ? least_ns : f->limit_ns;
  int64_t outer_ns = plim_effort_begin(f->ctx, plim_effort_deadline_of(f->started_ns, limit_ns));
  PLIM_TRY(plim_effort_end(f->ctx, outer_ns, plan_all(f, n, budget, plan)));
  return share(f, n, budget, plan);
}

plim_status plim_space_plan_front(plim_context *ctx, const plim_graph *graph, const plim_platform *platform,
                                  const plim_space_options *options, int32_t space, int32_t n, const int64_t *budget,
                                  plim_space_plan **plan) {
  front f = {.ctx = ctx, .graph = graph, .platform = platform, .space = space};
  plim_status status;
  for (int32_t i = 0; i < n; i++) plan[i] = NULL;
  PLIM_TRY(plim_check_options(ctx, "plim_space_options", options->struct_bytes, sizeof *options));
  f.options = *options;
  f.room = options->n_known + n;
  f.limit_ns = options->time_limit_ns;
  f.started_ns = plim_now_ns();
  PLIM_CHECK(plim_allocate(ctx, f.room, sizeof(const plim_space_plan *), &f.known));
  PLIM_CHECK(plim_allocate(ctx, platform->n_spaces, sizeof *f.budget, &f.budget));
  for (int32_t s = 0; s < platform->n_spaces; s++) {
    f.budget[s] = options->budget ? options->budget[s] : platform->space[s].budget_bytes;
  }
  f.options.budget = f.budget;
  for (int32_t i = 0; i < options->n_known; i++) f.known[f.n_known++] = options->known[i];
  status = check_and_plan(&f, n, budget, plan);
done:
  for (int32_t i = 0; i < n && status != PLIM_OK; i++) {
    plim_space_plan_free(plan[i]);
    plan[i] = NULL;
  }
  plim_release(ctx, f.known, f.room, sizeof(const plim_space_plan *));
  plim_release(ctx, f.budget, platform->n_spaces, sizeof *f.budget);
  return status;
}

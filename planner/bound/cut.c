/* The cut model at work: a bound on the time of every plan, and plans that its solutions suggest.
 *
 * Two models: that of the problem's class gives the bound, that of program order gives plans. The model does not see
 * the bytes that recomputing itself takes, so a plan may exceed the budget. Then the model is solved for smaller
 * budgets, until a plan fits or the work is used up. The way: plim_cut_suggest -> plim_cut_model_make (cut_model.c) ->
 * plim_cut_solve (cut_solve.c: flows in flow.c, multipliers in ascent.c, the program in lp.c, proofs in certificate.c)
 * -> plim_cut_walk (cut_walk.c: a schedule from a solution). */
#include "planner/bound/cut.h"

#include "planner/bound/bound_tuning.h"
#include "planner/bound/cut_model.h"
#include "runtime/base/effort.h"

/* A model, its solver, and a flow for walks. */
typedef struct cut_tools {
  plim_cut_model *model;
  plim_cut_solver *solver;
  plim_cut_flow *flow;
} cut_tools;

struct plim_bound_cache {
  const plim_problem *problem;
  cut_tools own, in_order; /* of the problem's class; of program order, where that is another */
};

plim_status plim_bound_cache_new(const plim_problem *p, plim_bound_cache **out) {
  PLIM_TRY(plim_allocate(p->ctx, 1, sizeof **out, out));
  **out = (plim_bound_cache){.problem = p};
  return PLIM_OK;
}

static void free_tools(cut_tools *tools) {
  plim_cut_flow_free(tools->flow);
  plim_cut_solver_free(tools->solver);
  plim_cut_model_free(tools->model);
  *tools = (cut_tools){0};
}

/* Make all three, or nothing: where the time ends before, the next budget makes the model anew. */
static plim_status make_tools(const plim_problem *p, int is_order_fixed, cut_tools *out) {
  plim_status status;
  if (out->flow) return PLIM_OK;
  PLIM_TRY_OR_DONE(plim_cut_model_make(p, is_order_fixed, &out->model));
  PLIM_TRY_OR_DONE(plim_cut_solver_new(out->model, &out->solver));
  PLIM_TRY_OR_DONE(plim_cut_flow_new(out->model, &out->flow));
done:
  if (status != PLIM_OK) free_tools(out);
  return status;
}

void plim_bound_cache_free(plim_bound_cache *bound_cache) {
  if (!bound_cache) return;
  free_tools(&bound_cache->own);
  free_tools(&bound_cache->in_order);
  plim_release(bound_cache->problem->ctx, bound_cache, 1, sizeof *bound_cache);
}

/* What the model may still use. */
typedef struct cut_allowance {
  int64_t work;        /* as in plim_cut_limits */
  int64_t deadline_ns; /* by plim_now_ns; PLIM_TIME_UNLIMITED: none */
} cut_allowance;

/* Half of it, so that the other half is left for what follows. */
static cut_allowance half_of(const cut_allowance *left) {
  cut_allowance half = {left->work / 2, left->deadline_ns};
  if (left->deadline_ns < PLIM_TIME_UNLIMITED) {
    int64_t now = plim_now_ns();
    half.deadline_ns = now + (left->deadline_ns - now) / 2;
  }
  return half;
}

static plim_cut_limits limits_of(const plim_incumbent *inc, const cut_allowance *left) {
  return (plim_cut_limits){.work = left->work,
                           .deadline_ns = left->deadline_ns,
                           .enough_ns = inc->has_best ? inc->best_ns : PLIM_TIME_INFINITE};
}

/* Raise the bound, to enough_ns at most. */
static plim_status raise_bound_to(plim_incumbent *inc, const cut_tools *tools, const cut_allowance *left,
                                  int64_t enough_ns) {
  plim_cut_limits limits = limits_of(inc, left);
  plim_cut_answer answer;
  limits.is_bound_only = 1;
  limits.enough_ns = enough_ns;
  PLIM_TRY(plim_cut_solve(tools->solver, inc->task.budget_bytes, &limits, &answer));
  plim_incumbent_raise_bound(inc, answer.bound_ns);
  return PLIM_OK;
}

static plim_status raise_bound(plim_incumbent *inc, const cut_tools *tools, const cut_allowance *left) {
  return raise_bound_to(inc, tools, left, inc->has_best ? inc->best_ns : PLIM_TIME_INFINITE);
}

/* Submit the plans that solutions suggest, for ever smaller budgets until one fits. */
static plim_status suggest(plim_incumbent *inc, const cut_tools *tools, cut_allowance left, plim_schedule *start) {
  const plim_problem *p = inc->problem;
  plim_schedule trial = {.ctx = p->ctx};
  plim_cut_answer answer;
  plim_status status = PLIM_OK;
  int64_t target = inc->task.budget_bytes, fastest = PLIM_TIME_INFINITE;
  int tries = p->n_ops > PLIM_LONG_OPS ? bound_tuning.cut.tries_long : bound_tuning.cut.tries;
  for (int i = 0; i < tries && !plim_incumbent_decided(inc); i++) {
    cut_allowance half = half_of(&left);
    plim_cut_limits limits = limits_of(inc, tries > 1 ? &half : &left);
    plim_submit_result result;
    int64_t before = plim_cut_solver_work(tools->solver);
    PLIM_TRY_OR_DONE(plim_cut_solve(tools->solver, target, &limits, &answer));
    left.work -= plim_cut_solver_work(tools->solver) - before;
    if (answer.cost_ns == PLIM_TIME_INFINITE) break;
    PLIM_TRY_OR_DONE(plim_cut_walk(tools->flow, tools->model, answer.solution, target, &trial));
    PLIM_TRY_OR_DONE(plim_incumbent_submit(inc, &trial, bound_tuning.cut.packing_rounds, &result));
    int faster = result.peak_bytes <= inc->task.budget_bytes && result.time_ns < fastest;
    if (i == 0 || faster) PLIM_TRY_OR_DONE(plim_schedule_copy(start, result.schedule));
    if (faster) fastest = result.time_ns;
    if (result.bytes <= inc->task.budget_bytes) break;
    target -= (i + 1) * (result.bytes - inc->task.budget_bytes);
  }
done:
  plim_schedule_free(&trial);
  return status;
}

static plim_status bound_and_suggest(plim_incumbent *inc, plim_bound_cache *bound_cache, const cut_allowance *left,
                                     plim_schedule *start) {
  const plim_problem *p = inc->problem;
  cut_allowance half = half_of(left);
  cut_tools *in_order = p->has_fixed_order ? &bound_cache->own : &bound_cache->in_order;
  PLIM_TRY(make_tools(p, p->has_fixed_order, &bound_cache->own));
  PLIM_TRY(raise_bound(inc, &bound_cache->own, &half));
  if (plim_incumbent_decided(inc)) return PLIM_OK;
  PLIM_TRY(make_tools(p, 1, in_order));
  return suggest(inc, in_order, (cut_allowance){half.work, left->deadline_ns}, start);
}

int64_t plim_cut_search_work(const plim_incumbent *inc) {
  const plim_plan_options *options = inc->task.options;
  if (options->time_limit_ns > 0) return plim_effort_percent(options->time_limit_ns, PLIM_CUT_PERCENT);
  int64_t work = bound_tuning.cut.search_work_an_op * (int64_t)inc->problem->n_ops;
  if (work < bound_tuning.cut.search_work_min) work = bound_tuning.cut.search_work_min;
  const int is_less = options->brief && inc->problem->n_ops <= bound_tuning.solve.ascent_ops;
  return is_less ? work / 100 * bound_tuning.cut.brief_percent : work;
}

static plim_status prove(plim_incumbent *inc, const cut_allowance *left, int64_t target_ns) {
  plim_bound_cache *own = NULL, *bound_cache = inc->shared.bound_cache;
  if (!bound_cache) {
    PLIM_TRY(plim_bound_cache_new(inc->problem, &own));
    bound_cache = own;
  }
  plim_status status = make_tools(inc->problem, inc->problem->has_fixed_order, &bound_cache->own);
  if (status == PLIM_OK) status = raise_bound_to(inc, &bound_cache->own, left, target_ns);
  plim_bound_cache_free(own);
  return status;
}

plim_status plim_cut_prove(plim_incumbent *inc, int64_t target_ns) {
  const cut_allowance left = {plim_cut_search_work(inc), plim_plan_task_deadline(&inc->task, PLIM_CUT_PERCENT)};
  return inc->problem->n_ops > PLIM_CUT_MAX_OPS ? PLIM_OK : prove(inc, &left, target_ns);
}

plim_status plim_cut_bound(plim_incumbent *inc) {
  const cut_allowance left = {bound_tuning.cut.bound_work, PLIM_TIME_UNLIMITED};
  return inc->problem->n_ops > PLIM_CUT_MAX_OPS ? PLIM_OK
                                                : prove(inc, &left, inc->has_best ? inc->best_ns : PLIM_TIME_INFINITE);
}

plim_status plim_cut_suggest(plim_incumbent *inc, int64_t work, int64_t deadline_ns, plim_schedule *start) {
  plim_bound_cache *bound_cache = NULL;
  cut_allowance left = {work, deadline_ns};
  plim_incumbent_note_bounded(inc);
  if (inc->problem->n_ops > PLIM_CUT_MAX_OPS) return PLIM_OK;
  if (!inc->shared.bound_cache) PLIM_TRY(plim_bound_cache_new(inc->problem, &bound_cache));
  int64_t outer_ns = plim_effort_begin(inc->problem->ctx, deadline_ns);
  plim_status status = bound_and_suggest(inc, bound_cache ? bound_cache : inc->shared.bound_cache, &left, start);
  plim_bound_cache_free(bound_cache);
  return plim_effort_end(inc->problem->ctx, outer_ns, status);
}

/* The cut model as a strategy: the fastest of the plans that it suggests, and a search that continues from there. */
#include "planner/bound/cut.h"
#include "planner/core/core.h"
#include "planner/search/searches.h"
#include "planner/strategies/strategy.h"

enum { CUT_PERCENT = 90 /* of the time, the rest is for the search where no plan fits */ };
enum { MOVES_AN_OP = 400, STRATEGY_WORK = 2000000000, WORK_A_MOVE = 1000 };

static int is_done(const plim_incumbent *inc) {
  return inc->bound_ns == INT64_MAX || (inc->found && inc->best_ns <= inc->bound_ns);
}

/* A move of the options is as much work as the search makes of one. */
static int64_t strategy_work(const plim_plan_options *o) {
  const int64_t most = INT64_MAX / 4;
  if (o->iterations > 0) return o->iterations < most / WORK_A_MOVE ? o->iterations * WORK_A_MOVE : most;
  return o->time_limit_ns > 0 ? most : STRATEGY_WORK;
}

/* The model does not see what is alive while ops run again, so a plan of it that fits may be far from its bound. A
 * short search continues from there, with a time limit for what is left of it. */
static plim_status refine(plim_incumbent *inc) {
  plim_incumbent *other = NULL;
  plim_child how = {.time_limit_ns = plim_incumbent_left_ns(inc)};
  if (inc->options->iterations <= 0 && how.time_limit_ns <= 0)
    how.iterations = MOVES_AN_OP * (int64_t)inc->problem->n_ops;
  PLIM_TRY(plim_incumbent_child(inc, &how, &other));
  other->front = inc->front;
  plim_status status = plim_incumbent_adopt(other, inc);
  if (status == PLIM_OK) status = plim_portfolio_run(other, &inc->best);
  return plim_incumbent_join(inc, other, status);
}

/* Where no solution's plan fits, the search repairs one. */
plim_status plim_cut_run(plim_incumbent *inc) {
  plim_schedule seed = {.ctx = inc->problem->ctx};
  int64_t work = strategy_work(inc->options);
  int32_t op;
  PLIM_TRY(plim_keep_all_run(inc));
  if (is_done(inc) || inc->budget_bytes < plim_bound_bytes(inc->problem, &op)) return PLIM_OK;
  plim_status status = plim_cut_begin(inc, work, plim_incumbent_deadline(inc, CUT_PERCENT), &seed);
  plim_schedule_free(&seed);
  if (status != PLIM_OK || is_done(inc)) return status;
  return inc->found ? refine(inc) : plim_search_run(inc);
}

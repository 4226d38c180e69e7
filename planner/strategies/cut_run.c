/* The strategy `cut`: the bound of the cut model, the fastest of the plans that its solutions suggest, and a short
 * search that continues from there. */
#include "planner/strategies/strategy.h"

#include "planner/bound/cut.h"
#include "planner/core/problem.h"
#include "planner/search/searches.h"
#include "planner/strategies/strategies_internal.h"

/* Work of the cut model. An iteration of the options is as much work as a move of the search. */
static int64_t strategy_work(const plim_plan_options *options) {
  const int64_t max_work = INT64_MAX / 4;
  if (options->iterations > 0) {
    return options->iterations < max_work / strategies_tuning.cut.work_a_move
               ? options->iterations * strategies_tuning.cut.work_a_move
               : max_work;
  }
  return options->time_limit_ns > 0 ? max_work : strategies_tuning.cut.work;
}

/* The model does not see the bytes that recomputing itself takes, so its plan may be far from its bound. A short search
 * continues from the plan, in the time left. */
static plim_status refine(plim_incumbent *inc) {
  plim_incumbent *other = NULL;
  plim_child child = {.time_limit_ns = plim_plan_task_left_ns(&inc->task)};
  if (inc->task.options->iterations <= 0 && child.time_limit_ns <= 0) {
    child.iterations = strategies_tuning.cut.moves_an_op * (int64_t)inc->problem->n_ops;
  }
  PLIM_TRY(plim_incumbent_child(inc, &child, &other));
  other->shared.front = inc->shared.front;
  plim_status status = plim_incumbent_adopt(other, inc);
  if (status == PLIM_OK) status = plim_portfolio_run(other, &inc->best);
  return plim_incumbent_join(inc, other, status);
}

/* Where no plan of the model fits, the default strategy follows. */
plim_status plim_cut_run(plim_incumbent *inc) {
  plim_schedule start = {.ctx = inc->problem->ctx};
  int64_t work = strategy_work(inc->task.options);
  int32_t op;
  PLIM_TRY(plim_keep_all_run(inc));
  if (plim_incumbent_decided(inc) || inc->task.budget_bytes < plim_bound_bytes(inc->problem, &op)) return PLIM_OK;
  plim_status status =
      plim_cut_suggest(inc, work, plim_plan_task_deadline(&inc->task, strategies_tuning.cut.percent), &start);
  plim_schedule_free(&start);
  if (status != PLIM_OK || plim_incumbent_decided(inc)) return status;
  return inc->has_best ? refine(inc) : plim_search_run(inc);
}

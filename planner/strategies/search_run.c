/* The default strategy: decides which ops are recomputed, and in which order.
 *
 *   plim_search_run
 *     plim_keep_all_find          nothing is recomputed; where that fits, it is the plan
 *     plan_reserve                Chen's rules, in a long graph under a time limit
 *     plim_cut_suggest            the bound of the cut model, and a plan from it
 *     start_deep_or_long          Rotor's plan and greedy covering, in long graphs and at deep budgets
 *     plim_start_from_replay      replays of program order in the arena
 *     plim_portfolio_run          rounds, from the schedule that these left in `start` (planner/search/portfolio.c)
 *       plim_portfolio_round      one round, by one searcher or by several (portfolio_round.c)
 *         plim_searcher_anneal    one annealing run; each schedule that fits is submitted (searcher.c)
 *           plim_anneal_run       makes a move, and accepts or undoes it (anneal.c)
 *             plim_move_evict     DECIDES: ends the lifetime of an item, and recomputes it before its next reader
 *
 * The last branch goes on from what the others found. Every schedule is submitted to the incumbent, so that the best
 * plan so far is there at any time. */
#include "planner/strategies/strategy.h"

#include "planner/bound/cut.h"
#include "planner/core/problem.h"
#include "planner/search/searches.h"
#include "planner/strategies/strategies_internal.h"
#include "runtime/base/effort.h"

/* Covering gets a share of the time left: the cut model and Rotor may have used most of the limit. */
static int64_t covering_deadline(const plim_incumbent *inc) {
  int64_t now_ns = plim_now_ns(), end_ns = plim_plan_task_deadline(&inc->task, 100);
  return end_ns == PLIM_TIME_UNLIMITED || end_ns <= now_ns
             ? end_ns
             : now_ns + (end_ns - now_ns) / 100 * strategies_tuning.search.covering_percent;
}

/* Is the budget deep: is the overhead proved to be so large that most of the forward part is recomputed, some of it
 * several times? Not where little time is wanted. */
static int is_deep(const plim_incumbent *inc) {
  int64_t keep_ns = inc->problem->keep_all_ns, limit_ns = inc->task.options->time_limit_ns;
  return !inc->task.options->brief &&
         inc->bound_ns - keep_ns >= keep_ns / 100 * strategies_tuning.search.deep_percent &&
         (limit_ns <= 0 || limit_ns >= strategies_tuning.search.deep_ns);
}

/* First plans for long graphs and deep budgets, which annealing alone reaches late. Rotor takes a second at most where
 * the graph is a chain. In graphs of many ops its plan becomes `start`, unless the cut model has suggested one, and
 * covering lowers `start` to the budget. In shorter graphs Rotor's plan is only submitted: annealing runs that start
 * from the best continue from it. */
static plim_status start_deep_or_long(plim_incumbent *inc, plim_schedule *start) {
  int32_t n = inc->problem->n_ops;
  int suggested = start->n > n;
  if (inc->has_best) return PLIM_OK;
  if (n > PLIM_LONG_OPS || is_deep(inc)) PLIM_TRY(plim_rotor_run(inc));
  if (n <= strategies_tuning.search.covering_ops) return PLIM_OK;
  if (inc->has_best && !suggested) PLIM_TRY(plim_schedule_copy(start, &inc->best));
  return plim_greedy_covering_run(inc, inc->task.budget_bytes, strategies_tuning.search.covering_rounds,
                                  covering_deadline(inc), start);
}

/* In a long graph the cut model and Rotor may use up a short time limit. Chen's rules make a plan in a fraction of it.
 * It is kept in an incumbent of its own, since annealing from it would end worse. Where nothing better is found, it is
 * the answer. */
static plim_status plan_reserve(const plim_incumbent *inc, plim_incumbent **reserve) {
  if (inc->has_best || inc->task.options->time_limit_ns <= 0) return PLIM_OK;
  if (inc->problem->n_ops <= PLIM_LONG_OPS && !plim_incumbent_is_out_of_time(inc)) return PLIM_OK;
  const plim_child child = {.time_limit_ns =
                                plim_plan_task_part_ns(&inc->task, strategies_tuning.search.reserve_parts)};
  PLIM_TRY(plim_incumbent_child(inc, &child, reserve));
  plim_context *ctx = inc->problem->ctx;
  int64_t outer_ns = plim_effort_begin_last(ctx, plim_now_ns() + strategies_tuning.search.reserve_ns);
  plim_status status = plim_effort_end(ctx, outer_ns, plim_chen_sqrt_run(*reserve));
  if (status != PLIM_OK) return status;
  outer_ns = plim_effort_begin(ctx, plim_plan_task_deadline(&(*reserve)->task, 100));
  return plim_effort_end(ctx, outer_ns, plim_chen_greedy_run(*reserve));
}

plim_status plim_search_run(plim_incumbent *inc) {
  const plim_problem *p = inc->problem;
  plim_incumbent *reserve = NULL;
  plim_schedule start = {.ctx = p->ctx}, keep_all = {.ctx = p->ctx};
  const plim_schedule *lent = inc->shared.keep_all;
  plim_status status;
  int32_t op;
  PLIM_TRY_OR_DONE(plim_keep_all_find(inc, &keep_all));
  if (plim_incumbent_proved(inc)) goto done;
  if (inc->task.budget_bytes < plim_bound_bytes(p, &op)) goto done;
  /* what is packed may be smaller in an order of a higher peak, which the min-memory search looks for */
  if (inc->task.options->unpacked && !lent) inc->shared.keep_all = &keep_all;
  PLIM_TRY_OR_DONE(plan_reserve(inc, &reserve));
  PLIM_TRY_OR_DONE(plim_incumbent_program_order(inc, inc->task.budget_bytes, &start));
  PLIM_TRY_OR_DONE(
      plim_cut_suggest(inc, plim_cut_search_work(inc), plim_plan_task_deadline(&inc->task, PLIM_CUT_PERCENT), &start));
  if (plim_incumbent_decided(inc)) goto done;
  PLIM_TRY_OR_DONE(start_deep_or_long(inc, &start));
  PLIM_TRY_OR_DONE(plim_start_from_replay(inc, strategies_tuning.search.packing_rounds, &start));
  PLIM_TRY_OR_DONE(plim_portfolio_run(inc, &start));
done:
  inc->shared.keep_all = lent;
  plim_schedule_free(&start);
  plim_schedule_free(&keep_all);
  return plim_incumbent_join(inc, reserve, status);
}

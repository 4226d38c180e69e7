/* One round of the search for the fastest plan, and what looks for any plan where annealing finds none.
 *
 * A *round* is a fixed series of annealing runs (short_round, long_round). Runs of a round differ in temperature, in
 * the mix of moves, and in where they start: from the schedule given (`start`) or from the best plan. After each run
 * the searchers exchange their bests. Where a run from `start` stays above the limit, greedy covering and then the
 * min-memory search look for any plan. */
#include "planner/search/searches.h"

#include "planner/search/search_internal.h"
#include "planner/search/search_tuning.h"
#include "runtime/base/effort.h"

enum { SHORT_RUNS = sizeof short_round / sizeof short_round[0], LONG_RUNS = sizeof long_round / sizeof long_round[0] };

/* ---- any plan ---- */

/* Was a schedule within the limit in the last annealing run? */
static int met_candidate(const plim_portfolio *portfolio) {
  int met = 0;
  for (int32_t i = 0; i < portfolio->n; i++) met |= portfolio->member[i].searcher.candidate_ns > 0;
  return met;
}

/* Has the first run from `start` stayed above the limit, without a plan? In a long graph, runs go on from there. */
static int is_start_hopeless(const plim_portfolio *portfolio) {
  if (portfolio->inc->has_best || portfolio->leaves_start) return 0;
  return !plim_portfolio_is_long(portfolio) && !met_candidate(portfolio);
}

plim_status plim_portfolio_cover(plim_portfolio *portfolio) {
  plim_incumbent *inc = portfolio->inc;
  plim_schedule schedule = {.ctx = inc->problem->ctx};
  portfolio->has_covered = 1;
  plim_status status = plim_schedule_copy(&schedule, portfolio->start);
  if (status == PLIM_OK) {
    status = plim_greedy_covering_run(inc, inc->task.budget_bytes, search_tuning.portfolio.covering_rounds,
                                      plim_plan_task_deadline(&inc->task, 100), &schedule);
  }
  if (status == PLIM_OK && inc->task.options->brief && !inc->has_best) {
    status = plim_schedule_copy(&portfolio->lowest, &schedule);
  }
  if (status == PLIM_OK) status = plim_portfolio_exchange(portfolio);
  plim_schedule_free(&schedule);
  return status;
}

/* Keep the schedule of fewest bytes of all min-memory searches. */
static plim_status keep_lowest(plim_portfolio *portfolio, const plim_incumbent *min_memory) {
  if (!min_memory->has_best || min_memory->best_bytes >= portfolio->lowest_bytes) return PLIM_OK;
  portfolio->lowest_bytes = min_memory->best_bytes;
  return plim_schedule_copy(&portfolio->lowest, &min_memory->best);
}

/* Look for any plan by the min-memory search, which gets another seed each time. */
static plim_status find_by_min_memory(plim_portfolio *portfolio) {
  plim_incumbent *inc = portfolio->inc, *min_memory = NULL;
  int64_t limit_ns = inc->task.options->time_limit_ns;
  plim_child child = {.min_memory = 1, .seed_offset = portfolio->min_memory_tries++ << 32};
  if (limit_ns > 0) child.time_limit_ns = plim_effort_share(limit_ns, 2) + (plim_now_ns() - inc->task.started_ns) / 2;
  PLIM_TRY(plim_incumbent_child(inc, &child, &min_memory));
  min_memory->task.started_ns = inc->task.started_ns;
  min_memory->shared.keep_all = inc->shared.keep_all;
  plim_status status = plim_min_memory_run(min_memory);
  if (status == PLIM_OK || status == PLIM_ECANCEL) {
    plim_status copied = keep_lowest(portfolio, min_memory);
    if (copied != PLIM_OK) status = copied;
  }
  status = plim_incumbent_join(inc, min_memory, status);
  if (status != PLIM_OK && status != PLIM_ECANCEL) return status;
  plim_status exchanged = plim_portfolio_exchange(portfolio);
  return exchanged == PLIM_OK ? status : exchanged;
}

plim_status plim_portfolio_find(plim_portfolio *portfolio, int may_seek) {
  if (!portfolio->has_covered && !plim_portfolio_is_long(portfolio)) PLIM_TRY(plim_portfolio_cover(portfolio));
  return portfolio->inc->has_best || !may_seek ? PLIM_OK : find_by_min_memory(portfolio);
}

/* ---- a round ---- */

int64_t plim_portfolio_near_budget(const plim_incumbent *inc) {
  return inc->task.budget_bytes + inc->task.budget_bytes / search_tuning.portfolio.near_part;
}

/* May the min-memory search run once more? It depends on random numbers: one that ended near the budget may meet it
 * with another seed. */
static int may_try(const plim_portfolio *portfolio) {
  if (portfolio->min_memory_tries == 0 || portfolio->inc->task.options->time_limit_ns > 0) return 1;
  return portfolio->min_memory_tries < (uint64_t)search_tuning.portfolio.min_memory_tries &&
         portfolio->inc->least_bytes <= plim_portfolio_near_budget(portfolio->inc);
}

/* Give the next annealing run its percent of the round's moves, and of the time until its end, of which percent_left
 * are left. Returns 0 where the time is over. */
static int set_limits(plim_portfolio *portfolio, const plim_round_plan *plan, int32_t percent_left) {
  const int32_t percent = portfolio->annealing->percent;
  portfolio->moves = plan->moves / 100 * percent + plan->moves % 100 * percent / 100;
  portfolio->deadline_ns = PLIM_TIME_UNLIMITED;
  if (plan->end_ns == PLIM_TIME_UNLIMITED) return 1;
  int64_t now_ns = plim_now_ns();
  portfolio->deadline_ns = now_ns + (plan->end_ns - now_ns) / percent_left * percent;
  return now_ns < plan->end_ns;
}

plim_status plim_portfolio_round(plim_portfolio *portfolio, const plim_round_plan *plan) {
  const plim_incumbent *inc = portfolio->inc;
  const plim_annealing *end = plim_portfolio_is_long(portfolio) ? long_round + LONG_RUNS : short_round + SHORT_RUNS;
  int32_t percent_left = 100;
  portfolio->leaves_start = plan->goes_on;
  portfolio->annealing = plim_portfolio_is_long(portfolio) ? long_round : short_round;
  for (; portfolio->annealing < end && !plim_incumbent_proved(inc); portfolio->annealing++) {
    if (!set_limits(portfolio, plan, percent_left)) return PLIM_OK;
    percent_left -= portfolio->annealing->percent;
    PLIM_TRY(plim_portfolio_anneal(portfolio));
    if (is_start_hopeless(portfolio)) {
      portfolio->leaves_start = 1;
      PLIM_TRY(plim_portfolio_find(portfolio, plan->may_seek));
    }
    if (portfolio->first_ns == INT64_MAX && inc->has_best) portfolio->first_ns = inc->best_ns;
  }
  portfolio->leaves_start |= !inc->has_best;
  while (!inc->has_best && plan->may_seek && plim_now_ns() < plan->end_ns && may_try(portfolio)) {
    PLIM_TRY(plim_portfolio_find(portfolio, 1));
    if (plan->end_ns < PLIM_TIME_UNLIMITED) break; /* the next round does so again */
  }
  return PLIM_OK;
}

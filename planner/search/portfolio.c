/* The search for the fastest plan: which rounds it makes (portfolio_round.c), by one searcher or by several
 * (portfolio_members.c).
 *
 * Without a time limit: two rounds, and a third where the numerics are given and the bound is far. With one: more
 * rounds, each four times as long as the one before, until the time is over. A brief search has rounds of its own
 * (run_brief). */
#include "planner/search/searches.h"

#include "planner/search/search_internal.h"
#include "planner/search/search_tuning.h"
#include "runtime/base/batch.h"

/* Does the caller say how much work is wanted? */
static int has_limits(const plim_incumbent *inc) {
  return inc->task.options->iterations > 0 || inc->task.options->time_limit_ns > 0;
}

/* Does the next round go on from what was found? It does after one whose start led to no plan, and in a long graph. */
static int goes_on(const plim_portfolio *portfolio) {
  return portfolio->leaves_start || plim_portfolio_is_long(portfolio);
}

/* Where covering has found no plan for a long graph, run the min-memory search before any annealing. *refused is 1
 * where that and the covered schedule both stay far above the budget: annealing hardly lowers the peak of a long graph,
 * and millions of moves would end in the same refusal. Not with limits, which say how much work is wanted. */
static plim_status look_ahead(plim_portfolio *portfolio, int *refused) {
  plim_incumbent *inc = portfolio->inc;
  *refused = 0;
  if (!plim_portfolio_is_long(portfolio) || inc->has_best || has_limits(inc)) return PLIM_OK;
  PLIM_TRY(plim_portfolio_find(portfolio, 1));
  const plim_timeline *timeline = NULL;
  PLIM_TRY(plim_incumbent_evaluate(inc, portfolio->start, &timeline));
  *refused = !inc->has_best && inc->least_bytes > plim_portfolio_near_budget(inc) &&
             timeline->peak_bytes > plim_portfolio_near_budget(inc);
  return PLIM_OK;
}

/* Few moves from program order end above what covering finds. Not in a long graph, which was covered before, nor where
 * the best is near its bound. */
static int wants_covering(const plim_portfolio *portfolio) {
  const plim_incumbent *inc = portfolio->inc;
  int64_t near_ns = inc->problem->keep_all_ns / 1000 * search_tuning.portfolio.near_permille;
  return !plim_portfolio_is_long(portfolio) && !(inc->has_best && inc->best_ns - inc->bound_ns <= near_ns);
}

/* A third round follows where the numerics are given, the plan is far from its bound, and there are no limits. With
 * given numerics an op cannot change to a variant of less workspace. So the search needs other sets of recomputed ops,
 * which short annealing runs often miss. */
static int wants_third_round(const plim_portfolio *portfolio) {
  const plim_incumbent *inc = portfolio->inc;
  if (!inc->problem->fixed_numerics || !inc->has_best || plim_portfolio_is_long(portfolio) || has_limits(inc)) return 0;
  return inc->best_ns - inc->bound_ns > inc->problem->keep_all_ns / 100 * search_tuning.portfolio.far_percent;
}

/* Is the best so far from its bound that more moves may gain something? */
static int is_far(const plim_incumbent *inc) {
  return inc->has_best &&
         inc->best_ns - inc->bound_ns > inc->problem->keep_all_ns / 100 * search_tuning.brief.far_percent;
}

/* So many rounds of a plan, until the best is proved. After the first one they may go on from what was found. */
static plim_status repeat_round(plim_portfolio *portfolio, plim_round_plan plan, int32_t rounds) {
  for (int32_t round = 0; round < rounds && !plim_incumbent_proved(portfolio->inc); round++) {
    PLIM_TRY(plim_portfolio_round(portfolio, &plan));
    plan.goes_on = goes_on(portfolio);
  }
  return PLIM_OK;
}

/* Further rounds of `part` moves each while the best is far from its bound, until one gains too little, or `left` moves
 * are used up. The round before gained what the best is faster than before_ns (INT64_MAX: enough). */
static plim_status run_while_far(plim_portfolio *portfolio, int64_t part, int64_t left, int64_t end_ns,
                                 int64_t before_ns) {
  const plim_incumbent *inc = portfolio->inc;
  const int64_t gain_ns = inc->problem->keep_all_ns / 100 * search_tuning.brief.gain_percent;
  for (; left > 0 && is_far(inc) && before_ns - inc->best_ns >= gain_ns && plim_now_ns() < end_ns; left -= part) {
    const plim_round_plan plan = {
        .moves = part < left ? part : left, .end_ns = end_ns, .goes_on = goes_on(portfolio), .may_seek = 1};
    before_ns = inc->best_ns;
    PLIM_TRY(plim_portfolio_round(portfolio, &plan));
  }
  return PLIM_OK;
}

/* A brief search: two rounds, from what covering has left where that is no plan. Where the first has no plan either, no
 * second one is made, but in a long graph. Without a plan then, one round from `start`, with the min-memory search in
 * it. Then run_while_far, for which that round is the first of them. */
static plim_status run_brief(plim_portfolio *portfolio, int64_t moves, int64_t end_ns) {
  const plim_incumbent *inc = portfolio->inc;
  const int32_t rounds = search_tuning.portfolio.rounds;
  int64_t part = search_tuning.brief.moves_an_op * (int64_t)inc->problem->n_ops;
  if (part > moves) part = moves;
  int64_t left = moves - part, before_ns = INT64_MAX;
  if (wants_covering(portfolio)) PLIM_TRY(plim_portfolio_cover(portfolio));
  plim_round_plan first = {.moves = part / rounds, .end_ns = end_ns, .goes_on = portfolio->lowest.n > 0};
  PLIM_TRY(repeat_round(portfolio, first, 1));
  first.goes_on = goes_on(portfolio);
  if (inc->has_best || plim_portfolio_is_long(portfolio)) PLIM_TRY(repeat_round(portfolio, first, rounds - 1));
  if (!inc->has_best) {
    const plim_round_plan seek = {
        .moves = part, .end_ns = end_ns, .goes_on = plim_portfolio_is_long(portfolio), .may_seek = 1};
    PLIM_TRY(plim_portfolio_round(portfolio, &seek));
    left -= part;
    before_ns = portfolio->first_ns;
  }
  return run_while_far(portfolio, part, left, end_ns, before_ns);
}

/* The time of the next round. Those before may have taken no time that the clock shows. */
static int64_t longer_round(int64_t round_ns) {
  const int64_t factor = search_tuning.portfolio.round_factor;
  if (round_ns <= 0) return factor;
  return round_ns < INT64_MAX / factor ? round_ns * factor : INT64_MAX;
}

/* Rounds until the time is over, each longer than the one before. The last one takes all the time that is left. */
static plim_status run_longer_rounds(plim_portfolio *portfolio, int64_t round_ns, int64_t end_ns) {
  while (!plim_incumbent_proved(portfolio->inc) && plim_now_ns() < end_ns) {
    const int64_t now_ns = plim_now_ns();
    round_ns = longer_round(round_ns);
    int is_last = (end_ns - now_ns) / 2 < round_ns;
    const plim_round_plan plan = {.moves = INT64_MAX / 2,
                                  .end_ns = is_last ? end_ns : now_ns + round_ns,
                                  .goes_on = goes_on(portfolio),
                                  .may_seek = 1};
    PLIM_TRY(plim_portfolio_round(portfolio, &plan));
  }
  return PLIM_OK;
}

static int64_t moves_wanted(const plim_incumbent *inc) {
  const int64_t iterations = inc->task.options->iterations;
  return iterations > 0 ? iterations : search_tuning.portfolio.moves_an_op * (int64_t)inc->problem->n_ops;
}

static plim_status run_rounds(plim_portfolio *portfolio) {
  plim_incumbent *inc = portfolio->inc;
  const plim_plan_options *options = inc->task.options;
  const int64_t moves = moves_wanted(inc);
  int64_t begin_ns = plim_now_ns(), end_ns = plim_plan_task_deadline(&inc->task, 100);
  plim_round_plan plan = {.moves = moves / search_tuning.portfolio.rounds, .end_ns = end_ns, .may_seek = 1};
  int refused;
  PLIM_TRY(look_ahead(portfolio, &refused));
  if (options->brief && !refused) return run_brief(portfolio, moves, end_ns);
  if (!refused) PLIM_TRY(repeat_round(portfolio, plan, search_tuning.portfolio.rounds));
  if (wants_third_round(portfolio)) {
    plan.moves = search_tuning.portfolio.third_round * moves;
    plan.goes_on = goes_on(portfolio);
    PLIM_TRY(plim_portfolio_round(portfolio, &plan));
  }
  if (end_ns == PLIM_TIME_UNLIMITED || options->iterations > 0) return PLIM_OK;
  return run_longer_rounds(portfolio, plim_now_ns() - begin_ns, end_ns);
}

static plim_status run_by(plim_incumbent *inc, const plim_schedule *start, plim_status (*rounds)(plim_portfolio *)) {
  plim_context *ctx = inc->problem->ctx;
  plim_portfolio portfolio = {.inc = inc,
                              .start = start,
                              .lowest = {.ctx = ctx},
                              .lowest_bytes = INT64_MAX,
                              .first_ns = INT64_MAX,
                              .n = inc->task.options->threads > 1 ? inc->task.options->threads : 1};
  plim_status status;
  if (portfolio.n > PLIM_BATCH_MAX) portfolio.n = PLIM_BATCH_MAX;
  PLIM_TRY(plim_allocate(ctx, portfolio.n, sizeof *portfolio.member, &portfolio.member));
  for (int32_t i = 0; i < portfolio.n; i++) PLIM_TRY_OR_DONE(plim_portfolio_begin_member(&portfolio, i));
  PLIM_TRY_OR_DONE(plim_portfolio_exchange(&portfolio));
  status = rounds(&portfolio);
  for (int32_t i = 1; i < portfolio.n && inc->shared.front && (status == PLIM_OK || status == PLIM_ECANCEL); i++) {
    plim_status merged = plim_front_merge(inc->shared.front, &portfolio.member[i].front);
    if (merged != PLIM_OK) status = merged;
  }
done:
  for (int32_t i = 0; i < portfolio.n; i++) plim_portfolio_end_member(&portfolio, i);
  plim_schedule_free(&portfolio.lowest);
  plim_release(ctx, portfolio.member, portfolio.n, sizeof *portfolio.member);
  return status;
}

plim_status plim_portfolio_run(plim_incumbent *inc, const plim_schedule *start) {
  return run_by(inc, start, run_rounds);
}

/* Rounds of a brief search that follow one which gained enough. */
static plim_status improve(plim_portfolio *portfolio) {
  const plim_incumbent *inc = portfolio->inc;
  const int64_t part = search_tuning.brief.moves_an_op * (int64_t)inc->problem->n_ops, moves = moves_wanted(inc);
  portfolio->leaves_start = 1;
  return run_while_far(portfolio, part < moves ? part : moves, moves, plim_plan_task_deadline(&inc->task, 100),
                       INT64_MAX);
}

plim_status plim_portfolio_improve(plim_incumbent *inc) {
  plim_schedule start = {.ctx = inc->problem->ctx};
  plim_status status = plim_schedule_copy(&start, &inc->best);
  if (status == PLIM_OK) status = run_by(inc, &start, improve);
  plim_schedule_free(&start);
  return status;
}

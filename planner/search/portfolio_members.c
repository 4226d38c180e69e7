/* The searchers of the search for the fastest plan: each makes annealing runs, with an incumbent of its own on a thread
 * of its own, and they exchange their bests.
 *
 * Invariant: searcher 0 works for the caller's incumbent. Each other one has its own incumbent, on a fork of the
 * context and a copy of the problem that allocates there. Bests are merged in order of the searchers, so that without a
 * time limit the result depends on seed and number of threads, and not on timing. */
#include "planner/search/search_internal.h"

#include "runtime/base/batch.h"

/* ---- searchers ---- */

/* Seeds of searchers must be far apart: splitmix64 gives overlapping streams for states that differ by what it adds. */
static uint64_t member_seed(uint64_t seed, int32_t i) {
  plim_random random = {seed + ((uint64_t)i << 32)};
  return i == 0 ? seed : plim_random_next(&random);
}

/* A member's failure, with its sentence: members but the first have a fork of the context, and the fork has its own. */
static plim_status of_member(const plim_portfolio *portfolio, const plim_portfolio_member *member, plim_status status) {
  if (status == PLIM_OK || !member->ctx) return status;
  return plim_fail(portfolio->inc->problem->ctx, status, "%s", plim_context_error(member->ctx));
}

/* An incumbent of the member's own with the same task, in a fork of the context. */
static plim_status fork_member(const plim_portfolio *portfolio, plim_portfolio_member *member) {
  PLIM_TRY(plim_context_fork(portfolio->inc->problem->ctx, &member->ctx));
  member->problem = *portfolio->inc->problem;
  member->problem.ctx = member->front.ctx = member->ctx;
  PLIM_TRY(
      of_member(portfolio, member, plim_incumbent_begin(&member->problem, portfolio->inc->task.options, &member->inc)));
  member->inc->task = portfolio->inc->task;
  if (portfolio->inc->shared.front) member->inc->shared.front = &member->front;
  return PLIM_OK;
}

plim_status plim_portfolio_begin_member(plim_portfolio *portfolio, int32_t i) {
  plim_portfolio_member *member = &portfolio->member[i];
  if (i == 0) member->inc = portfolio->inc;
  if (i > 0) PLIM_TRY(fork_member(portfolio, member));
  PLIM_TRY(of_member(
      portfolio, member,
      plim_searcher_begin(member->inc, member_seed(portfolio->inc->task.options->seed, i), &member->searcher)));
  if (portfolio->n > 1 && portfolio->inc->task.options->time_limit_ns > 0) member->searcher.halt = &portfolio->halt;
  return PLIM_OK;
}

void plim_portfolio_end_member(plim_portfolio *portfolio, int32_t i) {
  plim_portfolio_member *member = &portfolio->member[i];
  plim_searcher_end(&member->searcher);
  if (i == 0) return;
  plim_incumbent_end(member->inc);
  plim_front_free(&member->front);
  plim_context_free(member->ctx);
}

plim_status plim_portfolio_exchange(plim_portfolio *portfolio) {
  for (int32_t i = 1; i < portfolio->n; i++) PLIM_TRY(plim_incumbent_merge(portfolio->inc, portfolio->member[i].inc));
  for (int32_t i = 1; i < portfolio->n; i++) {
    PLIM_TRY(
        of_member(portfolio, &portfolio->member[i], plim_incumbent_adopt(portfolio->member[i].inc, portfolio->inc)));
  }
  return PLIM_OK;
}

/* ---- annealing runs ---- */

/* Where an annealing run starts. Without a plan it is the searcher's last candidate (in a long graph also one above the
 * limit), then the schedule of fewest bytes, then `start`. */
static const plim_schedule *find_start(const plim_portfolio *portfolio, const plim_portfolio_member *member) {
  const plim_searcher *searcher = &member->searcher;
  if (portfolio->annealing->start == PLIM_START_GIVEN && !portfolio->leaves_start) return portfolio->start;
  if (member->inc->has_best) return &member->inc->best;
  if (searcher->candidate_ns > 0 || (plim_portfolio_is_long(portfolio) && searcher->candidate.n > 0))
    return &searcher->candidate;
  return portfolio->lowest.n > 0 ? &portfolio->lowest : portfolio->start;
}

static void anneal_member(void *user, int32_t i) {
  plim_portfolio *portfolio = user;
  plim_portfolio_member *member = &portfolio->member[i];
  member->status = plim_searcher_anneal(&member->searcher, portfolio->annealing, find_start(portfolio, member),
                                        portfolio->moves, portfolio->deadline_ns);
}

plim_status plim_portfolio_anneal(plim_portfolio *portfolio) {
  plim_status status = PLIM_OK;
  plim_batch_run(anneal_member, portfolio, portfolio->n);
  for (int32_t i = 0; i < portfolio->n; i++) {
    const plim_portfolio_member *member = &portfolio->member[i];
    if (member->status == PLIM_OK) continue;
    status = member->status;
    if (status == PLIM_ECANCEL) continue;
    return of_member(portfolio, member, status);
  }
  PLIM_TRY(plim_portfolio_exchange(portfolio));
  return status;
}

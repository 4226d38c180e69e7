/* The search for the fastest plan: rounds of annealing runs, by one searcher or by several on threads of their own.
 *
 * A *round* is a fixed series of annealing runs (short_round, long_round). Runs of a round differ in temperature, in
 * the mix of moves, and in where they start: from the schedule given (`start`) or from the best plan. After each run
 * the searchers exchange their bests. Without a time limit: two rounds, and a third where the numerics are given and
 * the bound is far. With one: more rounds, each four times as long as the one before, until the time is over. Where a
 * run from `start` stays above the limit, greedy covering and then the min-memory search look for any plan. A brief
 * search has rounds of its own (run_brief).
 *
 * Invariant: searcher 0 works for the caller's incumbent. Each other one has its own incumbent, on a fork of the
 * context and a copy of the problem that allocates there. Bests are merged in order of the searchers, so that without a
 * time limit the result depends on seed and number of threads, and not on timing. */
#include "planner/search/searches.h"

#include "planner/search/search_internal.h"
#include "planner/search/search_tuning.h"
#include "runtime/base/batch.h"
#include "runtime/base/effort.h"

/* A searcher with what it needs on its thread. */
typedef struct portfolio_member {
  plim_context *ctx; /* NULL: the first, which has the context, problem and plan front of the caller */
  plim_problem problem;
  plim_front front;
  plim_incumbent *inc;
  plim_searcher searcher;
  plim_status status; /* of its last annealing run */
} portfolio_member;

/* What a round is told. */
typedef struct round_plan {
  int64_t moves;    /* its annealing runs share them, ... */
  int64_t end_ns;   /* ... and the time until here, by plim_now_ns; PLIM_TIME_UNLIMITED: none */
  int32_t goes_on;  /* 1: no annealing run starts from `start`, all go on from what was found */
  int32_t may_seek; /* 1: without a plan, the min-memory search may look for one */
} round_plan;

typedef struct search_portfolio {
  plim_incumbent *inc;        /* the caller's */
  const plim_schedule *start; /* where the first annealing run starts */
  int32_t n;
  portfolio_member *member;  /* [n] */
  plim_schedule lowest;      /* of the min-memory searches, or of a brief search's covering; empty: neither has one */
  int64_t lowest_bytes;      /* packed, of the min-memory searches; INT64_MAX: they have none */
  int32_t has_covered;       /* 1: covering has looked for a plan */
  uint64_t min_memory_tries; /* min-memory searches so far */
  atomic_int halt;           /* 1: a searcher has met the bound */
  /* the round and the annealing run that go on */
  int32_t leaves_start; /* 1: runs do not start from `start`: so the round was told, or it has led to no plan */
  int32_t run;          /* index into the round */
  int64_t moves, deadline_ns;
} search_portfolio;

enum { SHORT_RUNS = sizeof short_round / sizeof short_round[0], LONG_RUNS = sizeof long_round / sizeof long_round[0] };

/* ---- searchers ---- */

/* Seeds of searchers must be far apart: splitmix64 gives overlapping streams for states that differ by what it adds. */
static uint64_t member_seed(uint64_t seed, int32_t i) {
  plim_random random = {seed + ((uint64_t)i << 32)};
  return i == 0 ? seed : plim_random_next(&random);
}

/* A member's failure, with its sentence: members but the first have a fork of the context, and the fork has its own. */
static plim_status of_member(const search_portfolio *portfolio, const portfolio_member *member, plim_status status) {
  if (status == PLIM_OK || !member->ctx) return status;
  return plim_fail(portfolio->inc->problem->ctx, status, "%s", plim_context_error(member->ctx));
}

/* An incumbent of the member's own, in a fork of the context. */
static plim_status fork_member(const search_portfolio *portfolio, portfolio_member *member) {
  PLIM_TRY(plim_context_fork(portfolio->inc->problem->ctx, &member->ctx));
  member->problem = *portfolio->inc->problem;
  member->problem.ctx = member->front.ctx = member->ctx;
  PLIM_TRY(
      of_member(portfolio, member, plim_incumbent_begin(&member->problem, portfolio->inc->task.options, &member->inc)));
  member->inc->task.started_ns = portfolio->inc->task.started_ns;
  if (portfolio->inc->shared.front) member->inc->shared.front = &member->front;
  return PLIM_OK;
}

static plim_status begin_member(search_portfolio *portfolio, int32_t i) {
  portfolio_member *member = &portfolio->member[i];
  if (i == 0) member->inc = portfolio->inc;
  if (i > 0) PLIM_TRY(fork_member(portfolio, member));
  PLIM_TRY(of_member(
      portfolio, member,
      plim_searcher_begin(member->inc, member_seed(portfolio->inc->task.options->seed, i), &member->searcher)));
  if (portfolio->n > 1 && portfolio->inc->task.options->time_limit_ns > 0) member->searcher.halt = &portfolio->halt;
  return PLIM_OK;
}

static void end_member(search_portfolio *portfolio, int32_t i) {
  portfolio_member *member = &portfolio->member[i];
  plim_searcher_end(&member->searcher);
  if (i == 0) return;
  plim_incumbent_end(member->inc);
  plim_front_free(&member->front);
  plim_context_free(member->ctx);
}

/* Give every searcher the best plan of all; among equal ones, that of the first searcher. */
static plim_status exchange_bests(search_portfolio *portfolio) {
  for (int32_t i = 1; i < portfolio->n; i++) PLIM_TRY(plim_incumbent_merge(portfolio->inc, portfolio->member[i].inc));
  for (int32_t i = 1; i < portfolio->n; i++) {
    PLIM_TRY(
        of_member(portfolio, &portfolio->member[i], plim_incumbent_adopt(portfolio->member[i].inc, portfolio->inc)));
  }
  return PLIM_OK;
}

/* ---- annealing runs ---- */

static int is_long(const search_portfolio *portfolio) {
  return portfolio->inc->problem->n_ops > PLIM_LONG_OPS;
}

/* Where an annealing run starts. Without a plan it is the searcher's last candidate (in a long graph also one above the
 * limit), then the schedule of fewest bytes, then `start`. */
static const plim_schedule *find_start(const search_portfolio *portfolio, const portfolio_member *member,
                                       const plim_annealing *annealing) {
  const plim_searcher *searcher = &member->searcher;
  if (annealing->start == PLIM_START_GIVEN && !portfolio->leaves_start) return portfolio->start;
  if (member->inc->has_best) return &member->inc->best;
  if (searcher->candidate_ns > 0 || (is_long(portfolio) && searcher->candidate.n > 0)) return &searcher->candidate;
  return portfolio->lowest.n > 0 ? &portfolio->lowest : portfolio->start;
}

static void anneal_member(void *user, int32_t i) {
  search_portfolio *portfolio = user;
  portfolio_member *member = &portfolio->member[i];
  const plim_annealing *annealing = (is_long(portfolio) ? long_round : short_round) + portfolio->run;
  member->status = plim_searcher_anneal(&member->searcher, annealing, find_start(portfolio, member, annealing),
                                        portfolio->moves, portfolio->deadline_ns);
}

/* One annealing run by every searcher, then an exchange. A cancel is returned after the exchange. */
static plim_status anneal_members(search_portfolio *portfolio) {
  plim_status status = PLIM_OK;
  plim_batch_run(anneal_member, portfolio, portfolio->n);
  for (int32_t i = 0; i < portfolio->n; i++) {
    const portfolio_member *member = &portfolio->member[i];
    if (member->status == PLIM_OK) continue;
    status = member->status;
    if (status == PLIM_ECANCEL) continue;
    return of_member(portfolio, member, status);
  }
  PLIM_TRY(exchange_bests(portfolio));
  return status;
}

/* Was a schedule within the limit in the last annealing run? */
static int met_candidate(const search_portfolio *portfolio) {
  int met = 0;
  for (int32_t i = 0; i < portfolio->n; i++) met |= portfolio->member[i].searcher.candidate_ns > 0;
  return met;
}

/* Has the first run from `start` stayed above the limit, without a plan? In a long graph, runs go on from there. */
static int is_start_hopeless(const search_portfolio *portfolio) {
  if (portfolio->inc->has_best || portfolio->leaves_start) return 0;
  return !is_long(portfolio) && !met_candidate(portfolio);
}

/* Look for a plan by greedy covering. */
static plim_status find_by_covering(search_portfolio *portfolio) {
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
  if (status == PLIM_OK) status = exchange_bests(portfolio);
  plim_schedule_free(&schedule);
  return status;
}

/* Keep the schedule of fewest bytes of all min-memory searches. */
static plim_status keep_lowest(search_portfolio *portfolio, const plim_incumbent *min_memory) {
  if (!min_memory->has_best || min_memory->best_bytes >= portfolio->lowest_bytes) return PLIM_OK;
  portfolio->lowest_bytes = min_memory->best_bytes;
  return plim_schedule_copy(&portfolio->lowest, &min_memory->best);
}

/* Look for any plan by the min-memory search, which gets another seed each time. */
static plim_status find_by_min_memory(search_portfolio *portfolio) {
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
  plim_status exchanged = exchange_bests(portfolio);
  return exchanged == PLIM_OK ? status : exchanged;
}

/* Look for any plan: by covering, then, where it may, by the min-memory search. A long graph was covered before the
 * first round. */
static plim_status find_any(search_portfolio *portfolio, int may_seek) {
  if (!portfolio->has_covered && !is_long(portfolio)) PLIM_TRY(find_by_covering(portfolio));
  return portfolio->inc->has_best || !may_seek ? PLIM_OK : find_by_min_memory(portfolio);
}

/* ---- rounds ---- */

/* Does the caller say how much work is wanted? */
static int has_limits(const plim_incumbent *inc) {
  return inc->task.options->iterations > 0 || inc->task.options->time_limit_ns > 0;
}

/* Bytes up to which a schedule is near the budget. */
static int64_t near_budget(const plim_incumbent *inc) {
  return inc->task.budget_bytes + inc->task.budget_bytes / search_tuning.portfolio.near_part;
}

/* May the min-memory search run once more? It depends on random numbers: one that ended near the budget may meet it
 * with another seed. */
static int may_try(const search_portfolio *portfolio) {
  if (portfolio->min_memory_tries == 0 || portfolio->inc->task.options->time_limit_ns > 0) return 1;
  return portfolio->min_memory_tries < (uint64_t)search_tuning.portfolio.min_memory_tries &&
         portfolio->inc->least_bytes <= near_budget(portfolio->inc);
}

/* Give the next annealing run its percent of the round's moves, and of the time until end_ns, of which percent_left are
 * left. Returns 0 where the time is over. */
static int set_limits(search_portfolio *portfolio, const plim_annealing *annealing, int64_t moves, int64_t end_ns,
                      int32_t percent_left) {
  portfolio->moves = moves / 100 * annealing->percent + moves % 100 * annealing->percent / 100;
  portfolio->deadline_ns = PLIM_TIME_UNLIMITED;
  if (end_ns == PLIM_TIME_UNLIMITED) return 1;
  int64_t now_ns = plim_now_ns();
  portfolio->deadline_ns = now_ns + (end_ns - now_ns) / percent_left * annealing->percent;
  return now_ns < end_ns;
}

/* Does the next round go on from what was found? It does after one whose start led to no plan, and in a long graph. */
static int goes_on(const search_portfolio *portfolio) {
  return portfolio->leaves_start || is_long(portfolio);
}

static plim_status run_round(search_portfolio *portfolio, const round_plan *plan) {
  const plim_incumbent *inc = portfolio->inc;
  const int32_t runs = is_long(portfolio) ? LONG_RUNS : SHORT_RUNS;
  const plim_annealing *annealing = is_long(portfolio) ? long_round : short_round;
  int32_t percent_left = 100;
  portfolio->leaves_start = plan->goes_on;
  for (portfolio->run = 0; portfolio->run < runs && !plim_incumbent_proved(inc); portfolio->run++, annealing++) {
    if (!set_limits(portfolio, annealing, plan->moves, plan->end_ns, percent_left)) return PLIM_OK;
    percent_left -= annealing->percent;
    PLIM_TRY(anneal_members(portfolio));
    if (is_start_hopeless(portfolio)) {
      portfolio->leaves_start = 1;
      PLIM_TRY(find_any(portfolio, plan->may_seek));
    }
  }
  portfolio->leaves_start |= !inc->has_best;
  while (!inc->has_best && plan->may_seek && plim_now_ns() < plan->end_ns && may_try(portfolio)) {
    PLIM_TRY(find_any(portfolio, 1));
    if (plan->end_ns < PLIM_TIME_UNLIMITED) break; /* the next round does so again */
  }
  return PLIM_OK;
}

/* Where covering has found no plan for a long graph, run the min-memory search before any annealing. *refused is 1
 * where that and the covered schedule both stay far above the budget: annealing hardly lowers the peak of a long graph,
 * and millions of moves would end in the same refusal. Not with limits, which say how much work is wanted. */
static plim_status look_ahead(search_portfolio *portfolio, int *refused) {
  plim_incumbent *inc = portfolio->inc;
  *refused = 0;
  if (!is_long(portfolio) || inc->has_best || has_limits(inc)) return PLIM_OK;
  PLIM_TRY(find_any(portfolio, 1));
  const plim_timeline *timeline = NULL;
  PLIM_TRY(plim_incumbent_evaluate(inc, portfolio->start, &timeline));
  *refused = !inc->has_best && inc->least_bytes > near_budget(inc) && timeline->peak_bytes > near_budget(inc);
  return PLIM_OK;
}

/* Few moves from program order end above what covering finds. Not in a long graph, which was covered before, nor where
 * the best is near its bound. */
static int wants_covering(const search_portfolio *portfolio) {
  const plim_incumbent *inc = portfolio->inc;
  int64_t near_ns = inc->problem->keep_all_ns / 1000 * search_tuning.portfolio.near_permille;
  return !is_long(portfolio) && !(inc->has_best && inc->best_ns - inc->bound_ns <= near_ns);
}

/* A third round follows where the numerics are given, the plan is far from its bound, and there are no limits. With
 * given numerics an op cannot change to a variant of less workspace. So the search needs other sets of recomputed ops,
 * which short annealing runs often miss. */
static int wants_third_round(const search_portfolio *portfolio) {
  const plim_incumbent *inc = portfolio->inc;
  if (!inc->problem->fixed_numerics || !inc->has_best || is_long(portfolio) || has_limits(inc)) return 0;
  return inc->best_ns - inc->bound_ns > inc->problem->keep_all_ns / 100 * search_tuning.portfolio.far_percent;
}

/* Is the best so far from its bound that more moves may gain something? */
static int is_far(const plim_incumbent *inc) {
  return inc->has_best &&
         inc->best_ns - inc->bound_ns > inc->problem->keep_all_ns / 100 * search_tuning.brief.far_percent;
}

/* A brief search: two rounds, from what covering has left where that is no plan. Without a plan then, one round from
 * `start`, with the min-memory search in it. While the best is far from its bound, further rounds follow, until one
 * gains too little. */
static plim_status run_brief(search_portfolio *portfolio, int64_t moves, int64_t end_ns) {
  plim_incumbent *inc = portfolio->inc;
  const int64_t gain_ns = inc->problem->keep_all_ns / 100 * search_tuning.brief.gain_percent;
  int64_t part = search_tuning.brief.moves_an_op * (int64_t)inc->problem->n_ops, before_ns = INT64_MAX;
  if (part > moves) part = moves;
  if (wants_covering(portfolio)) PLIM_TRY(find_by_covering(portfolio));
  round_plan plan = {part / search_tuning.portfolio.rounds, end_ns, .goes_on = portfolio->lowest.n > 0};
  for (int32_t round = 0; round < search_tuning.portfolio.rounds && !plim_incumbent_proved(inc); round++) {
    PLIM_TRY(run_round(portfolio, &plan));
    plan.goes_on = goes_on(portfolio);
  }
  plan.may_seek = 1;
  int64_t left = moves - part;
  if (!inc->has_best) {
    plan.moves = part;
    plan.goes_on = is_long(portfolio);
    PLIM_TRY(run_round(portfolio, &plan));
    left -= part;
  }
  for (; left > 0 && is_far(inc) && before_ns - inc->best_ns >= gain_ns && plim_now_ns() < end_ns; left -= part) {
    before_ns = inc->best_ns;
    plan.moves = part < left ? part : left;
    plan.goes_on = goes_on(portfolio);
    PLIM_TRY(run_round(portfolio, &plan));
  }
  return PLIM_OK;
}

/* The time of the next round. Those before may have taken no time that the clock shows. */
static int64_t longer_round(int64_t round_ns) {
  const int64_t factor = search_tuning.portfolio.round_factor;
  if (round_ns <= 0) return factor;
  return round_ns < INT64_MAX / factor ? round_ns * factor : INT64_MAX;
}

/* Rounds until the time is over, each longer than the one before. The last one takes all the time that is left. */
static plim_status run_longer_rounds(search_portfolio *portfolio, int64_t round_ns, int64_t end_ns) {
  while (!plim_incumbent_proved(portfolio->inc) && plim_now_ns() < end_ns) {
    const int64_t now_ns = plim_now_ns();
    round_ns = longer_round(round_ns);
    int is_last = (end_ns - now_ns) / 2 < round_ns;
    const round_plan plan = {INT64_MAX / 2, is_last ? end_ns : now_ns + round_ns, goes_on(portfolio), 1};
    PLIM_TRY(run_round(portfolio, &plan));
  }
  return PLIM_OK;
}

static plim_status run_rounds(search_portfolio *portfolio) {
  plim_incumbent *inc = portfolio->inc;
  const plim_plan_options *options = inc->task.options;
  int64_t moves = options->iterations > 0 ? options->iterations
                                          : search_tuning.portfolio.moves_an_op * (int64_t)inc->problem->n_ops;
  int64_t begin_ns = plim_now_ns(), end_ns = plim_plan_task_deadline(&inc->task, 100);
  round_plan plan = {moves / search_tuning.portfolio.rounds, end_ns, .may_seek = 1};
  int refused;
  PLIM_TRY(look_ahead(portfolio, &refused));
  if (options->brief && !refused) return run_brief(portfolio, moves, end_ns);
  for (int32_t round = 0; round < search_tuning.portfolio.rounds && !refused && !plim_incumbent_proved(inc); round++) {
    PLIM_TRY(run_round(portfolio, &plan));
    plan.goes_on = goes_on(portfolio);
  }
  if (wants_third_round(portfolio)) {
    plan.moves = search_tuning.portfolio.third_round * moves;
    PLIM_TRY(run_round(portfolio, &plan));
  }
  if (end_ns == PLIM_TIME_UNLIMITED || options->iterations > 0) return PLIM_OK;
  return run_longer_rounds(portfolio, plim_now_ns() - begin_ns, end_ns);
}

plim_status plim_portfolio_run(plim_incumbent *inc, const plim_schedule *start) {
  plim_context *ctx = inc->problem->ctx;
  search_portfolio portfolio = {.inc = inc,
                                .start = start,
                                .lowest = {.ctx = ctx},
                                .lowest_bytes = INT64_MAX,
                                .n = inc->task.options->threads > 1 ? inc->task.options->threads : 1};
  plim_status status;
  if (portfolio.n > PLIM_BATCH_MOST) portfolio.n = PLIM_BATCH_MOST;
  PLIM_TRY(plim_allocate(ctx, portfolio.n, sizeof *portfolio.member, &portfolio.member));
  for (int32_t i = 0; i < portfolio.n; i++) PLIM_TRY_OR_DONE(begin_member(&portfolio, i));
  PLIM_TRY_OR_DONE(exchange_bests(&portfolio));
  status = run_rounds(&portfolio);
  for (int32_t i = 1; i < portfolio.n && inc->shared.front && (status == PLIM_OK || status == PLIM_ECANCEL); i++) {
    plim_status merged = plim_front_merge(inc->shared.front, &portfolio.member[i].front);
    if (merged != PLIM_OK) status = merged;
  }
done:
  for (int32_t i = 0; i < portfolio.n; i++) end_member(&portfolio, i);
  plim_schedule_free(&portfolio.lowest);
  plim_release(ctx, portfolio.member, portfolio.n, sizeof *portfolio.member);
  return status;
}

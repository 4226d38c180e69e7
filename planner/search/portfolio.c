/* The search for the fastest plan: rounds of annealing runs, by one searcher or by several on threads of their own.
 *
 * A *round* is a fixed series of annealing runs (short_round, long_round). Runs of a round differ in temperature, in
 * the mix of moves, and in where they start: from the schedule given (`order`) or from the best plan. After each run
 * the searchers exchange their bests. Without a time limit: two rounds, and a third where the numerics are given and
 * the bound is far. With one: more rounds, each four times as long as the one before, until the time is over. Where a
 * run from `order` stays above the limit, greedy covering and then the min-memory search look for any plan.
 *
 * Invariant: searcher 0 works for the caller's incumbent. Each other one has its own incumbent, on a fork of the
 * context and a copy of the problem that allocates there. Bests are merged in order of the searchers, so that without a
 * time limit the result depends on seed and number of threads, and not on timing. */
#include "planner/search/searches.h"

#include <assert.h>

#include "planner/search/search_tuning.h"
#include "planner/search/searcher.h"
#include "runtime/base/batch.h"
#include "runtime/base/effort.h"

/* A searcher with what it needs on its thread. */
typedef struct member {
  plim_context *ctx; /* NULL: the first, which has the context, problem and plan front of the caller */
  plim_problem problem;
  plim_front front;
  plim_incumbent *inc;
  plim_searcher searcher;
  plim_status status; /* of its last annealing run */
} member;

typedef struct portfolio {
  plim_incumbent *inc;        /* the caller's */
  const plim_schedule *order; /* where the first annealing run starts */
  int32_t n;
  member *member;            /* [n] */
  int32_t has_order_failed;  /* 1: runs no longer start from `order`, since one stayed above the limit */
  plim_schedule lowest;      /* the schedule of fewest bytes of the min-memory search; empty: it has not run */
  int32_t has_covered;       /* 1: covering has looked for a plan */
  uint64_t min_memory_tries; /* min-memory searches so far */
  atomic_int halt;           /* 1: a searcher has met the bound */
  /* the annealing run that goes on */
  int32_t run; /* index into the round */
  int64_t moves, deadline_ns;
} portfolio;

enum { SHORT_RUNS = sizeof short_round / sizeof short_round[0], LONG_RUNS = sizeof long_round / sizeof long_round[0] };

/* ---- searchers ---- */

/* Seeds of searchers must be far apart: splitmix64 gives overlapping streams for states that differ by its step. */
static uint64_t member_seed(uint64_t seed, int32_t i) {
  plim_random random = {seed + ((uint64_t)i << 32)};
  return i == 0 ? seed : plim_random_next(&random);
}

/* A member's failure, with its sentence: members but the first have a fork of the context, and the fork has its own. */
static plim_status of_member(const portfolio *p, const member *m, plim_status status) {
  if (status == PLIM_OK || !m->ctx) return status;
  return plim_fail(p->inc->problem->ctx, status, "%s", plim_context_error(m->ctx));
}

/* An incumbent of the member's own, in a fork of the context. */
static plim_status fork_member(const portfolio *p, member *m) {
  PLIM_TRY(plim_context_fork(p->inc->problem->ctx, &m->ctx));
  m->problem = *p->inc->problem;
  m->problem.ctx = m->front.ctx = m->ctx;
  PLIM_TRY(of_member(p, m, plim_incumbent_begin(&m->problem, p->inc->options, &m->inc)));
  plim_incumbent_start_at(m->inc, p->inc->started_ns);
  if (p->inc->front) plim_incumbent_share_front(m->inc, &m->front);
  return PLIM_OK;
}

static plim_status begin_member(portfolio *p, int32_t i) {
  member *m = &p->member[i];
  if (i == 0) m->inc = p->inc;
  if (i > 0) PLIM_TRY(fork_member(p, m));
  PLIM_TRY(of_member(p, m, plim_searcher_begin(m->inc, member_seed(p->inc->options->seed, i), &m->searcher)));
  if (p->n > 1 && p->inc->options->time_limit_ns > 0) m->searcher.halt = &p->halt;
  return PLIM_OK;
}

static void end_member(portfolio *p, int32_t i) {
  member *m = &p->member[i];
  plim_searcher_end(&m->searcher);
  if (i == 0) return;
  plim_incumbent_end(m->inc);
  plim_front_free(&m->front);
  plim_context_free(m->ctx);
}

/* Give every searcher the best plan of all; among equal ones, that of the first searcher. */
static plim_status exchange(portfolio *p) {
  for (int32_t i = 1; i < p->n; i++) PLIM_TRY(plim_incumbent_merge(p->inc, p->member[i].inc));
  for (int32_t i = 1; i < p->n; i++) {
    PLIM_TRY(of_member(p, &p->member[i], plim_incumbent_adopt(p->member[i].inc, p->inc)));
  }
  return PLIM_OK;
}

/* ---- annealing runs ---- */

static int is_long(const portfolio *p) {
  return p->inc->problem->n_ops > PLIM_LONG_OPS;
}

/* Where an annealing run starts. Without a plan it is the searcher's last candidate (in a long graph also one above the
 * limit), then the schedule of fewest bytes, then `order`. */
static const plim_schedule *find_start(const portfolio *p, const member *m, const plim_annealing *annealing) {
  const plim_searcher *searcher = &m->searcher;
  if (annealing->start == PLIM_START_ORDER && !p->has_order_failed) return p->order;
  if (m->inc->has_best) return &m->inc->best;
  if (searcher->candidate_ns > 0 || (is_long(p) && searcher->candidate.n > 0)) return &searcher->candidate;
  return p->lowest.n > 0 ? &p->lowest : p->order;
}

static void anneal_member(void *user, int32_t i) {
  portfolio *p = user;
  member *m = &p->member[i];
  const plim_annealing *annealing = (is_long(p) ? long_round : short_round) + p->run;
  m->status = plim_searcher_anneal(&m->searcher, annealing, find_start(p, m, annealing), p->moves, p->deadline_ns);
}

/* One annealing run by every searcher, then an exchange. A cancel is returned after the exchange. */
static plim_status anneal_members(portfolio *p) {
  plim_status status = PLIM_OK;
  plim_batch_run(anneal_member, p, p->n);
  for (int32_t i = 0; i < p->n; i++) {
    const member *m = &p->member[i];
    if (m->status == PLIM_OK) continue;
    status = m->status;
    if (status == PLIM_ECANCEL) continue;
    return of_member(p, m, status);
  }
  PLIM_TRY(exchange(p));
  return status;
}

/* Was a schedule within the limit in the last annealing run? */
static int met_candidate(const portfolio *p) {
  int met = 0;
  for (int32_t i = 0; i < p->n; i++) met |= p->member[i].searcher.candidate_ns > 0;
  return met;
}

/* Look for a plan by greedy covering. */
static plim_status find_by_covering(portfolio *p) {
  plim_incumbent *inc = p->inc;
  plim_schedule schedule = {.ctx = inc->problem->ctx};
  p->has_covered = 1;
  plim_status status = plim_schedule_copy(&schedule, p->order);
  if (status == PLIM_OK) {
    status = plim_seed_covering(inc, inc->budget_bytes, search_tuning.portfolio.covering_rounds,
                                plim_incumbent_deadline(inc, 100), &schedule);
  }
  if (status == PLIM_OK) status = exchange(p);
  plim_schedule_free(&schedule);
  return status;
}

/* Look for any plan: by covering, then by the min-memory search, which gets another seed each time. A long graph was
 * covered before the first round. A brief search has no min-memory search. */
static plim_status find_any(portfolio *p) {
  plim_incumbent *inc = p->inc, *min_memory = NULL;
  if (!p->has_covered && !is_long(p)) PLIM_TRY(find_by_covering(p));
  if (inc->has_best || inc->options->brief) return PLIM_OK;
  int64_t limit_ns = inc->options->time_limit_ns;
  plim_child task = {.min_memory = 1, .seed_step = p->min_memory_tries++ << 32};
  if (limit_ns > 0) task.time_limit_ns = plim_effort_share(limit_ns, 2) + (plim_now_ns() - inc->started_ns) / 2;
  PLIM_TRY(plim_incumbent_child(inc, &task, &min_memory));
  plim_incumbent_start_at(min_memory, inc->started_ns);
  plim_incumbent_share_keep_all(min_memory, inc->keep_all);
  plim_status status = plim_min_memory_run(min_memory);
  if (status == PLIM_OK || status == PLIM_ECANCEL) {
    plim_status copied = plim_schedule_copy(&p->lowest, &min_memory->best);
    if (copied != PLIM_OK) status = copied;
  }
  status = plim_incumbent_join(inc, min_memory, status);
  if (status != PLIM_OK && status != PLIM_ECANCEL) return status;
  plim_status exchanged = exchange(p);
  return exchanged == PLIM_OK ? status : exchanged;
}

/* ---- rounds ---- */

/* Bytes up to which a schedule is near the budget. */
static int64_t near(const plim_incumbent *inc) {
  return inc->budget_bytes + inc->budget_bytes / search_tuning.portfolio.near_part;
}

/* May the min-memory search run once more? It depends on random numbers: one that ended near the budget may meet it
 * with another seed. */
static int may_try(const portfolio *p) {
  if (p->inc->options->brief) return 0;
  if (p->min_memory_tries == 0 || p->inc->options->time_limit_ns > 0) return 1;
  return p->min_memory_tries < (uint64_t)search_tuning.portfolio.min_memory_tries &&
         p->inc->least_bytes <= near(p->inc);
}

/* One round: its annealing runs share `moves`, and the time until end_ns. */
static plim_status run_round(portfolio *p, int64_t moves, int64_t end_ns) {
  const plim_annealing *annealing = is_long(p) ? long_round : short_round;
  int32_t percent_left = 100;
  for (p->run = 0; p->run < (is_long(p) ? LONG_RUNS : SHORT_RUNS) && !plim_incumbent_proved(p->inc);
       p->run++, annealing++) {
    p->moves = moves / 100 * annealing->percent + moves % 100 * annealing->percent / 100;
    p->deadline_ns = INT64_MAX;
    if (end_ns < INT64_MAX) {
      int64_t now_ns = plim_now_ns();
      p->deadline_ns = now_ns + (end_ns - now_ns) / percent_left * annealing->percent;
      if (now_ns >= end_ns) return PLIM_OK;
    }
    percent_left -= annealing->percent;
    PLIM_TRY(anneal_members(p));
    if (p->inc->has_best || p->has_order_failed || is_long(p) || met_candidate(p)) continue;
    p->has_order_failed = 1;
    PLIM_TRY(find_any(p));
  }
  p->has_order_failed |= !p->inc->has_best;
  while (!p->inc->has_best && plim_now_ns() < end_ns && may_try(p)) {
    PLIM_TRY(find_any(p));
    if (end_ns < INT64_MAX) break; /* the next round does so again */
  }
  return PLIM_OK;
}

/* Where covering has found no plan for a long graph, run the min-memory search before any annealing. *refused is 1
 * where that and the covered schedule both stay far above the budget: annealing hardly lowers the peak of a long graph,
 * and millions of moves would end in the same refusal. Not with limits, which say how much work is wanted. */
static plim_status look_ahead(portfolio *p, int32_t *refused) {
  plim_incumbent *inc = p->inc;
  *refused = 0;
  if (!is_long(p) || inc->has_best || inc->options->time_limit_ns > 0 || inc->options->iterations > 0) return PLIM_OK;
  PLIM_TRY(find_any(p));
  const plim_timeline *order = NULL;
  PLIM_TRY(plim_incumbent_evaluate(inc, p->order, &order));
  *refused = !inc->has_best && inc->least_bytes > near(inc) && order->peak_bytes > near(inc);
  return PLIM_OK;
}

/* Few moves from program order end above what covering finds. Not in a long graph, which was covered before, nor where
 * the best is near its bound. */
static int wants_covering(const portfolio *p) {
  const plim_incumbent *inc = p->inc;
  int64_t near_ns = inc->problem->keep_all_ns / 1000 * search_tuning.portfolio.near_permille;
  return inc->options->brief && !is_long(p) && !(inc->has_best && inc->best_ns - inc->bound_ns <= near_ns);
}

/* A third round follows where the numerics are given, the plan is far from its bound, and there are no limits. With
 * given numerics an op cannot change to a kernel of less workspace. So the search needs other sets of recomputed ops,
 * which short annealing runs often miss. */
static int wants_third_round(const portfolio *p) {
  const plim_incumbent *inc = p->inc;
  const plim_plan_options *options = inc->options;
  if (!inc->problem->fixed_numerics || !inc->has_best || is_long(p)) return 0;
  if (options->iterations > 0 || options->time_limit_ns > 0) return 0;
  return inc->best_ns - inc->bound_ns > inc->problem->keep_all_ns / 100 * search_tuning.portfolio.far_percent;
}

static plim_status run_rounds(portfolio *p) {
  plim_incumbent *inc = p->inc;
  const plim_plan_options *options = inc->options;
  int64_t moves = options->iterations > 0 ? options->iterations
                                          : search_tuning.portfolio.moves_an_op * (int64_t)inc->problem->n_ops;
  int64_t begin_ns = plim_now_ns(), end_ns = plim_incumbent_deadline(inc, 100);
  int32_t refused;
  PLIM_TRY(look_ahead(p, &refused));
  if (wants_covering(p)) PLIM_TRY(find_by_covering(p));
  for (int32_t round = 0; round < search_tuning.portfolio.rounds && !refused && !plim_incumbent_proved(p->inc);
       round++) {
    PLIM_TRY(run_round(p, moves / search_tuning.portfolio.rounds, end_ns));
    p->has_order_failed |= is_long(p);
  }
  if (wants_third_round(p)) PLIM_TRY(run_round(p, search_tuning.portfolio.third_round * moves, end_ns));
  if (end_ns == INT64_MAX || options->iterations > 0) return PLIM_OK;
  const int32_t factor = search_tuning.portfolio.round_factor;
  for (int64_t round_ns = factor * (plim_now_ns() - begin_ns); !plim_incumbent_proved(p->inc) && plim_now_ns() < end_ns;
       round_ns *= factor) { /* the last one takes all the time that is left */
    int64_t now_ns = plim_now_ns(), last = end_ns - now_ns < 2 * round_ns;
    PLIM_TRY(run_round(p, INT64_MAX / 2, last ? end_ns : now_ns + round_ns));
  }
  return PLIM_OK;
}

plim_status plim_portfolio_run(plim_incumbent *inc, const plim_schedule *order) {
  plim_context *ctx = inc->problem->ctx;
  portfolio p = {
      .inc = inc, .order = order, .lowest = {.ctx = ctx}, .n = inc->options->threads > 1 ? inc->options->threads : 1};
  plim_status status;
  if (p.n > PLIM_BATCH_MOST) p.n = PLIM_BATCH_MOST;
  PLIM_TRY(plim_allocate(ctx, p.n, sizeof *p.member, &p.member));
  for (int32_t i = 0; i < p.n; i++) PLIM_CHECK(begin_member(&p, i));
  PLIM_CHECK(exchange(&p));
  status = run_rounds(&p);
  for (int32_t i = 1; i < p.n && inc->front && (status == PLIM_OK || status == PLIM_ECANCEL); i++) {
    plim_status merged = plim_front_merge(inc->front, &p.member[i].front);
    if (merged != PLIM_OK) status = merged;
  }
done:
  for (int32_t i = 0; i < p.n; i++) end_member(&p, i);
  plim_schedule_free(&p.lowest);
  plim_release(ctx, p.member, p.n, sizeof *p.member);
  return status;
}

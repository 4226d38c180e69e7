/* Domains, reasons and learned clauses of the constraint search.
 *
 * Invariants: each clause has two watched bounds, and is looked at only when one of them is denied; a side of a
 * variable occurs in a clause at most once; reasons lie in one pool, which shrinks with the trail. */
#include "planner/exact/moccasin_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "planner/exact/exact_tuning.h"
#include "runtime/base/array.h"

enum { UNTOUCHED = -1, RESOLVED = -2 }; /* instead of a change that is needed */

plim_status plim_lazy_clauses_make(plim_context *ctx, int32_t n, const int32_t *low, const int32_t *high,
                                   plim_lazy_clauses *out) {
  plim_lazy_clauses clauses = {.ctx = ctx, .n_variables = n, .bump = 1, .clause_bump = 1};
  int64_t sides = 2 * (int64_t)n + 1;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, sides, sizeof *clauses.least, &clauses.least));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, sides, sizeof *clauses.latest, &clauses.latest));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, sides, sizeof *clauses.watch, &clauses.watch));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, sides, sizeof *clauses.activity, &clauses.activity));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, sides, sizeof *clauses.need_at, &clauses.need_at));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, sides, sizeof *clauses.need_least, &clauses.need_least));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, sides, sizeof *clauses.touched, &clauses.touched));
  for (int32_t x = 0; x < n; x++) {
    clauses.least[2 * x] = low[x];
    clauses.least[2 * x + 1] = -high[x];
  }
  for (int32_t s = 0; s < 2 * n; s++) clauses.latest[s] = clauses.need_at[s] = -1;
  *out = clauses;
done:
  if (status != PLIM_OK) plim_lazy_clauses_free(&clauses);
  return status;
}

static void release_pool(plim_lazy_clauses *clauses, plim_lazy_clauses_pool *pool) {
  plim_release(clauses->ctx, pool->at, pool->capacity, sizeof *pool->at);
}

void plim_lazy_clauses_free(plim_lazy_clauses *clauses) {
  if (!clauses->ctx) return;
  plim_context *ctx = clauses->ctx;
  int64_t sides = 2 * (int64_t)clauses->n_variables + 1;
  for (int32_t s = 0; clauses->watch && s < 2 * clauses->n_variables; s++) {
    plim_release(ctx, clauses->watch[s].at, clauses->watch[s].capacity, sizeof *clauses->watch[s].at);
  }
  plim_release(ctx, clauses->least, sides, sizeof *clauses->least);
  plim_release(ctx, clauses->latest, sides, sizeof *clauses->latest);
  plim_release(ctx, clauses->watch, sides, sizeof *clauses->watch);
  plim_release(ctx, clauses->activity, sides, sizeof *clauses->activity);
  plim_release(ctx, clauses->need_at, sides, sizeof *clauses->need_at);
  plim_release(ctx, clauses->need_least, sides, sizeof *clauses->need_least);
  plim_release(ctx, clauses->touched, sides, sizeof *clauses->touched);
  plim_release(ctx, clauses->trail, clauses->trail_capacity, sizeof *clauses->trail);
  plim_release(ctx, clauses->level, clauses->level_capacity, sizeof *clauses->level);
  plim_release(ctx, clauses->clause, clauses->clause_capacity, sizeof *clauses->clause);
  release_pool(clauses, &clauses->reasons);
  release_pool(clauses, &clauses->literals);
  release_pool(clauses, &clauses->conflict);
  release_pool(clauses, &clauses->learned);
  *clauses = (plim_lazy_clauses){0};
}

/* ---- bounds ---- */

static plim_status add_to(plim_context *ctx, plim_lazy_clauses_pool *pool, plim_lazy_clauses_bound b) {
  PLIM_TRY(plim_array_reserve(ctx, &pool->at, &pool->capacity, (int64_t)pool->n + 1, sizeof *pool->at));
  pool->at[pool->n++] = b;
  return PLIM_OK;
}

plim_status plim_lazy_clauses_note(plim_lazy_clauses *clauses, plim_lazy_clauses_bound b) {
  return add_to(clauses->ctx, &clauses->reasons, b);
}

int32_t plim_lazy_clauses_change_of(const plim_lazy_clauses *clauses, plim_lazy_clauses_bound b) {
  int32_t at = clauses->latest[b.side];
  while (at >= 0 && clauses->trail[at].before >= b.least) at = clauses->trail[at].previous;
  return at >= 0 && clauses->trail[at].level == 0 ? -1 : at;
}

static plim_status move_bound(plim_lazy_clauses *clauses, plim_lazy_clauses_bound b, int32_t clause, int32_t begin,
                              int32_t end) {
  PLIM_TRY(plim_array_reserve(clauses->ctx, &clauses->trail, &clauses->trail_capacity, (int64_t)clauses->n_trail + 1,
                              sizeof *clauses->trail));
  clauses->trail[clauses->n_trail] = (plim_lazy_clauses_change){.side = b.side,
                                                                .before = clauses->least[b.side],
                                                                .previous = clauses->latest[b.side],
                                                                .level = clauses->n_levels,
                                                                .clause = clause,
                                                                .begin = begin,
                                                                .end = end};
  clauses->least[b.side] = b.least;
  clauses->latest[b.side] = clauses->n_trail++;
  return PLIM_OK;
}

plim_status plim_lazy_clauses_open(plim_lazy_clauses *clauses) {
  PLIM_TRY(plim_array_reserve(clauses->ctx, &clauses->level, &clauses->level_capacity, (int64_t)clauses->n_levels + 1,
                              sizeof *clauses->level));
  clauses->level[clauses->n_levels++] = (plim_lazy_clauses_level){clauses->n_trail, clauses->reasons.n, 0};
  return PLIM_OK;
}

plim_status plim_lazy_clauses_decide(plim_lazy_clauses *clauses, plim_lazy_clauses_bound b) {
  assert(!plim_lazy_clauses_holds(clauses, b) && !plim_lazy_clauses_denied(clauses, b));
  return move_bound(clauses, b, -1, 0, 0);
}

void plim_lazy_clauses_back(plim_lazy_clauses *clauses, int32_t levels) {
  clauses->has_failed = 0;
  if (levels >= clauses->n_levels) return;
  plim_lazy_clauses_level to = clauses->level[levels];
  while (clauses->n_trail > to.n_trail) {
    const plim_lazy_clauses_change *c = &clauses->trail[--clauses->n_trail];
    clauses->least[c->side] = c->before;
    clauses->latest[c->side] = c->previous;
  }
  clauses->reasons.n = to.n_reasons;
  clauses->n_levels = levels;
  if (clauses->next > clauses->n_trail) clauses->next = clauses->n_trail;
}

plim_status plim_lazy_clauses_fail(plim_lazy_clauses *clauses, int32_t begin) {
  clauses->conflict.n = 0;
  clauses->has_failed = 1;
  for (int32_t i = begin; i < clauses->reasons.n; i++) {
    PLIM_TRY(add_to(clauses->ctx, &clauses->conflict, clauses->reasons.at[i]));
  }
  return PLIM_OK;
}

plim_status plim_lazy_clauses_imply(plim_lazy_clauses *clauses, plim_lazy_clauses_bound b, int32_t begin) {
  if (plim_lazy_clauses_holds(clauses, b)) return PLIM_OK;
  if (!plim_lazy_clauses_denied(clauses, b)) return move_bound(clauses, b, -1, begin, clauses->reasons.n);
  PLIM_TRY(plim_lazy_clauses_fail(clauses, begin));
  return add_to(clauses->ctx, &clauses->conflict, plim_lazy_clauses_not(b));
}

/* ---- clauses ---- */

static plim_status watch_bound(plim_lazy_clauses *clauses, plim_lazy_clauses_bound b, int32_t clause) {
  plim_lazy_clauses_bound denial = plim_lazy_clauses_not(b);
  plim_lazy_clauses_watches *watches = &clauses->watch[denial.side];
  PLIM_TRY(
      plim_array_reserve(clauses->ctx, &watches->at, &watches->capacity, (int64_t)watches->n + 1, sizeof *watches->at));
  watches->at[watches->n++] = (plim_lazy_clauses_watch){clause, denial.least};
  return PLIM_OK;
}

/* A clause whose watched bound is denied: *kept 0 when another one is watched now. */
static plim_status visit_clause(plim_lazy_clauses *clauses, int32_t side, plim_lazy_clauses_watch w, int *kept) {
  const plim_lazy_clauses_clause *c = &clauses->clause[w.clause];
  plim_lazy_clauses_bound *b = clauses->literals.at + c->begin;
  *kept = 1;
  if (b[0].side == (side ^ 1)) {
    plim_lazy_clauses_bound other = b[1];
    b[1] = b[0];
    b[0] = other;
  }
  if (plim_lazy_clauses_holds(clauses, b[0])) return PLIM_OK;
  for (int32_t i = 2; i < c->n; i++) {
    if (plim_lazy_clauses_denied(clauses, b[i])) continue;
    plim_lazy_clauses_bound other = b[i];
    b[i] = b[1];
    b[1] = other;
    *kept = 0;
    return watch_bound(clauses, other, w.clause);
  }
  if (!plim_lazy_clauses_denied(clauses, b[0])) return move_bound(clauses, b[0], w.clause, 0, 0);
  clauses->has_failed = 1;
  clauses->conflict.n = 0;
  for (int32_t i = 0; i < c->n; i++) PLIM_TRY(add_to(clauses->ctx, &clauses->conflict, plim_lazy_clauses_not(b[i])));
  return PLIM_OK;
}

static plim_status show_change(plim_lazy_clauses *clauses, int32_t side, int32_t before) {
  plim_lazy_clauses_watches *list = &clauses->watch[side];
  plim_status status = PLIM_OK;
  int32_t to = 0, i = 0;
  for (; i < list->n && status == PLIM_OK && !clauses->has_failed; i++) {
    plim_lazy_clauses_watch w = list->at[i];
    int kept = 1;
    if (w.at > before && w.at <= clauses->least[side]) status = visit_clause(clauses, side, w, &kept);
    if (kept) list->at[to++] = w;
  }
  for (; i < list->n; i++) list->at[to++] = list->at[i];
  list->n = to;
  return status;
}

plim_status plim_lazy_clauses_propagate(plim_lazy_clauses *clauses) {
  while (clauses->next < clauses->n_trail && !clauses->has_failed) {
    plim_lazy_clauses_change c = clauses->trail[clauses->next++];
    PLIM_TRY(show_change(clauses, c.side, c.before));
  }
  return PLIM_OK;
}

/* ---- learning ---- */

static void mark_needed(plim_lazy_clauses *clauses, plim_lazy_clauses_bound b, int32_t *here) {
  int32_t at = plim_lazy_clauses_change_of(clauses, b), side = b.side;
  if (at < 0 || (clauses->need_at[side] >= 0 && clauses->need_least[side] >= b.least)) return;
  if (clauses->need_at[side] < 0) {
    if (clauses->need_at[side] == UNTOUCHED) clauses->touched[clauses->n_touched++] = side;
    clauses->activity[side / 2] += clauses->bump;
  } else {
    *here -= clauses->trail[clauses->need_at[side]].level == clauses->n_levels;
  }
  *here += clauses->trail[at].level == clauses->n_levels;
  clauses->need_at[side] = at;
  clauses->need_least[side] = b.least;
}

static void need_reasons(plim_lazy_clauses *clauses, const plim_lazy_clauses_change *c, int32_t *here) {
  if (c->clause < 0) {
    for (int32_t i = c->begin; i < c->end; i++) mark_needed(clauses, clauses->reasons.at[i], here);
    return;
  }
  plim_lazy_clauses_clause *clause = &clauses->clause[c->clause];
  clause->activity += clauses->clause_bump;
  for (int32_t i = 1; i < clause->n; i++) {
    mark_needed(clauses, plim_lazy_clauses_not(clauses->literals.at[clause->begin + i]), here);
  }
}

/* By a change before `at`: what comes after may itself be left out because of that one. */
static int is_needed(const plim_lazy_clauses *clauses, plim_lazy_clauses_bound b, int32_t at) {
  int32_t need_at = clauses->need_at[b.side];
  return plim_lazy_clauses_change_of(clauses, b) < 0 ||
         (need_at >= 0 && need_at < at && clauses->need_least[b.side] >= b.least);
}

/* Do other bounds of the clause imply this one? */
static int is_implied(const plim_lazy_clauses *clauses, int32_t at) {
  const plim_lazy_clauses_change *c = &clauses->trail[at];
  if (c->clause >= 0) {
    const plim_lazy_clauses_clause *clause = &clauses->clause[c->clause];
    for (int32_t i = 1; i < clause->n; i++) {
      if (!is_needed(clauses, plim_lazy_clauses_not(clauses->literals.at[clause->begin + i]), at)) return 0;
    }
    return 1;
  }
  for (int32_t i = c->begin; i < c->end; i++) {
    if (!is_needed(clauses, clauses->reasons.at[i], at)) return 0;
  }
  return c->end > c->begin;
}

/* The clause: not all of what is needed, the bound of the latest level first, then the one of the level before. */
static plim_status collect_learned(plim_lazy_clauses *clauses, int32_t uip) {
  plim_lazy_clauses_pool *out = &clauses->learned;
  int32_t side = clauses->trail[uip].side, second = 1;
  out->n = 0;
  PLIM_TRY(
      add_to(clauses->ctx, out, plim_lazy_clauses_not((plim_lazy_clauses_bound){side, clauses->need_least[side]})));
  for (int32_t i = 0; i < clauses->n_touched; i++) {
    int32_t s = clauses->touched[i], at = clauses->need_at[s];
    if (at < 0 || at == uip || is_implied(clauses, at)) continue;
    PLIM_TRY(add_to(clauses->ctx, out, plim_lazy_clauses_not((plim_lazy_clauses_bound){s, clauses->need_least[s]})));
    int32_t best = out->n > 2 ? clauses->need_at[out->at[second].side ^ 1] : -1;
    if (best < 0 || clauses->trail[at].level > clauses->trail[best].level) second = out->n - 1;
  }
  if (out->n > 2) {
    plim_lazy_clauses_bound b = out->at[1];
    out->at[1] = out->at[second];
    out->at[second] = b;
  }
  return PLIM_OK;
}

static int32_t count_levels(plim_lazy_clauses *clauses) {
  int32_t n = 0;
  clauses->mark++;
  for (int32_t i = 0; i < clauses->learned.n; i++) {
    plim_lazy_clauses_level *level =
        &clauses->level[clauses->trail[clauses->need_at[clauses->learned.at[i].side ^ 1]].level - 1];
    n += level->mark != clauses->mark;
    level->mark = clauses->mark;
  }
  return n;
}

static plim_status add_clause(plim_lazy_clauses *clauses, int32_t levels) {
  PLIM_TRY(plim_array_reserve(clauses->ctx, &clauses->clause, &clauses->clause_capacity,
                              (int64_t)clauses->n_clauses + 1, sizeof *clauses->clause));
  plim_lazy_clauses_clause c = {clauses->literals.n, clauses->learned.n, levels, clauses->clause_bump};
  for (int32_t i = 0; i < c.n; i++) PLIM_TRY(add_to(clauses->ctx, &clauses->literals, clauses->learned.at[i]));
  PLIM_TRY(watch_bound(clauses, clauses->learned.at[0], clauses->n_clauses));
  PLIM_TRY(watch_bound(clauses, clauses->learned.at[1], clauses->n_clauses));
  clauses->clause[clauses->n_clauses++] = c;
  return PLIM_OK;
}

static void forget_needs(plim_lazy_clauses *clauses) {
  for (int32_t i = 0; i < clauses->n_touched; i++) clauses->need_at[clauses->touched[i]] = UNTOUCHED;
  clauses->n_touched = 0;
}

static void age_activities(plim_lazy_clauses *clauses) {
  clauses->bump *= exact_tuning.search.activity_growth;
  clauses->clause_bump *= (float)exact_tuning.search.clause_growth;
  if (clauses->bump > 1e100) {
    for (int32_t x = 0; x < clauses->n_variables; x++) clauses->activity[x] *= 1e-100;
    clauses->bump *= 1e-100;
  }
  if (clauses->clause_bump > 1e20F) {
    for (int32_t i = 0; i < clauses->n_clauses; i++) clauses->clause[i].activity *= 1e-20F;
    clauses->clause_bump *= 1e-20F;
  }
}

/* Resolve from the end of the trail until one change of the latest level is left. */
static int32_t resolve_conflict(plim_lazy_clauses *clauses, int32_t here) {
  int32_t at = clauses->n_trail - 1;
  for (;; at--) {
    const plim_lazy_clauses_change *c = &clauses->trail[at];
    if (clauses->need_at[c->side] != at) continue;
    if (here == 1) return at;
    clauses->need_at[c->side] = RESOLVED;
    here--;
    need_reasons(clauses, c, &here);
  }
}

plim_status plim_lazy_clauses_learn(plim_lazy_clauses *clauses, int *refuted) {
  int32_t level = 0, here = 0;
  for (int32_t i = 0; i < clauses->conflict.n; i++) {
    int32_t at = plim_lazy_clauses_change_of(clauses, clauses->conflict.at[i]);
    if (at >= 0 && clauses->trail[at].level > level) level = clauses->trail[at].level;
  }
  *refuted = level == 0;
  if (*refuted) return PLIM_OK;
  plim_lazy_clauses_back(clauses, level);
  for (int32_t i = 0; i < clauses->conflict.n; i++) mark_needed(clauses, clauses->conflict.at[i], &here);
  int32_t uip = resolve_conflict(clauses, here);
  plim_status status = collect_learned(clauses, uip);
  int32_t levels = status == PLIM_OK ? count_levels(clauses) : 0, clause = -1, to = 0;
  if (clauses->learned.n > 1 && status == PLIM_OK) {
    to = clauses->trail[clauses->need_at[clauses->learned.at[1].side ^ 1]].level;
  }
  forget_needs(clauses);
  PLIM_TRY(status);
  plim_lazy_clauses_back(clauses, to);
  if (clauses->learned.n > 1) {
    clause = clauses->n_clauses;
    PLIM_TRY(add_clause(clauses, levels));
  }
  age_activities(clauses);
  return move_bound(clauses, clauses->learned.at[0], clause, 0, 0);
}

/* ---- forgetting ---- */

static int holds_for_good(const plim_lazy_clauses *clauses, const plim_lazy_clauses_clause *c) {
  for (int32_t i = 0; i < c->n; i++) {
    if (plim_lazy_clauses_holds(clauses, clauses->literals.at[c->begin + i])) return 1;
  }
  return 0;
}

static int is_better(const plim_lazy_clauses_clause *a, const plim_lazy_clauses_clause *b) {
  int close_a = a->levels <= 2, close_b = b->levels <= 2;
  if (close_a != close_b) return close_a;
  if (a->activity < b->activity || a->activity > b->activity) return a->activity > b->activity;
  return a->begin > b->begin;
}

static int by_worth(const void *a, const void *b) {
  return is_better(a, b) ? -1 : is_better(b, a);
}

/* Bounds that are denied for good are left out, but for the two watched ones, which are not denied where the clause
 * does not hold. */
static plim_status keep_clause(plim_lazy_clauses *clauses, const plim_lazy_clauses_clause *from,
                               plim_lazy_clauses_pool *to) {
  plim_lazy_clauses_clause c = *from;
  c.begin = to->n;
  for (int32_t i = 0; i < from->n; i++) {
    plim_lazy_clauses_bound b = clauses->literals.at[from->begin + i];
    if (i < 2 || !plim_lazy_clauses_denied(clauses, b)) PLIM_TRY(add_to(clauses->ctx, to, b));
  }
  c.n = to->n - c.begin;
  assert(c.n >= 2 && to->at);
  PLIM_TRY(watch_bound(clauses, to->at[c.begin], clauses->n_clauses));
  PLIM_TRY(watch_bound(clauses, to->at[c.begin + 1], clauses->n_clauses));
  clauses->clause[clauses->n_clauses++] = c;
  return PLIM_OK;
}

plim_status plim_lazy_clauses_forget(plim_lazy_clauses *clauses, int32_t max_clauses) {
  int32_t n = 0, left = clauses->n_clauses;
  plim_lazy_clauses_pool to = {0};
  plim_status status = PLIM_OK;
  for (int32_t i = 0; i < left; i++) {
    if (!holds_for_good(clauses, &clauses->clause[i])) clauses->clause[n++] = clauses->clause[i];
  }
  if (n > 0) qsort(clauses->clause, (size_t)n, sizeof *clauses->clause, by_worth);
  for (int32_t s = 0; s < 2 * clauses->n_variables; s++) clauses->watch[s].n = 0;
  clauses->n_clauses = 0;
  for (int32_t i = 0; i < n && i < max_clauses && status == PLIM_OK; i++) {
    status = keep_clause(clauses, &clauses->clause[i], &to);
  }
  release_pool(clauses, &clauses->literals);
  clauses->literals = to;
  clauses->reasons.n = 0; /* no one asks for those of facts */
  return status;
}

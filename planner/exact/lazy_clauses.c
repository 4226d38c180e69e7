/* Domains, reasons and learned clauses of the constraint search.
 *
 * Invariants: each clause has two watched bounds, and is looked at only when one of them is denied; a side of a
 * variable occurs in a clause at most once; reasons lie in one pool, which shrinks with the trail. */
#include "planner/exact/lazy_clauses.h"
#include "planner/exact/exact_tuning.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { UNTOUCHED = -1, RESOLVED = -2 }; /* instead of a change that is needed */

plim_status plim_lazy_clauses_make(plim_context *ctx, int32_t n, const int32_t *low, const int32_t *high,
                                   plim_lazy_clauses *out) {
  plim_lazy_clauses l = {.ctx = ctx, .n_variables = n, .bump = 1, .clause_bump = 1};
  int64_t sides = 2 * (int64_t)n + 1;
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, sides, sizeof *l.least, &l.least));
  PLIM_CHECK(plim_allocate(ctx, sides, sizeof *l.latest, &l.latest));
  PLIM_CHECK(plim_allocate(ctx, sides, sizeof *l.watch, &l.watch));
  PLIM_CHECK(plim_allocate(ctx, sides, sizeof *l.activity, &l.activity));
  PLIM_CHECK(plim_allocate(ctx, sides, sizeof *l.need_at, &l.need_at));
  PLIM_CHECK(plim_allocate(ctx, sides, sizeof *l.need_least, &l.need_least));
  PLIM_CHECK(plim_allocate(ctx, sides, sizeof *l.touched, &l.touched));
  for (int32_t x = 0; x < n; x++) {
    l.least[2 * x] = low[x];
    l.least[2 * x + 1] = -high[x];
  }
  for (int32_t s = 0; s < 2 * n; s++) l.latest[s] = l.need_at[s] = -1;
  *out = l;
done:
  if (status != PLIM_OK) plim_lazy_clauses_free(&l);
  return status;
}

static void release_pool(plim_lazy_clauses *l, plim_lazy_clauses_pool *pool) {
  plim_release(l->ctx, pool->at, pool->room, sizeof *pool->at);
}

void plim_lazy_clauses_free(plim_lazy_clauses *l) {
  if (!l->ctx) return;
  plim_context *ctx = l->ctx;
  int64_t sides = 2 * (int64_t)l->n_variables + 1;
  for (int32_t s = 0; l->watch && s < 2 * l->n_variables; s++) {
    plim_release(ctx, l->watch[s].at, l->watch[s].room, sizeof *l->watch[s].at);
  }
  plim_release(ctx, l->least, sides, sizeof *l->least);
  plim_release(ctx, l->latest, sides, sizeof *l->latest);
  plim_release(ctx, l->watch, sides, sizeof *l->watch);
  plim_release(ctx, l->activity, sides, sizeof *l->activity);
  plim_release(ctx, l->need_at, sides, sizeof *l->need_at);
  plim_release(ctx, l->need_least, sides, sizeof *l->need_least);
  plim_release(ctx, l->touched, sides, sizeof *l->touched);
  plim_release(ctx, l->trail, l->room_trail, sizeof *l->trail);
  plim_release(ctx, l->level, l->room_levels, sizeof *l->level);
  plim_release(ctx, l->clause, l->room_clauses, sizeof *l->clause);
  release_pool(l, &l->reasons);
  release_pool(l, &l->literals);
  release_pool(l, &l->conflict);
  release_pool(l, &l->learned);
  *l = (plim_lazy_clauses){0};
}

/* ---- bounds ---- */

static plim_status add_to(plim_context *ctx, plim_lazy_clauses_pool *pool, plim_lazy_clauses_bound b) {
  if (pool->n == pool->room) {
    int32_t room = 2 * pool->room + 256;
    PLIM_TRY(plim_resize_array(ctx, &pool->at, pool->room, room, sizeof *pool->at));
    pool->room = room;
  }
  pool->at[pool->n++] = b;
  return PLIM_OK;
}

plim_status plim_lazy_clauses_note(plim_lazy_clauses *l, plim_lazy_clauses_bound b) {
  return add_to(l->ctx, &l->reasons, b);
}

int32_t plim_lazy_clauses_change_of(const plim_lazy_clauses *l, plim_lazy_clauses_bound b) {
  int32_t at = l->latest[b.side];
  while (at >= 0 && l->trail[at].before >= b.least) at = l->trail[at].previous;
  return at >= 0 && l->trail[at].level == 0 ? -1 : at;
}

static plim_status move(plim_lazy_clauses *l, plim_lazy_clauses_bound b, int32_t clause, int32_t begin, int32_t end) {
  if (l->n_trail == l->room_trail) {
    int32_t room = 2 * l->room_trail + 256;
    PLIM_TRY(plim_resize_array(l->ctx, &l->trail, l->room_trail, room, sizeof *l->trail));
    l->room_trail = room;
  }
  l->trail[l->n_trail] = (plim_lazy_clauses_change){.side = b.side,
                                                    .before = l->least[b.side],
                                                    .previous = l->latest[b.side],
                                                    .level = l->n_levels,
                                                    .clause = clause,
                                                    .begin = begin,
                                                    .end = end};
  l->least[b.side] = b.least;
  l->latest[b.side] = l->n_trail++;
  return PLIM_OK;
}

plim_status plim_lazy_clauses_open(plim_lazy_clauses *l) {
  if (l->n_levels == l->room_levels) {
    int32_t room = 2 * l->room_levels + 64;
    PLIM_TRY(plim_resize_array(l->ctx, &l->level, l->room_levels, room, sizeof *l->level));
    l->room_levels = room;
  }
  l->level[l->n_levels++] = (plim_lazy_clauses_level){l->n_trail, l->reasons.n, 0};
  return PLIM_OK;
}

plim_status plim_lazy_clauses_decide(plim_lazy_clauses *l, plim_lazy_clauses_bound b) {
  assert(!plim_lazy_clauses_holds(l, b) && !plim_lazy_clauses_denied(l, b));
  return move(l, b, -1, 0, 0);
}

void plim_lazy_clauses_back(plim_lazy_clauses *l, int32_t levels) {
  l->failed = 0;
  if (levels >= l->n_levels) return;
  plim_lazy_clauses_level to = l->level[levels];
  while (l->n_trail > to.n_trail) {
    const plim_lazy_clauses_change *c = &l->trail[--l->n_trail];
    l->least[c->side] = c->before;
    l->latest[c->side] = c->previous;
  }
  l->reasons.n = to.n_reasons;
  l->n_levels = levels;
  if (l->next > l->n_trail) l->next = l->n_trail;
}

plim_status plim_lazy_clauses_fail(plim_lazy_clauses *l, int32_t begin) {
  l->conflict.n = 0;
  l->failed = 1;
  for (int32_t i = begin; i < l->reasons.n; i++) PLIM_TRY(add_to(l->ctx, &l->conflict, l->reasons.at[i]));
  return PLIM_OK;
}

plim_status plim_lazy_clauses_imply(plim_lazy_clauses *l, plim_lazy_clauses_bound b, int32_t begin) {
  if (plim_lazy_clauses_holds(l, b)) return PLIM_OK;
  if (!plim_lazy_clauses_denied(l, b)) return move(l, b, -1, begin, l->reasons.n);
  PLIM_TRY(plim_lazy_clauses_fail(l, begin));
  return add_to(l->ctx, &l->conflict, plim_lazy_clauses_not(b));
}

/* ---- clauses ---- */

static plim_status watch(plim_lazy_clauses *l, plim_lazy_clauses_bound b, int32_t clause) {
  plim_lazy_clauses_bound denial = plim_lazy_clauses_not(b);
  plim_lazy_clauses_watches *w = &l->watch[denial.side];
  if (w->n == w->room) {
    int32_t room = 2 * w->room + 8;
    PLIM_TRY(plim_resize_array(l->ctx, &w->at, w->room, room, sizeof *w->at));
    w->room = room;
  }
  w->at[w->n++] = (plim_lazy_clauses_watch){clause, denial.least};
  return PLIM_OK;
}

/* A clause whose watched bound is denied: *kept 0 when another one is watched now. */
static plim_status visit(plim_lazy_clauses *l, int32_t side, plim_lazy_clauses_watch w, int32_t *kept) {
  const plim_lazy_clauses_clause *c = &l->clause[w.clause];
  plim_lazy_clauses_bound *b = l->literals.at + c->begin;
  *kept = 1;
  if (b[0].side == (side ^ 1)) {
    plim_lazy_clauses_bound other = b[1];
    b[1] = b[0];
    b[0] = other;
  }
  if (plim_lazy_clauses_holds(l, b[0])) return PLIM_OK;
  for (int32_t i = 2; i < c->n; i++) {
    if (plim_lazy_clauses_denied(l, b[i])) continue;
    plim_lazy_clauses_bound other = b[i];
    b[i] = b[1];
    b[1] = other;
    *kept = 0;
    return watch(l, other, w.clause);
  }
  if (!plim_lazy_clauses_denied(l, b[0])) return move(l, b[0], w.clause, 0, 0);
  l->failed = 1;
  l->conflict.n = 0;
  for (int32_t i = 0; i < c->n; i++) PLIM_TRY(add_to(l->ctx, &l->conflict, plim_lazy_clauses_not(b[i])));
  return PLIM_OK;
}

static plim_status show_change(plim_lazy_clauses *l, int32_t side, int32_t before) {
  plim_lazy_clauses_watches *list = &l->watch[side];
  plim_status status = PLIM_OK;
  int32_t to = 0, i = 0;
  for (; i < list->n && status == PLIM_OK && !l->failed; i++) {
    plim_lazy_clauses_watch w = list->at[i];
    int32_t kept = 1;
    if (w.at > before && w.at <= l->least[side]) status = visit(l, side, w, &kept);
    if (kept) list->at[to++] = w;
  }
  for (; i < list->n; i++) list->at[to++] = list->at[i];
  list->n = to;
  return status;
}

plim_status plim_lazy_clauses_propagate(plim_lazy_clauses *l) {
  while (l->next < l->n_trail && !l->failed) {
    plim_lazy_clauses_change c = l->trail[l->next++];
    PLIM_TRY(show_change(l, c.side, c.before));
  }
  return PLIM_OK;
}

/* ---- learning ---- */

static void need(plim_lazy_clauses *l, plim_lazy_clauses_bound b, int32_t *here) {
  int32_t at = plim_lazy_clauses_change_of(l, b), side = b.side;
  if (at < 0 || (l->need_at[side] >= 0 && l->need_least[side] >= b.least)) return;
  if (l->need_at[side] < 0) {
    if (l->need_at[side] == UNTOUCHED) l->touched[l->n_touched++] = side;
    l->activity[side / 2] += l->bump;
  } else {
    *here -= l->trail[l->need_at[side]].level == l->n_levels;
  }
  *here += l->trail[at].level == l->n_levels;
  l->need_at[side] = at;
  l->need_least[side] = b.least;
}

static void need_reasons(plim_lazy_clauses *l, const plim_lazy_clauses_change *c, int32_t *here) {
  if (c->clause < 0) {
    for (int32_t i = c->begin; i < c->end; i++) need(l, l->reasons.at[i], here);
    return;
  }
  plim_lazy_clauses_clause *clause = &l->clause[c->clause];
  clause->activity += l->clause_bump;
  for (int32_t i = 1; i < clause->n; i++) need(l, plim_lazy_clauses_not(l->literals.at[clause->begin + i]), here);
}

/* By a change before `at`: what comes after may itself be left out because of that one. */
static int is_needed(const plim_lazy_clauses *l, plim_lazy_clauses_bound b, int32_t at) {
  int32_t need_at = l->need_at[b.side];
  return plim_lazy_clauses_change_of(l, b) < 0 || (need_at >= 0 && need_at < at && l->need_least[b.side] >= b.least);
}

/* Do other bounds of the clause imply this one? */
static int follows(const plim_lazy_clauses *l, int32_t at) {
  const plim_lazy_clauses_change *c = &l->trail[at];
  if (c->clause >= 0) {
    const plim_lazy_clauses_clause *clause = &l->clause[c->clause];
    for (int32_t i = 1; i < clause->n; i++) {
      if (!is_needed(l, plim_lazy_clauses_not(l->literals.at[clause->begin + i]), at)) return 0;
    }
    return 1;
  }
  for (int32_t i = c->begin; i < c->end; i++) {
    if (!is_needed(l, l->reasons.at[i], at)) return 0;
  }
  return c->end > c->begin;
}

/* The clause: not all of what is needed, the bound of the latest level first, then the one of the level before. */
static plim_status collect(plim_lazy_clauses *l, int32_t uip) {
  plim_lazy_clauses_pool *out = &l->learned;
  int32_t side = l->trail[uip].side, second = 1;
  out->n = 0;
  PLIM_TRY(add_to(l->ctx, out, plim_lazy_clauses_not((plim_lazy_clauses_bound){side, l->need_least[side]})));
  for (int32_t i = 0; i < l->n_touched; i++) {
    int32_t s = l->touched[i], at = l->need_at[s];
    if (at < 0 || at == uip || follows(l, at)) continue;
    PLIM_TRY(add_to(l->ctx, out, plim_lazy_clauses_not((plim_lazy_clauses_bound){s, l->need_least[s]})));
    int32_t best = out->n > 2 ? l->need_at[out->at[second].side ^ 1] : -1;
    if (best < 0 || l->trail[at].level > l->trail[best].level) second = out->n - 1;
  }
  if (out->n > 2) {
    plim_lazy_clauses_bound b = out->at[1];
    out->at[1] = out->at[second];
    out->at[second] = b;
  }
  return PLIM_OK;
}

static int32_t count_levels(plim_lazy_clauses *l) {
  int32_t n = 0;
  l->mark++;
  for (int32_t i = 0; i < l->learned.n; i++) {
    plim_lazy_clauses_level *level = &l->level[l->trail[l->need_at[l->learned.at[i].side ^ 1]].level - 1];
    n += level->mark != l->mark;
    level->mark = l->mark;
  }
  return n;
}

static plim_status add_clause(plim_lazy_clauses *l, int32_t levels) {
  if (l->n_clauses == l->room_clauses) {
    int32_t room = 2 * l->room_clauses + 256;
    PLIM_TRY(plim_resize_array(l->ctx, &l->clause, l->room_clauses, room, sizeof *l->clause));
    l->room_clauses = room;
  }
  plim_lazy_clauses_clause c = {l->literals.n, l->learned.n, levels, l->clause_bump};
  for (int32_t i = 0; i < c.n; i++) PLIM_TRY(add_to(l->ctx, &l->literals, l->learned.at[i]));
  PLIM_TRY(watch(l, l->learned.at[0], l->n_clauses));
  PLIM_TRY(watch(l, l->learned.at[1], l->n_clauses));
  l->clause[l->n_clauses++] = c;
  return PLIM_OK;
}

static void forget_needs(plim_lazy_clauses *l) {
  for (int32_t i = 0; i < l->n_touched; i++) l->need_at[l->touched[i]] = UNTOUCHED;
  l->n_touched = 0;
}

static void age(plim_lazy_clauses *l) {
  l->bump *= exact_tuning.search.activity_growth;
  l->clause_bump *= (float)exact_tuning.search.clause_growth;
  if (l->bump > 1e100) {
    for (int32_t x = 0; x < l->n_variables; x++) l->activity[x] *= 1e-100;
    l->bump *= 1e-100;
  }
  if (l->clause_bump > 1e20F) {
    for (int32_t i = 0; i < l->n_clauses; i++) l->clause[i].activity *= 1e-20F;
    l->clause_bump *= 1e-20F;
  }
}

/* Resolve from the end of the trail until one change of the latest level is left. */
static int32_t resolve(plim_lazy_clauses *l, int32_t here) {
  int32_t at = l->n_trail - 1;
  for (;; at--) {
    const plim_lazy_clauses_change *c = &l->trail[at];
    if (l->need_at[c->side] != at) continue;
    if (here == 1) return at;
    l->need_at[c->side] = RESOLVED;
    here--;
    need_reasons(l, c, &here);
  }
}

plim_status plim_lazy_clauses_learn(plim_lazy_clauses *l, int32_t *refuted) {
  int32_t level = 0, here = 0;
  for (int32_t i = 0; i < l->conflict.n; i++) {
    int32_t at = plim_lazy_clauses_change_of(l, l->conflict.at[i]);
    if (at >= 0 && l->trail[at].level > level) level = l->trail[at].level;
  }
  *refuted = level == 0;
  if (*refuted) return PLIM_OK;
  plim_lazy_clauses_back(l, level);
  for (int32_t i = 0; i < l->conflict.n; i++) need(l, l->conflict.at[i], &here);
  int32_t uip = resolve(l, here);
  plim_status status = collect(l, uip);
  int32_t levels = status == PLIM_OK ? count_levels(l) : 0, clause = -1, to = 0;
  if (l->learned.n > 1 && status == PLIM_OK) to = l->trail[l->need_at[l->learned.at[1].side ^ 1]].level;
  forget_needs(l);
  PLIM_TRY(status);
  plim_lazy_clauses_back(l, to);
  if (l->learned.n > 1) {
    clause = l->n_clauses;
    PLIM_TRY(add_clause(l, levels));
  }
  age(l);
  return move(l, l->learned.at[0], clause, 0, 0);
}

/* ---- forgetting ---- */

static int holds_for_good(const plim_lazy_clauses *l, const plim_lazy_clauses_clause *c) {
  for (int32_t i = 0; i < c->n; i++) {
    if (plim_lazy_clauses_holds(l, l->literals.at[c->begin + i])) return 1;
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
static plim_status keep_clause(plim_lazy_clauses *l, const plim_lazy_clauses_clause *from, plim_lazy_clauses_pool *to) {
  plim_lazy_clauses_clause c = *from;
  c.begin = to->n;
  for (int32_t i = 0; i < from->n; i++) {
    plim_lazy_clauses_bound b = l->literals.at[from->begin + i];
    if (i < 2 || !plim_lazy_clauses_denied(l, b)) PLIM_TRY(add_to(l->ctx, to, b));
  }
  c.n = to->n - c.begin;
  assert(c.n >= 2 && to->at);
  PLIM_TRY(watch(l, to->at[c.begin], l->n_clauses));
  PLIM_TRY(watch(l, to->at[c.begin + 1], l->n_clauses));
  l->clause[l->n_clauses++] = c;
  return PLIM_OK;
}

plim_status plim_lazy_clauses_forget(plim_lazy_clauses *l, int32_t max_clauses) {
  int32_t n = 0, left = l->n_clauses;
  plim_lazy_clauses_pool to = {0};
  plim_status status = PLIM_OK;
  for (int32_t i = 0; i < left; i++) {
    if (!holds_for_good(l, &l->clause[i])) l->clause[n++] = l->clause[i];
  }
  if (n > 0) qsort(l->clause, (size_t)n, sizeof *l->clause, by_worth);
  for (int32_t s = 0; s < 2 * l->n_variables; s++) l->watch[s].n = 0;
  l->n_clauses = 0;
  for (int32_t i = 0; i < n && i < max_clauses && status == PLIM_OK; i++) status = keep_clause(l, &l->clause[i], &to);
  release_pool(l, &l->literals);
  l->literals = to;
  l->reasons.n = 0; /* no one asks for those of facts */
  return status;
}

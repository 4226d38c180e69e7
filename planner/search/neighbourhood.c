/* Branch and bound over the intervals of a neighbourhood.
 *
 * At the root every item is kept: least time, highest peak. Each node of the tree decides one interval: at its end the
 * item is recomputed, or through it the item is kept.
 * Bound: recomputing takes the interval's time and frees at most its bytes at any position. So the excess at the
 * highest position must be covered by the intervals left. Their fractional knapsack is a lower bound on the time of
 * that. Inputs that a repeat keeps alive only raise live bytes, so the bound holds without them.
 * A node whose peak is within the limit is a leaf. */
#include "planner/search/moves.h"

#include <math.h>

#include "planner/search/search_tuning.h"
#include "runtime/base/effort.h"

/* ---- choosing intervals ---- */

typedef struct candidate {
  plim_interval interval;
  int32_t use; /* the next reader of the item, or the repeat itself; -1: the end */
  double key;  /* candidates of least key are taken */
} candidate;

/* The candidates of least key so far, ascending. */
typedef struct pool {
  int32_t n, capacity;
  candidate at[PLIM_NEIGHBOURHOOD_MAX];
} pool;

static void add_candidate(pool *p, const candidate *c) {
  int32_t i = p->n;
  if (p->n == p->capacity && (p->capacity == 0 || c->key >= p->at[p->n - 1].key)) return;
  if (p->n == p->capacity) {
    i--;
  } else {
    p->n++;
  }
  for (; i > 0 && p->at[i - 1].key > c->key; i--) p->at[i] = p->at[i - 1];
  p->at[i] = *c;
}

/* A repeat of the op after the slot, where an earlier run stands before the slot. Returns 0 where there is none. */
static int find_repeat(const plim_track *track, int32_t op, int32_t slot, candidate *out) {
  int32_t made = plim_track_before(track, op, slot), r = made < 0 ? -1 : track->run[made].op_next;
  if (r < 0 || track->run[r].slot <= slot) return 0;
  *out = (candidate){.interval = {.op = op, .choice = track->run[r].choice, .repeat = r, .run = -1}, .use = r};
  out->interval.time_ns = track->problem->op[op].choice[track->run[r].choice].time_ns;
  out->interval.bytes = plim_problem_bytes_written(track->problem, op);
  return out->interval.bytes > 0;
}

/* Outputs that the op wrote before the slot and that are kept for a reader after it. Returns 0 where there are none. */
static int find_kept(const plim_mover *mover, int32_t op, int32_t slot, candidate *out) {
  const plim_track *track = mover->track;
  const plim_planned_op *planned = &track->problem->op[op];
  int32_t choice = track->run[track->first[op]].choice, found = 0;
  *out = (candidate){.interval = {.op = op, .choice = choice, .repeat = -1, .run = -1}, .use = -1};
  out->interval.time_ns = planned->choice[choice].time_ns;
  for (int32_t i = 0; i < planned->writes.n; i++) {
    plim_victim victim;
    if (!plim_move_alive_across(mover, planned->writes.at[i], slot, &victim)) continue;
    if (!found || (victim.next >= 0 && (out->use < 0 || track->run[victim.next].slot < track->run[out->use].slot))) {
      out->use = victim.next;
    }
    out->interval.bytes += track->problem->item[planned->writes.at[i]].bytes;
    found = 1;
  }
  return found;
}

static int has_op(const pool *p, int32_t op) {
  int has = 0;
  for (int32_t i = 0; i < p->n; i++) has |= p->at[i].interval.op == op;
  return has;
}

/* Add the producers of the kept items' inputs, as long as there is room. Where an item is recomputed, each of its
 * inputs is kept for it or recomputed too. */
static void add_feeders(const plim_track *track, const pool *repeats, pool *kept) {
  for (int32_t i = 0; i < kept->n; i++) {
    const plim_ids *reads = &track->problem->op[kept->at[i].interval.op].reads;
    int32_t use = kept->at[i].use;
    for (int32_t k = 0; k < reads->n && kept->n < PLIM_NEIGHBOURHOOD_MAX - repeats->n; k++) {
      const plim_item *item = &track->problem->item[reads->at[k]];
      int32_t op = item->producer;
      if (op < 0 || item->bytes == 0 || has_op(kept, op) || has_op(repeats, op)) continue;
      if (!plim_track_may_repeat(track, op, use)) continue;
      int32_t choice = track->run[track->first[op]].choice;
      kept->at[kept->n++] = (candidate){.interval = {.op = op,
                                                     .choice = choice,
                                                     .repeat = -1,
                                                     .run = -1,
                                                     .time_ns = track->problem->op[op].choice[choice].time_ns,
                                                     .bytes = plim_problem_bytes_written(track->problem, op)},
                                        .use = use};
    }
  }
}

/* Less time for each byte? */
static int is_cheaper(const plim_interval *a, const plim_interval *b) {
  double x = (double)a->time_ns * (double)b->bytes, y = (double)b->time_ns * (double)a->bytes;
  return x < y || (x == y && a->op < b->op);
}

/* The anchor: the first run, from the use on, that is no repeat of an interval. Those are removed while items stay. */
static void set_anchor(const plim_track *track, const pool *repeats, candidate *c) {
  int32_t r = c->use;
  c->interval.rank = r < 0 ? 0 : 2 * track->run[r].slot - (c->interval.repeat < 0);
  for (int32_t i = 0; i < repeats->n && r >= 0; i++) {
    if (repeats->at[i].interval.repeat != r) continue;
    r = track->run[r].next;
    i = -1;
  }
  c->interval.anchor = r;
}

static void add_intervals(const plim_track *track, const pool *repeats, pool *from, plim_neighbourhood *out) {
  for (int32_t i = 0; i < from->n; i++) {
    set_anchor(track, repeats, &from->at[i]);
    int32_t k = out->n++;
    for (; k > 0 && is_cheaper(&from->at[i].interval, &out->interval[k - 1]); k--) {
      out->interval[k] = out->interval[k - 1];
    }
    out->interval[k] = from->at[i].interval;
  }
}

void plim_neighbourhood_gather(plim_mover *mover, int32_t slot, plim_neighbourhood *out) {
  const plim_track *track = mover->track;
  pool repeats = {.capacity = search_tuning.neighbourhood.repeats}, kept = {.n = 0};
  candidate c;
  for (int32_t op = 0; op < track->problem->n_ops; op++) {
    if (!find_repeat(track, op, slot, &c)) continue;
    c.key = plim_random_unit(&mover->random);
    add_candidate(&repeats, &c);
  }
  kept.capacity = PLIM_NEIGHBOURHOOD_MAX - repeats.n - search_tuning.neighbourhood.feeders;
  for (int32_t op = 0; op < track->problem->n_ops; op++) {
    if (!find_kept(mover, op, slot, &c)) continue;
    c.key = plim_random_unit(&mover->random) * (double)c.interval.time_ns / (double)c.interval.bytes;
    add_candidate(&kept, &c);
  }
  add_feeders(track, &repeats, &kept);
  out->n = 0;
  add_intervals(track, &repeats, &repeats, out);
  add_intervals(track, &repeats, &kept, out);
}

/* ---- solving ---- */

/* Solving asks for room once: at most `repeats` intervals are removed, and each interval has one run. */
_Static_assert((int)PLIM_NEIGHBOURHOOD_MAX <= (int)PLIM_TRACK_PART_RUNS,
               "the track has room for a run of each interval");

typedef struct solver {
  plim_track *track;
  plim_neighbourhood *neighbourhood;
  int64_t limit;         /* bytes */
  int64_t best_ns;       /* of the best leaf so far */
  int64_t nodes;         /* that are left */
  uint32_t chosen, best; /* bit k: interval k is recomputed */
} solver;

/* Insert the run of interval k, in order of ranks among those of the same anchor. Returns 0 where the op may not run
 * there. */
static int recompute(solver *search, int32_t k) {
  plim_track *t = search->track;
  plim_interval *g = &search->neighbourhood->interval[k];
  const plim_interval *following = NULL;
  for (int32_t i = 0; i < search->neighbourhood->n; i++) {
    const plim_interval *o = &search->neighbourhood->interval[i];
    if (o->run < 0 || o->anchor != g->anchor) continue;
    if (o->rank < g->rank || (o->rank == g->rank && o->op < g->op)) continue;
    if (!following || o->rank < following->rank || (o->rank == following->rank && o->op < following->op)) following = o;
  }
  int32_t next = following ? following->run : g->anchor;
  if (!plim_track_may_repeat(t, g->op, next)) return 0;
  g->run = plim_track_insert(t, g->op, g->choice, next);
  return 1;
}

/* Does freeing `excess` bytes at one position, by intervals k and later, take as long as the best leaf or longer? */
static int is_hopeless(const solver *search, int32_t k, int64_t excess) {
  double ns = (double)search->track->time_ns, most = (double)search->best_ns;
  for (; k < search->neighbourhood->n; k++) {
    const plim_interval *g = &search->neighbourhood->interval[k];
    if (g->bytes >= excess) return floor(ns + (double)g->time_ns * (double)excess / (double)g->bytes) >= most;
    ns += (double)g->time_ns;
    excess -= g->bytes;
  }
  return 1;
}

/* Decide interval k and those after it: first recomputed, then kept. */
static void branch_on_interval(solver *search, int32_t k) {
  plim_track *track = search->track;
  plim_track_settle(track);
  int64_t excess = plim_track_peak(track) - search->limit;
  if (search->nodes-- <= 0) return;
  if (excess <= 0) {
    search->best_ns = track->time_ns;
    search->best = search->chosen;
    return;
  }
  if (is_hopeless(search, k, excess)) return;
  int32_t mark = track->n_journal;
  if (track->time_ns + search->neighbourhood->interval[k].time_ns < search->best_ns && recompute(search, k)) {
    search->chosen |= 1U << k;
    branch_on_interval(search, k + 1);
    search->chosen &= ~(1U << k);
    search->neighbourhood->interval[k].run = -1;
    plim_track_undo_to(track, mark);
  }
  branch_on_interval(search, k + 1);
}

/* Remove the repeats of all intervals. */
static void remove_interval_repeats(const solver *search) {
  for (int32_t k = 0; k < search->neighbourhood->n; k++) {
    if (search->neighbourhood->interval[k].repeat >= 0) {
      plim_track_remove(search->track, search->neighbourhood->interval[k].repeat);
    }
  }
}

int plim_neighbourhood_solve(plim_mover *mover, plim_neighbourhood *neighbourhood, int64_t limit_ns, int64_t *nodes) {
  plim_track *track = mover->track;
  solver search = {
      .track = track, .neighbourhood = neighbourhood, .limit = mover->limit, .best_ns = limit_ns, .nodes = *nodes};
  if (neighbourhood->n == 0 || plim_track_full(track)) return 0;
  remove_interval_repeats(&search);
  if (track->time_ns < limit_ns) branch_on_interval(&search, 0);
  *nodes = search.nodes;
  plim_track_undo(track);
  if (search.best_ns >= limit_ns) return 0;
  remove_interval_repeats(&search);
  for (int32_t k = 0; k < neighbourhood->n; k++) {
    if (search.best >> k & 1) (void)recompute(&search, k);
  }
  return 1;
}

void plim_neighbourhood_improve(plim_mover *mover, int32_t tries) {
  plim_track *track = mover->track;
  plim_neighbourhood neighbourhood;
  plim_track_keep(track);
  while (tries-- > 0 && !plim_effort_over(track->problem->ctx, PLIM_EFFORT_LOOK)) {
    int64_t nodes = search_tuning.neighbourhood.nodes;
    plim_neighbourhood_gather(mover, track->run[plim_move_random_run(mover)].slot, &neighbourhood);
    if (plim_neighbourhood_solve(mover, &neighbourhood, track->time_ns, &nodes)) {
      plim_track_settle(track);
      plim_track_keep(track);
    }
  }
}

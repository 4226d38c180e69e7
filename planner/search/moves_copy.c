/* Copying decisions between blocks that are alike: what a schedule makes again in one of them, and in front of what, is
 * made again in the other and nothing else there. What annealing found out for one block spreads to its siblings a
 * whole block at a time, where single moves would have to find it again in each, through schedules that are worse than
 * either end. First runs stay where they are. */
#include "planner/search/moves.h"

enum { REPEATS = 48 /* of a block */, FARTHEST = 12 /* siblings */ };

/* A repeat of an op of a block, in front of the first run of another op of it. */
typedef struct decision {
  int32_t run, slot;
  int32_t op, anchor; /* ops, as they are called in the block that is copied to */
} decision;

typedef struct decisions {
  int32_t n;
  decision at[REPEATS];
} decisions;

/* The next first run behind run r that is of the match; else the op that reads r's copy next, if that is its first run;
 * -1: neither. */
static int32_t find_anchor(const plim_alike *a, const plim_track *t, int32_t r) {
  int32_t next = r, reader = -1;
  do {
    next = t->run[next].next;
  } while (next >= 0 && t->run[next].op_prev >= 0);
  if (next >= 0 && a->other[t->run[next].op] >= 0) return t->run[next].op;
  const plim_list *writes = &t->problem->op[t->run[r].op].writes;
  for (int32_t i = 0; i < writes->n && reader < 0; i++) {
    reader = plim_track_next_reader(t, writes->at[i], t->run[r].slot, INT32_MAX);
  }
  if (reader < 0 || t->run[reader].op_prev >= 0 || a->other[t->run[reader].op] < 0) return -1;
  return t->run[reader].op;
}

/* Repeats of these ops in order of the sequence, renamed when they are of the other block. 0: there are too many, or
 * one has no anchor in the match. */
static int gather(const plim_alike *a, const plim_track *t, const int32_t *op, int renamed, decisions *out) {
  out->n = 0;
  for (int32_t k = 0; k < a->n; k++) {
    for (int32_t r = t->run[t->first[op[k]]].op_next; r >= 0; r = t->run[r].op_next) {
      int32_t i = out->n, anchor = find_anchor(a, t, r);
      if (i == REPEATS || (anchor < 0 && renamed)) return 0;
      decision d = {r, t->run[r].slot, renamed ? a->other[op[k]] : op[k], anchor};
      if (renamed) d.anchor = a->other[anchor];
      for (; i > 0 && out->at[i - 1].slot > d.slot; i--) out->at[i] = out->at[i - 1];
      out->at[i] = d;
      out->n++;
    }
  }
  return 1;
}

static int are_equal(const decisions *x, const decisions *y) {
  if (x->n != y->n) return 0;
  for (int32_t i = 0; i < x->n; i++) {
    if (x->at[i].op != y->at[i].op || x->at[i].anchor != y->at[i].anchor) return 0;
  }
  return 1;
}

static int64_t time_of(const plim_track *t, const decisions *d) {
  int64_t ns = 0;
  for (int32_t i = 0; i < d->n; i++) {
    int32_t op = t->run[d->at[i].run].op;
    ns += t->problem->op[op].choice[t->run[t->first[op]].choice].time_ns;
  }
  return ns;
}

/* Copy from the match's first block to its second; 0: they are equal, or it cannot be done. */
static int copy_block(plim_mover *m) {
  plim_track *t = m->track;
  const plim_alike *a = m->alike;
  decisions want, have;
  if (!gather(a, t, a->from, 1, &want) || !gather(a, t, a->to, 0, &have) || are_equal(&want, &have)) return 0;
  if (t->time_ns + time_of(t, &want) - time_of(t, &have) > m->most_ns) return 0;
  if (want.n > t->n_free - 16 || t->n_journal + want.n + have.n + 16 > t->room_journal) return 0;
  for (int32_t i = 0; i < have.n; i++) plim_track_remove(t, have.at[i].run);
  for (int32_t i = 0; i < want.n; i++) {
    int32_t op = want.at[i].op, next = t->first[want.at[i].anchor];
    if (!plim_track_may_repeat(t, op, next)) continue;
    (void)plim_track_insert(t, op, t->run[t->first[op]].choice, next);
  }
  return 1;
}

/* The op alike that many siblings on, as far as there are any. */
static int32_t sibling(const int32_t *to, int32_t op, int32_t steps) {
  while (steps-- > 0 && to[op] >= 0) op = to[op];
  return op;
}

int plim_move_copy(plim_mover *m) {
  static const int32_t sizes[] = {8, 16, 32, PLIM_ALIKE_MOST}, siblings[] = {1, 1, 1, 2, 4, 16};
  plim_track *t = m->track;
  plim_alike *a = m->alike;
  if (!a || t->n_repeats == 0) return 0;
  int32_t op = t->run[t->repeat[plim_random_below(&m->random, t->n_repeats)]].op, made = 0;
  const int32_t *to = plim_random_percent(&m->random, 50) ? a->next : a->prev;
  int32_t far = plim_random_percent(&m->random, 70) ? 1 : 1 + plim_random_below(&m->random, FARTHEST);
  int32_t most = sizes[plim_random_below(&m->random, sizeof sizes / sizeof sizes[0])];
  int32_t other = sibling(to, op, far);
  if (other == op) return 0;
  if (plim_random_percent(&m->random, 30)) { /* the repeat's block becomes like the other */
    plim_alike_match(a, other, op, most);
    return copy_block(m);
  }
  int32_t left = siblings[plim_random_below(&m->random, sizeof siblings / sizeof siblings[0])];
  for (; left > 0 && other >= 0 && !plim_track_full(t); left--, other = to[other]) {
    plim_alike_match(a, op, other, most);
    made |= copy_block(m);
  }
  return made;
}

/* Moves. Which of them matter is different from graph to graph: eviction with chains of producers decides training
 * graphs, random insertion decides random layered graphs at deep budgets, moved first runs decide where order is free.
 */
#include "planner/search/moves.h"

enum { TRIES = 12, SERIES = 6, NEAR = 8, FAR = 80 };

static int32_t random_run(plim_mover *m) {
  return m->track->alive[plim_random_below(&m->random, m->track->n_runs)];
}

/* A repeat, any but the first run of its op; -1 when there is none. */
static int32_t random_repeat(plim_mover *m) {
  plim_track *t = m->track;
  if (t->n_repeats == 0) return -1;
  int32_t r = t->repeat[plim_random_below(&m->random, t->n_repeats)];
  /* the list has all runs of an op but one, which may be a later one than the first */
  return t->run[r].op_prev < 0 ? t->run[r].op_next : r;
}

/* Insert a run of the op in front of `next` with the choice of its first run. */
static int32_t repeat_op(plim_mover *m, int32_t op, int32_t next) {
  plim_track *t = m->track;
  return plim_track_insert(t, op, t->run[t->first[op]].choice, next);
}

/* ---- evict ---- */

typedef struct victim {
  int32_t item, next; /* reader in front of which it is made again, -1: the end */
} victim;

/* Is a copy of the item alive across the slot without being read there, and may it be made again? */
static int alive_across(const plim_mover *m, int32_t item, int32_t slot, victim *out) {
  const plim_track *t = m->track;
  const plim_item *it = &t->problem->item[item];
  if (it->producer < 0 || it->bytes == 0 || t->problem->op[it->producer].once) return 0;
  int32_t made = plim_track_before(t, it->producer, slot);
  if (made < 0) return 0;
  int32_t end = plim_track_end(t, item, made);
  if (end >= 0 && t->run[end].slot <= slot) return 0;
  int32_t later = t->run[made].op_next, next = -1;
  if (end >= 0 || t->problem->item[item].readers.n > 0) {
    next = plim_track_next_reader(t, item, slot - 1, later < 0 ? INT32_MAX : t->run[later].slot);
  }
  if (next >= 0 && t->run[next].slot == slot) return 0;
  *out = (victim){item, next};
  return plim_track_may_repeat(t, it->producer, next);
}

/* Make again what the run reads and what is alive at it for its sake only; one after the other, backwards. */
static void repeat_producers(plim_mover *m, int32_t run, int percent) {
  plim_track *t = m->track;
  while (plim_random_percent(&m->random, percent) && !plim_track_full(t)) {
    const plim_list *reads = &t->problem->op[t->run[run].op].reads;
    if (reads->n == 0) return;
    int32_t item = reads->at[plim_random_below(&m->random, reads->n)];
    int32_t producer = t->problem->item[item].producer;
    if (producer < 0 || !plim_track_may_repeat(t, producer, run)) return;
    run = repeat_op(m, producer, run);
    percent = 70;
  }
}

static int evict_at(plim_mover *m, int32_t slot) {
  plim_track *t = m->track;
  victim v;
  for (int tries = 0; tries < TRIES; tries++) {
    int32_t item = plim_random_below(&m->random, t->problem->n_items);
    if (!alive_across(m, item, slot, &v)) continue;
    int32_t run = repeat_op(m, t->problem->item[item].producer, v.next);
    repeat_producers(m, run, 50);
    return 1;
  }
  return 0;
}

static int32_t slot_above(plim_mover *m) {
  plim_track *t = m->track;
  plim_track_settle(t);
  return plim_levels_find_above(t->levels, t->base_bytes, m->limit, plim_random_next(&m->random));
}

static int evict(plim_mover *m) {
  int32_t slot = -1;
  if (plim_random_percent(&m->random, 80)) slot = slot_above(m);
  if (slot < 0) slot = m->track->run[random_run(m)].slot;
  return evict_at(m, slot);
}

/* ---- delete, exchange, shift, insert ---- */

static int delete_series(plim_mover *m) {
  plim_track *t = m->track;
  int32_t r = random_repeat(m), n = 1;
  if (r < 0) return 0;
  if (plim_random_percent(&m->random, 30)) n = 2 + plim_random_below(&m->random, SERIES - 1);
  while (n-- > 0 && r >= 0 && t->run[r].op_prev >= 0 && plim_track_may_remove(t, r)) {
    int32_t next = t->run[r].next;
    plim_track_remove(t, r);
    r = next;
  }
  return 1;
}

static int exchange(plim_mover *m) {
  plim_track *t = m->track;
  if (!delete_series(m)) return 0;
  for (int32_t n = 0; n < 3; n++) {
    int32_t slot = slot_above(m);
    if (slot < 0 || plim_track_full(t) || !evict_at(m, slot)) return 1;
  }
  return 1;
}

/* The run up to `distance` places before or behind r. */
static int32_t neighbour(plim_mover *m, int32_t r, int32_t distance) {
  const plim_track *t = m->track;
  int32_t places = 1 + plim_random_below(&m->random, distance);
  int back = (int)(plim_random_next(&m->random) >> 63);
  while (places-- > 0) {
    int32_t next = back ? t->run[r].prev : t->run[r].next;
    if (next < 0) return r;
    r = next;
  }
  return r;
}

static int shift(plim_mover *m) {
  plim_track *t = m->track;
  int32_t r = random_repeat(m);
  if (r < 0) return 0;
  int32_t next = neighbour(m, r, plim_random_percent(&m->random, 70) ? NEAR : FAR), op = t->run[r].op;
  if (next == r || t->run[r].op_prev < 0 || !plim_track_may_repeat(t, op, next)) return 0;
  int32_t choice = t->run[r].choice;
  plim_track_remove(t, r);
  (void)plim_track_insert(t, op, choice, next);
  return 1;
}

static int insert(plim_mover *m) {
  plim_track *t = m->track;
  int32_t op = plim_random_below(&m->random, t->problem->n_ops), next = random_run(m);
  if (!plim_track_may_repeat(t, op, next)) return 0;
  (void)repeat_op(m, op, next);
  return 1;
}

/* ---- first runs and variants ---- */

static int move_first(plim_mover *m) {
  plim_track *t = m->track;
  int32_t op = plim_random_below(&m->random, t->problem->n_ops), r = t->first[op], low, high, next;
  plim_track_window(t, r, &low, &high);
  if (t->run[r].op_next >= 0 && t->run[t->run[r].op_next].slot < high) high = t->run[t->run[r].op_next].slot;
  if (plim_random_percent(&m->random, 50)) {
    next = neighbour(m, r, NEAR);
  } else {
    /* uniform over the window's slots: on to the first run there */
    int32_t slot = low + 1 + plim_random_below(&m->random, high - low);
    while (slot < t->levels->n_slots && t->run_at[slot] < 0) slot++;
    next = slot < t->levels->n_slots ? t->run_at[slot] : -1;
  }
  int32_t to = next < 0 ? t->levels->n_slots : t->run[next].slot;
  if (next == r || next == t->run[r].next || to <= low || to > high) return 0;
  int32_t choice = t->run[r].choice;
  plim_track_remove(t, r);
  (void)plim_track_insert(t, op, choice, next);
  return 1;
}

static int change_choice(plim_mover *m) {
  plim_track *t = m->track;
  int32_t r = random_run(m);
  const plim_planned_op *op = &t->problem->op[t->run[r].op];
  if (op->n_choices < 2) return 0;
  int32_t choice = plim_random_below(&m->random, op->n_choices);
  if (choice == t->run[r].choice) return 0;
  if (op->choice[choice].label == op->choice[t->run[r].choice].label) {
    plim_track_set_choice(t, r, choice);
    return 1;
  }
  if (t->n_of[t->run[r].op] > 8) return 0;
  for (int32_t i = t->first[t->run[r].op]; i >= 0; i = t->run[i].op_next) plim_track_set_choice(t, i, choice);
  return 1;
}

int plim_move_make(plim_mover *m, plim_move move) {
  if (plim_track_full(m->track)) {
    if (move != PLIM_MOVE_DELETE) return 0;
  }
  switch (move) {
    case PLIM_MOVE_EVICT:
      return evict(m);
    case PLIM_MOVE_DELETE:
      return delete_series(m);
    case PLIM_MOVE_EXCHANGE:
      return exchange(m);
    case PLIM_MOVE_SHIFT:
      return shift(m);
    case PLIM_MOVE_INSERT:
      return insert(m);
    case PLIM_MOVE_FIRST:
      return move_first(m);
    case PLIM_MOVE_CHOICE:
      return change_choice(m);
    default:
      return 0;
  }
}

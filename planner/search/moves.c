/* Moves that delete, exchange, shift and insert repeats, and that change variants. Evictions are in moves_evict.c,
 * moves of first runs in moves_first.c.
 *
 * Graphs need different moves: training steps need evictions with chains of producers, random layers at deep budgets
 * need random insertions, and a free order needs moves of first runs. Invariant: a move leaves a valid schedule, whose
 * changes are in the track's journal. */
#include "planner/search/moves.h"

#include "planner/search/search_tuning.h"

enum { MAX_READS = 32 /* of inputs that are followed; others of an op stay */ };

/* A random run of an op that ran before; -1: there is none. It may always be removed: the first run stays. */
static int32_t random_repeat(plim_mover *mover) {
  plim_track *track = mover->track;
  if (track->n_repeats == 0) return -1;
  int32_t r = track->repeat[plim_random_below(&mover->random, track->n_repeats)];
  /* the list leaves out one run of each op, not always the first one */
  return track->run[r].op_prev < 0 ? track->run[r].op_next : r;
}

/* ---- delete, exchange, shift, insert ---- */

/* Does no later run read an output of run r? */
static int is_dead(const plim_track *track, int32_t r) {
  const plim_ids *writes = &track->problem->op[track->run[r].op].writes;
  for (int32_t i = 0; i < writes->n; i++) {
    if (plim_track_end(track, writes->at[i], r) != r) return 0;
  }
  return 1;
}

/* Remove a repeat, and the repeats whose outputs nothing else reads. */
static void remove_with_feeders(plim_track *track, int32_t r) {
  int32_t stack[MAX_READS], n = 0;
  stack[n++] = r;
  while (n > 0) {
    int32_t feeder[MAX_READS], feeders = 0;
    r = stack[--n];
    if (track->run[r].slot < 0 || plim_track_journal_full(track)) continue;
    const plim_ids *reads = &track->problem->op[track->run[r].op].reads;
    for (int32_t i = 0; i < reads->n && feeders < MAX_READS; i++) {
      int32_t producer = track->problem->item[reads->at[i]].producer;
      int32_t made = producer < 0 ? -1 : plim_track_before(track, producer, track->run[r].slot);
      if (made >= 0 && track->run[made].op_prev >= 0) feeder[feeders++] = made;
    }
    plim_track_remove(track, r);
    while (feeders-- > 0 && n < MAX_READS) {
      if (track->run[feeder[feeders]].slot >= 0 && is_dead(track, feeder[feeders])) stack[n++] = feeder[feeders];
    }
  }
}

static int32_t draw_neighbours(plim_mover *mover) {
  return 2 + plim_random_below(&mover->random, search_tuning.moves.neighbours - 1);
}

static int delete_repeat(plim_mover *mover) {
  int32_t r = random_repeat(mover);
  if (r < 0) return 0;
  remove_with_feeders(mover->track, r);
  return 1;
}

/* Remove a repeat, and some of the repeats just after it. Returns 1 where there is a repeat: the journal has room for
 * the first change of a move, so that at least this one is removed. */
static int delete_neighbours(plim_mover *mover) {
  plim_track *track = mover->track;
  int32_t r = random_repeat(mover), n = 1;
  if (r < 0) return 0;
  if (plim_random_percent(&mover->random, search_tuning.moves.delete_neighbours_percent)) n = draw_neighbours(mover);
  while (n-- > 0 && r >= 0 && track->run[r].op_prev >= 0 && !plim_track_journal_full(track)) {
    int32_t next = track->run[r].next;
    plim_track_remove(track, r);
    r = next;
  }
  return 1;
}

static int delete_some(plim_mover *mover) {
  return plim_random_percent(&mover->random, search_tuning.moves.delete_percent) ? delete_repeat(mover)
                                                                                 : delete_neighbours(mover);
}

/* Remove some repeats, then evict until nothing exceeds the limit, or twice as often as repeats were removed. */
static int exchange_repeats(plim_mover *mover) {
  const int32_t *deletions = search_tuning.moves.deletions,
                kinds = sizeof search_tuning.moves.deletions / sizeof *deletions;
  plim_track *track = mover->track;
  int32_t n = deletions[plim_random_below(&mover->random, kinds)];
  if (!delete_some(mover)) return 0;
  for (int32_t i = 1; i < n; i++) (void)delete_some(mover);
  for (int32_t i = 0; i < 2 * n + 1; i++) {
    int32_t slot = plim_move_slot_above(mover);
    if (slot < 0 || plim_track_full(track) || !plim_move_evict_at(mover, slot)) return 1;
  }
  return 1;
}

int32_t plim_move_repeat(plim_mover *mover, int32_t op, int32_t next) {
  plim_track *track = mover->track;
  int32_t choice = track->run[track->first[op]].choice;
  if (track->time_ns + track->problem->op[op].choice[choice].time_ns > mover->limit_ns) return -1;
  return plim_track_insert(track, op, choice, next);
}

int32_t plim_move_neighbour(plim_mover *mover, int32_t r, int32_t distance) {
  const plim_track *track = mover->track;
  int32_t places = 1 + plim_random_below(&mover->random, distance);
  int back = (int)(plim_random_next(&mover->random) >> 63);
  while (places-- > 0) {
    int32_t next = back ? track->run[r].prev : track->run[r].next;
    if (next < 0) return r;
    r = next;
  }
  return r;
}

/* The first run after r that reads a random output of it; r: there is none. */
static int32_t next_reader(plim_mover *mover, int32_t r, const plim_ids *writes) {
  int32_t item = writes->at[plim_random_below(&mover->random, writes->n)];
  int32_t reader = plim_track_next_reader(mover->track, item, mover->track->run[r].slot, INT32_MAX);
  return reader < 0 ? r : reader;
}

/* The run after the last one before r of a random reader of a random input of r; r: there is none. */
static int32_t after_reader(plim_mover *mover, int32_t r, const plim_ids *reads) {
  const plim_track *track = mover->track;
  const plim_ids *readers = &track->problem->item[reads->at[plim_random_below(&mover->random, reads->n)]].readers;
  int32_t reader = readers->at[plim_random_below(&mover->random, readers->n)];
  int32_t other = plim_track_before(track, reader, track->run[r].slot);
  return other < 0 || track->run[other].next < 0 ? r : track->run[other].next;
}

/* A place where repeat r keeps few bytes alive: just before the first reader of an output, or just after another reader
 * of an input. Returns the run before which that place is; r: there is none. */
static int32_t cheap_place(plim_mover *mover, int32_t r) {
  const plim_planned_op *op = &mover->track->problem->op[mover->track->run[r].op];
  int is_output =
      op->writes.n > 0 && (op->reads.n == 0 || plim_random_percent(&mover->random, search_tuning.moves.output_percent));
  if (is_output) return next_reader(mover, r, &op->writes);
  return op->reads.n > 0 ? after_reader(mover, r, &op->reads) : r;
}

/* Move r, and up to `n` - 1 repeats just after it, before `next`. Returns 1 where one was moved. */
static int move_runs(plim_track *track, int32_t r, int32_t n, int32_t next) {
  int32_t moved = 0;
  while (n-- > 0 && r >= 0 && r != next && track->run[r].op_prev >= 0) {
    int32_t next_run = track->run[r].next, op = track->run[r].op, choice = track->run[r].choice;
    if (next_run == next || !plim_track_may_repeat(track, op, next)) break;
    plim_track_remove(track, r);
    (void)plim_track_insert(track, op, choice, next);
    moved = 1;
    r = next_run;
  }
  return moved;
}

/* Move a repeat, or several in a row. */
static int shift_repeats(plim_mover *mover) {
  int32_t r = random_repeat(mover), next, n = 1;
  if (r < 0) return 0;
  if (plim_random_percent(&mover->random, search_tuning.moves.snug_percent)) {
    next = cheap_place(mover, r);
  } else {
    next = plim_move_neighbour(mover, r,
                               plim_random_percent(&mover->random, search_tuning.moves.short_percent)
                                   ? search_tuning.moves.short_places
                                   : search_tuning.moves.long_places);
  }
  if (next == r) return 0;
  if (plim_random_percent(&mover->random, search_tuning.moves.neighbours_percent)) n = draw_neighbours(mover);
  return move_runs(mover->track, r, n, next);
}

/* Add a repeat of a random op at a random place. */
static int insert_repeat(plim_mover *mover) {
  plim_track *track = mover->track;
  int32_t op = plim_random_below(&mover->random, track->problem->n_ops), next = plim_move_random_run(mover);
  if (!plim_track_may_repeat(track, op, next)) return 0;
  return plim_move_repeat(mover, op, next) >= 0;
}

/* ---- variants ---- */

/* Another variant of a run. One with another numerics key goes to all runs of the op. */
static int change_choice(plim_mover *mover) {
  plim_track *track = mover->track;
  int32_t r = plim_move_random_run(mover);
  const plim_planned_op *op = &track->problem->op[track->run[r].op];
  if (op->n_choices < 2) return 0;
  int32_t choice = plim_random_below(&mover->random, op->n_choices);
  if (choice == track->run[r].choice) return 0;
  if (op->choice[choice].numerics_key == op->choice[track->run[r].choice].numerics_key) {
    plim_track_set_choice(track, r, choice);
    return 1;
  }
  if (track->n_of[track->run[r].op] > search_tuning.moves.choice_runs) return 0;
  for (int32_t i = track->first[track->run[r].op]; i >= 0; i = track->run[i].op_next) {
    plim_track_set_choice(track, i, choice);
  }
  return 1;
}

typedef int make_move(plim_mover *mover);
static make_move *const move_of_kind[PLIM_MOVES] = {
    [PLIM_MOVE_EVICT] = plim_move_evict, [PLIM_MOVE_DELETE] = delete_some,   [PLIM_MOVE_EXCHANGE] = exchange_repeats,
    [PLIM_MOVE_SHIFT] = shift_repeats,   [PLIM_MOVE_INSERT] = insert_repeat, [PLIM_MOVE_FIRST] = plim_move_first,
    [PLIM_MOVE_CHOICE] = change_choice,  [PLIM_MOVE_GROUP] = plim_move_group};

int plim_move_make(plim_mover *m, plim_move move) {
  if (plim_track_full(m->track) && move != PLIM_MOVE_DELETE) return 0;
  return move_of_kind[move](m);
}

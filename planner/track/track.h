/* A schedule under change, with its figures kept up to date: the incremental form of plim_timeline. A schedule goes in
 * (plim_track_load). Runs are inserted and removed. Time, peak and excess can be asked for at any moment, and the
 * schedule comes out again (plim_track_store).
 *
 * Example: g reads the output of f, h reads that of g, and f' reads that of f last. In the schedule f g h f' the output
 * of f has one lifetime, from its run to f'. A run of f that is inserted before f' splits it into two: from the first
 * run to g, and from the second run to f'. So its bytes are free while h runs.
 *
 * Runs have ids that stay while they are in the sequence. Every change is journalled and can be undone exactly. A
 * change costs O(degree x (lifetimes + log slots)). Between changes a run may miss what it reads (an orphan); the
 * caller makes only sequences of changes that end in a valid schedule (see the rules below). */
#ifndef PLIM_PLANNER_TRACK_TRACK_H
#define PLIM_PLANNER_TRACK_TRACK_H

#include "planner/core/problem.h"
#include "planner/track/memory_profile.h"
#include "runtime/base/array.h"

typedef struct plim_track_run {
  int32_t op, choice;
  int32_t slot;
  int32_t prev, next;       /* in the sequence, -1 at its ends */
  int32_t op_prev, op_next; /* among the runs of the op, in order */
  int32_t alive_at;         /* index in `alive` */
  int32_t repeat_at;        /* index in `repeat`, -1 */
  uint8_t is_touched;
} plim_track_run;

typedef struct plim_change {
  enum { PLIM_CHANGE_INSERT, PLIM_CHANGE_REMOVE, PLIM_CHANGE_CHOICE } kind;
  int32_t run, op, choice, next;
  int32_t slot; /* of a run that was removed */
} plim_change;

/* Searches read the fields. Only the functions below write them, but for the stamps. */
typedef struct plim_track {
  const plim_problem *problem;
  /* the runs, and their order */
  int32_t capacity, n_runs; /* runs: at most, and now */
  plim_track_run *run;      /* [capacity] by id */
  int32_t head, tail;       /* the first and the last run, -1 */
  int32_t *run_at;          /* [n_slots] run in a slot, -1 */
  int32_t *free_run;        /* [n_free] ids that are not in use, a stack */
  int32_t n_free;
  int32_t *first, *last; /* [n_ops] first and last run of the op, -1 */
  int32_t *n_of;         /* [n_ops] runs of the op */
  /* lists to draw from */
  int32_t *alive; /* [n_runs] all runs */
  /* [n_repeats] of each op all runs but one. Which one is left out depends on the order in which they came: it need not
   * be the first. So entering or leaving changes one entry, though a run may enter before the first. */
  int32_t *repeat;
  int32_t n_repeats;
  /* lifetimes: of output k of run r at [r * outputs + k], of an input by its item */
  int32_t outputs;     /* the most that an op has */
  int32_t *end;        /* [capacity * outputs] the last reader; the run itself: nothing reads it; -1: kept to the end */
  uint8_t *over;       /* [capacity * outputs] 1: its last reader writes over it */
  int32_t *input_end;  /* [n_items] last reader of an input, -1 */
  uint8_t *input_over; /* [n_items] */
  int32_t *touched;    /* [n_touched] runs whose in-place pairs may have changed */
  int32_t n_touched;
  int32_t has_overwrites; /* 1: an op has in-place pairs */
  /* figures */
  plim_memory_profile *memory_profile;
  int64_t base_bytes; /* persistent bytes and inputs */
  int64_t time_ns;
  /* the journal */
  plim_change *journal; /* [n_journal] */
  int32_t n_journal, journal_capacity;
  /* scratch of moves: an op is marked when its stamp is the last one */
  int32_t *stamp; /* [n_ops] */
  int32_t last_stamp;
  plim_block block; /* memory of all arrays */
} plim_track;

/* ---- new, load, store (track.c) ---- */

/* An empty track for at most `capacity` runs. */
PLIM_MUST_USE plim_status plim_track_new(const plim_problem *problem, int32_t capacity, plim_track **out);
void plim_track_free(plim_track *track); /* NULL is legal */

/* Where half of the room is less than `runs`, replace *track by an empty one with room for twice as many. */
PLIM_MUST_USE plim_status plim_track_reserve(plim_track **track, int32_t runs);

/* Room that a search usually wants: small graphs at deep budgets run their ops many times, large ones seldom do, and
 * what is not there need not be cached. */
int32_t plim_track_usual_capacity(const plim_problem *problem);

/* Replace everything by a valid schedule of at most `capacity` runs; empties the journal. O(runs x degree). */
void plim_track_load(plim_track *track, const plim_schedule *schedule);

/* Write the runs, in order, to a schedule. O(runs). */
PLIM_MUST_USE plim_status plim_track_store(const plim_track *track, plim_schedule *out);

/* ---- changes, all of them journalled (track.c) ---- */

/* Insert a run of the op before run `next` (-1: at the end); returns its id. There must be room (plim_track_full). */
int32_t plim_track_insert(plim_track *track, int32_t op, int32_t choice, int32_t next);
void plim_track_remove(plim_track *track, int32_t run);
void plim_track_set_choice(plim_track *track, int32_t run, int32_t choice);

/* A part of a move inserts and changes at most so many runs; a move asks for room before each part. */
enum { PLIM_TRACK_PART_RUNS = 16, PLIM_TRACK_PART_CHANGES = 24 };

/* Is there no room for the runs and changes of a part of a move? For its changes in the journal? */
int plim_track_full(const plim_track *track);
int plim_track_journal_full(const plim_track *track);

/* Undo all changes since the journal was emptied. */
void plim_track_undo(plim_track *track);

/* Keep the changes: empty the journal. */
void plim_track_keep(plim_track *track);

/* ---- figures (track.c) ---- */

/* Bring the live bytes up to date. Before plim_track_peak and plim_track_excess. O(changed slots x log slots). */
void plim_track_settle(plim_track *track);
int64_t plim_track_peak(const plim_track *track);

/* Sum over runs of the live bytes above the limit; INT64_MAX where it is larger. For long schedules an estimate. */
int64_t plim_track_excess(const plim_track *track, int64_t limit);

/* ---- lifetimes (track_lifetimes.c) ---- */

/* Last run of an op before a slot, -1. */
static inline int32_t plim_track_before(const plim_track *track, int32_t op, int32_t slot) {
  int32_t r = track->last[op];
  while (r >= 0 && track->run[r].slot >= slot) r = track->run[r].op_prev;
  return r;
}

/* Last reader of a lifetime: the run's own id when nothing reads it, -1 for a kept one. `run` -1: an input. */
static inline int32_t plim_track_end(const plim_track *track, int32_t item, int32_t run) {
  const plim_item *it = &track->problem->item[item];
  return it->producer < 0 ? track->input_end[item] : track->end[(int64_t)run * track->outputs + it->write_index];
}

/* First reader of the item after slot from_slot and before slot to_slot (INT32_MAX: to the end), -1. */
int32_t plim_track_next_reader(const plim_track *track, int32_t item, int32_t from_slot, int32_t to_slot);

/* ---- rules (track_rules.c) ---- */

/* May the op run again before `next`? May this run be removed? */
int plim_track_may_repeat(const plim_track *track, int32_t op, int32_t next);
int plim_track_may_remove(const plim_track *track, int32_t run);

/* The slots *low and *high, both excluded, between which a first run, or the only run of its op, may stand. */
void plim_track_window(const plim_track *track, int32_t run, int32_t *low, int32_t *high);

/* ---- between the parts of the track, for this folder alone (track_slots.c, track_lifetimes.c) ---- */

/* A free slot before run `next` (-1: at the end); runs around it are moved where there is none. */
int32_t plim_track_free_slot(plim_track *track, int32_t next);
/* The slot of run i of n where they stand evenly in all slots. */
int32_t plim_track_even_slot(const plim_track *track, int32_t i, int32_t n);
/* Give run r a free slot before run `next` (-1: at the end), links and a place in the lists; take them away. A run
 * that leaves has no bytes at its slot any more. */
void plim_track_enter(plim_track *track, int32_t r, int32_t slot, int32_t next);
void plim_track_leave(plim_track *track, int32_t r);

/* Let the lifetimes that run r reads end no earlier than there, or, when it goes, at the reader before it. */
void plim_track_add_reads(plim_track *track, int32_t r);
void plim_track_remove_reads(plim_track *track, int32_t r);
/* Begin the lifetimes that run r makes; join them to the ones before. */
void plim_track_add_writes(plim_track *track, int32_t r);
void plim_track_remove_writes(plim_track *track, int32_t r);
/* The in-place pairs of the run are to be looked at again (-1: none), which settling does. */
void plim_track_touch(plim_track *track, int32_t run);
void plim_track_settle_touched(plim_track *track);

/* ==== tuning constants ==== */

/* Of planner/track, in one table. They were set by trial: plim_track_usual_capacity says why. They change plans, since
 * no move is made where there is no room for it. */
static const struct plim_track_tuning {
  int32_t small_ops;        /* ops below which a graph is small */
  int32_t small_runs_an_op; /* room of a small graph, in runs for each op ... */
  int32_t runs_more;        /* ... and so many more */
  int32_t large_runs_an_op; /* room in runs for each op from small_ops on */
} track_tuning = {.small_ops = 200, .small_runs_an_op = 16, .runs_more = 64, .large_runs_an_op = 4};

#endif

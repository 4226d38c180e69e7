/* Moves of the search: small changes of a schedule that keep it valid.
 *
 * Example: g reads the output of f, h reads that of g, and f' reads that of f last. In the schedule f g h f' live bytes
 * exceed the limit at h. EVICT draws the output of f, which is alive there and not read: f g h f f'. SHIFT may move the
 * second f, DELETE removes it.
 *
 * They change a schedule in a track (planner/track/track.h), which keeps live bytes and time up to date and can undo
 * changes. A *slot* is a place in the track's sequence; slots are in the order of the runs. */
#ifndef PLIM_PLANNER_SEARCH_MOVES_H
#define PLIM_PLANNER_SEARCH_MOVES_H

#include "planner/track/track.h"
#include "runtime/base/random.h"

typedef enum plim_move {
  PLIM_MOVE_EVICT,    /* where live bytes exceed the limit: end a lifetime, and recompute before its next reader */
  PLIM_MOVE_DELETE,   /* remove a repeat with the repeats that served it alone, or several repeats in a row */
  PLIM_MOVE_EXCHANGE, /* remove repeats, then evict where live bytes exceed the limit */
  PLIM_MOVE_SHIFT,    /* move a repeat, or several repeats in a row, to another place */
  PLIM_MOVE_INSERT,   /* add a repeat of any op at any place */
  PLIM_MOVE_FIRST,    /* move a first run between its predecessors and its successors */
  PLIM_MOVE_CHOICE,   /* another variant */
  PLIM_MOVE_GROUP,    /* move a first run farther, together with the predecessors or successors in its way */
  PLIM_MOVES
} plim_move;

typedef struct plim_mover {
  plim_track *track;
  plim_random random;
  int64_t limit;           /* bytes that the peak should not exceed, persistent ones included */
  int32_t compare_percent; /* percent of evictions that take the one of two items with less time for its bytes */
  int64_t limit_ns;        /* a move that makes the schedule slower than this would be refused */
} plim_mover;

/* Make one random move of the kind. Returns 0 when nothing was changed. The change is in the track's journal, and the
 * track is not settled. */
int plim_move_make(plim_mover *mover, plim_move move);

/* ---- what moves and exact neighbourhoods share ---- */

/* A random run. */
static inline int32_t plim_move_random_run(plim_mover *mover) {
  return mover->track->alive[plim_random_below(&mover->random, mover->track->n_runs)];
}

/* An item that may be evicted. */
typedef struct plim_victim {
  int32_t item;
  int32_t next; /* the run that reads it next, before which it is recomputed; -1: it is needed at the end */
} plim_victim;

/* Returns 1 and fills in the victim where the item is alive at the slot, is not read there, and may be recomputed. */
int plim_move_alive_across(const plim_mover *mover, int32_t item, int32_t slot, plim_victim *out);

/* ---- kinds of moves that plim_move_make calls (moves_evict.c, moves_first.c) ---- */

int plim_move_evict(plim_mover *mover);
int plim_move_first(plim_mover *mover);
int plim_move_group(plim_mover *mover);

/* ---- parts of moves (moves.c, moves_evict.c) ---- */

/* Evict an item that is alive at this slot. */
int plim_move_evict_at(plim_mover *mover, int32_t slot);

/* A random slot where live bytes exceed the limit; -1: there is none. Settles the track. */
int32_t plim_move_slot_above(plim_mover *mover);

/* Insert a repeat of the op before run `next`, with the variant of its first run. Returns its id; -1, and nothing is
 * changed, where the schedule would take longer than limit_ns. */
int32_t plim_move_repeat(plim_mover *mover, int32_t op, int32_t next);

/* A random run at most `distance` places before or after run r. */
int32_t plim_move_neighbour(plim_mover *mover, int32_t r, int32_t distance);

#endif

/* Moves of the search: small changes of a schedule that keep it valid. */
#ifndef PLIM_PLANNER_MOVES_H
#define PLIM_PLANNER_MOVES_H

#include "planner/random.h"
#include "planner/search/track.h"

typedef enum plim_move {
  PLIM_MOVE_EVICT,    /* at a step above the limit: drop a copy across it, recompute it before its next reader */
  PLIM_MOVE_DELETE,   /* remove a repeat and what was run for it alone, or a series of neighbours */
  PLIM_MOVE_EXCHANGE, /* remove a repeat, then evict where the limit is exceeded */
  PLIM_MOVE_SHIFT,    /* move a repeat, or a series of neighbours */
  PLIM_MOVE_INSERT,   /* a repeat of any op anywhere */
  PLIM_MOVE_FIRST,    /* move a first run within its window */
  PLIM_MOVE_CHOICE,   /* another variant */
  PLIM_MOVE_GROUP,    /* move a first run out of its window, with those that it needs or that need it */
  PLIM_MOVES
} plim_move;

typedef struct plim_mover {
  plim_track *track;
  plim_random random;
  int64_t limit;   /* bytes that the peak should not exceed */
  int32_t choosy;  /* percent of evictions that take the one of two copies with less time for its bytes */
  int64_t most_ns; /* a move that makes the schedule slower than this would be refused */
} plim_mover;

/* Make one move of the kind; returns 0 when nothing was changed. The change is in the track's journal, not settled. */
int plim_move_make(plim_mover *mover, plim_move move);

/* ---- the kinds, for moves.c ---- */
int plim_move_evict(plim_mover *mover);
/* The same at the step of this slot. */
int plim_move_evict_at(plim_mover *mover, int32_t slot);
/* Is a copy of the item alive across the slot without being read there, and may it be recomputed? Then the victim is
 * filled in. */
typedef struct plim_victim {
  int32_t item, next; /* reader before which it is recomputed, -1: the end */
} plim_victim;
int plim_move_alive_across(const plim_mover *mover, int32_t item, int32_t slot, plim_victim *out);
/* A slot above the limit, -1. Settles the track. */
int32_t plim_move_slot_above(plim_mover *mover);
int plim_move_first(plim_mover *mover);
int plim_move_group(plim_mover *mover);

/* ---- drawing ---- */
static inline int32_t plim_move_random_run(plim_mover *mover) {
  return mover->track->alive[plim_random_below(&mover->random, mover->track->n_runs)];
}
/* Insert a run of the op before `next` with the choice of its first run; -1, and nothing is changed, when that
 * takes too long. */
int32_t plim_move_repeat(plim_mover *mover, int32_t op, int32_t next);
/* The run up to `distance` places before or after run r. */
int32_t plim_move_neighbour(plim_mover *mover, int32_t r, int32_t distance);

#endif

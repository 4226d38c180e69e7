/* Moves of the search: small changes of a schedule that keep it valid. */
#ifndef PLIM_PLANNER_MOVES_H
#define PLIM_PLANNER_MOVES_H

#include "planner/random.h"
#include "planner/search/track.h"

typedef enum plim_move {
  PLIM_MOVE_EVICT,    /* at a step above the limit: drop a copy across it, make it again before its next reader */
  PLIM_MOVE_DELETE,   /* remove a repeat, or a series of neighbours */
  PLIM_MOVE_EXCHANGE, /* remove a repeat, then evict where the limit is exceeded */
  PLIM_MOVE_SHIFT,    /* move a repeat */
  PLIM_MOVE_INSERT,   /* a repeat of any op anywhere */
  PLIM_MOVE_FIRST,    /* move a first run within its window */
  PLIM_MOVE_CHOICE,   /* another variant */
  PLIM_MOVES
} plim_move;

typedef struct plim_mover {
  plim_track *track;
  plim_random random;
  int64_t limit; /* bytes that the peak should not exceed */
} plim_mover;

/* Make one move of the kind; returns 0 when nothing was changed. The change is in the track's journal, not settled. */
int plim_move_make(plim_mover *mover, plim_move move);

#endif

/* A large neighbourhood solved exactly: what to keep across a step and what to recompute after it.
 *
 * A *gap* is a copy made before the step whose next use comes after it: it is either kept in between, or recomputed
 * before that use. What such a copy is made from is a gap too. All choices of up to PLIM_NEIGHBOURHOOD_MOST gaps at
 * once are a neighbourhood that single moves do not get through, since what is between two good choices is too high or
 * too slow.
 */
#ifndef PLIM_PLANNER_NEIGHBOURHOOD_H
#define PLIM_PLANNER_NEIGHBOURHOOD_H

#include "planner/search/moves.h"

enum { PLIM_NEIGHBOURHOOD_MOST = 16 };

typedef struct plim_gap {
  int32_t op, choice;
  int32_t repeat;         /* the run that recomputes it now, -1: it is kept */
  int32_t anchor;         /* where it is recomputed: before this run, which is of no gap; -1: at the end */
  int32_t rank;           /* order of gaps with one anchor; equal ones by op */
  int64_t time_ns, bytes; /* of recomputing it; what that gives back at a step, at most */
  int32_t run;            /* its run while the search has it recomputed, -1 */
} plim_gap;

typedef struct plim_neighbourhood {
  int32_t n;
  plim_gap gap[PLIM_NEIGHBOURHOOD_MOST]; /* cheapest first, by time for the bytes given back */
} plim_neighbourhood;

/* Choose gaps at a slot: repeats after it whose older copy would be kept across it, and copies kept across it that may
 * be recomputed, with some of their producers; at random where there are too many. The journal must be empty. */
void plim_neighbourhood_gather(plim_mover *mover, int32_t slot, plim_neighbourhood *out);

/* Of all schedules that differ in these gaps alone, with a peak within the mover's limit, make the fastest if it is
 * faster than `most_ns`; returns 1 then, with the change in the journal, else 0 and nothing is changed. *nodes is what
 * the search may take, and what is left of it; when nothing is left the answer may be slower than the fastest.
 * Branch and bound; O(2^gaps) changes of the track at worst, usually some dozens. Deterministic. */
int plim_neighbourhood_solve(plim_mover *mover, plim_neighbourhood *neighbourhood, int64_t most_ns, int64_t *nodes);

/* Make a schedule within the limit faster, at `tries` slots. */
void plim_neighbourhood_improve(plim_mover *mover, int32_t tries);

#endif

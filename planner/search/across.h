/* A large neighbourhood solved exactly: what to keep across a step and what to make again behind it.
 *
 * A *gap* is a copy made before the step whose next use comes behind it: it is either kept in between, or made again
 * in front of that use. What such a copy is made from is a gap too. All choices of up to PLIM_ACROSS_MOST gaps at once
 * are a neighbourhood that single moves do not get through, since what is between two good choices is too high or too
 * slow. */
#ifndef PLIM_PLANNER_ACROSS_H
#define PLIM_PLANNER_ACROSS_H

#include "planner/search/moves.h"

enum { PLIM_ACROSS_MOST = 16 };

typedef struct plim_gap {
  int32_t op, choice;
  int32_t repeat;         /* the run that makes it again now, -1: it is kept */
  int32_t anchor;         /* where it is made again: in front of this run, which is of no gap; -1: at the end */
  int32_t rank;           /* order of gaps with one anchor; equal ones by op */
  int64_t time_ns, bytes; /* of making it again; what that gives back at a step, at most */
  int32_t run;            /* its run while the search has it made again, -1 */
} plim_gap;

typedef struct plim_across {
  int32_t n;
  plim_gap gap[PLIM_ACROSS_MOST]; /* cheapest first, by time for the bytes given back */
} plim_across;

/* Choose gaps at a slot: repeats behind it whose older copy would be kept across it, and copies kept across it that may
 * be made again, with some of their producers; at random where there are too many. The journal must be empty. */
void plim_across_gather(plim_mover *mover, int32_t slot, plim_across *out);

/* Of all schedules that differ in these gaps alone, with a peak within the mover's limit, make the fastest if it is
 * faster than `most_ns`; returns 1 then, with the change in the journal, else 0 and nothing is changed. *nodes is what
 * the search may take, and what is left of it; when nothing is left the answer may be slower than the fastest.
 * Branch and bound; O(2^gaps) changes of the track at worst, usually some dozens. Deterministic. */
int plim_across_solve(plim_mover *mover, plim_across *across, int64_t most_ns, int64_t *nodes);

/* Make a schedule within the limit faster, at `tries` slots. */
void plim_across_improve(plim_mover *mover, int32_t tries);

#endif

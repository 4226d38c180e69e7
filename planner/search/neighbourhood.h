/* A large neighbourhood that is solved exactly. At one slot of the schedule it decides for up to
 * PLIM_NEIGHBOURHOOD_MOST ops what becomes of their outputs.
 *
 * A *gap* is the time between a copy that exists before the slot and its next reader after the slot. Either the copy is
 * kept through the gap, or it is recomputed before that reader. Gaps of the inputs of such a copy belong to the
 * neighbourhood too. Single moves do not pass from one good combination to another: what lies between exceeds the limit
 * or takes too long. */
#ifndef PLIM_PLANNER_SEARCH_NEIGHBOURHOOD_H
#define PLIM_PLANNER_SEARCH_NEIGHBOURHOOD_H

#include "planner/search/moves.h"

enum { PLIM_NEIGHBOURHOOD_MOST = 16 };

typedef struct plim_gap {
  int32_t op, choice; /* what recomputes the copy */
  int32_t repeat;     /* the run that recomputes it in the schedule now; -1: it is kept */
  int32_t anchor;     /* the run before which it is recomputed, which belongs to no gap; -1: at the end */
  int32_t rank;       /* order among gaps of one anchor, then by op */
  int64_t time_ns;    /* of recomputing */
  int64_t bytes;      /* that recomputing frees at one position, at most */
  int32_t run;        /* its run while the branch and bound has it recomputed; -1: kept */
} plim_gap;

typedef struct plim_neighbourhood {
  int32_t n;
  plim_gap gap[PLIM_NEIGHBOURHOOD_MOST]; /* by ascending time for each byte */
} plim_neighbourhood;

/* Choose the gaps at a slot: repeats after it of ops that ran before it, and copies that are kept over it and may be
 * recomputed, with some of their producers. Where there are too many, random ones are taken. The journal must be empty.
 */
void plim_neighbourhood_gather(plim_mover *mover, int32_t slot, plim_neighbourhood *out);

/* Among all schedules that differ in these gaps alone and have a peak within the mover's limit, make the fastest one.
 *   most_ns  in          only a schedule of less time is made
 *   nodes    [1] in out  nodes of branch and bound that are left; at 0 the answer need not be the fastest
 * Returns 1 where one was made, with the change in the journal; else 0, and nothing is changed.
 * O(2^gaps) changes of the track in the worst case, usually some dozens. Deterministic. */
int plim_neighbourhood_solve(plim_mover *mover, plim_neighbourhood *neighbourhood, int64_t most_ns, int64_t *nodes);

/* Make a schedule within the limit faster: gather and solve at `tries` random slots. Empties the journal. */
void plim_neighbourhood_improve(plim_mover *mover, int32_t tries);

#endif

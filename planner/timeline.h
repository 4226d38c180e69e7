/* The timeline of a schedule: which copy of which item is alive when, and what that adds up to. This is the only
 * calculation of a peak; the incremental form (track.h) keeps the same figures and is tested against it.
 *
 * A copy is made by a run of its item's producer and lives to its last reader before the next copy; a copy nothing
 * reads lives for its own step. Inputs live from step 0 to their last reader. The last copy of an output is alive to
 * the end. Where an op may write over an input whose copy has its last reader there, it does: the successor takes its
 * place.
 */
#ifndef PLIM_PLANNER_TIMELINE_H
#define PLIM_PLANNER_TIMELINE_H

#include "planner/schedule.h"

typedef struct plim_copy {
  int32_t item;
  int32_t begin, end; /* half-open, in steps */
  int32_t successor;  /* the copy that is written over this one at `end`, -1: none */
  plim_pair pair;     /* operand positions of that, at the successor's op */
} plim_copy;

typedef struct plim_timeline {
  const plim_problem *problem;
  int32_t n_steps, n_copies;
  const plim_copy *copy; /* [n_copies], by begin */
  const int64_t *level;  /* [n_steps] bytes alive at a step, persistent ones included */
  int64_t peak_bytes;    /* largest level */
  int64_t time_ns;       /* of all runs */
  plim_copy *own_copy;
  int64_t *own_level;
  int32_t *latest, *ran;
  int32_t room_steps, room_copies;
} plim_timeline;

/* A timeline is made empty and then evaluated any number of times. */
PLIM_MUST_USE plim_status plim_timeline_new(const plim_problem *problem, plim_timeline **out);
void plim_timeline_free(plim_timeline *timeline); /* NULL is legal */

/* Evaluate. PLIM_EPLAN, with a sentence, when the schedule is not valid: an op that never runs, a run before what it
 * reads, on the wrong side of an update, a second run of an effect op, first runs out of program order where that is
 * fixed. O(runs x operands). */
PLIM_MUST_USE plim_status plim_timeline_evaluate(plim_timeline *timeline, const plim_schedule *schedule);

#endif

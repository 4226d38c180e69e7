/* Greedy covering: repeats that lower live bytes where they exceed a limit, those with most bytes for their time first.
 *
 * Bytes are above the *limit* where live bytes exceed it; their *area* is the sum of that excess over all runs.
 * An item that is kept between two of its readers takes bytes there; one that is recomputed before the second reader
 * does not.
 *   gain   of a repeat: by how much the area above the limit becomes smaller, in bytes x positions
 *   cost   of a repeat: its time; and for each input that is not alive there, the smaller of two: the area of keeping
 *          the input until then, or the cost of a repeat of the input's op before it
 *   rate   of a walk: the area that is worth a nanosecond. Area / rate is time. A repeat is added where its gain is
 *          larger than its cost.
 * A *walk* goes through the schedule once. Walks at falling rates make a round (greedy_covering_run.c). */
#ifndef PLIM_PLANNER_SEARCH_GREEDY_COVERING_H
#define PLIM_PLANNER_SEARCH_GREEDY_COVERING_H

#include "planner/track/memory_profile.h"
#include "planner/track/track.h"
#include "runtime/base/random.h"

enum { PLIM_GREEDY_COVERING_CHAIN = 48 /* most repeats that one decision adds: an op and its inputs' ops */ };

typedef struct plim_greedy_covering {
  plim_track *track;
  int64_t limit;      /* bytes, persistent ones included */
  int64_t mean_bytes; /* mean size of the items */
  plim_random random;
  double rate;       /* bytes x positions that are worth a nanosecond */
  double keep_share; /* a repeat that gains less than this share of the rate is removed; 0: none is */
  double noise;      /* the rate of a single repeat differs by at most this share, at random */
  /* of the walk that goes on; positions are those of the schedule when the walk began */
  double excess;                             /* area above the limit when it began, bytes x positions */
  int32_t changes;                           /* repeats added or removed */
  int32_t *at;                               /* [room] position of a run; an added run has that of the run after it */
  int32_t *last;                             /* [n_items] position of the item's last access so far; -1: none */
  plim_blocked_profile memory_profile;       /* live bytes at a position, with the changes so far */
  int32_t *n_above;                          /* [room + 1] positions before this one where bytes exceeded the limit */
  int32_t *n_near;                           /* [room + 1] the same with an item of mean size more */
  int32_t chain[PLIM_GREEDY_COVERING_CHAIN]; /* [n_chain] ops that a decision would run again, in order */
  int32_t n_chain;
} plim_greedy_covering;

/* The track must outlive it. */
PLIM_MUST_USE plim_status plim_greedy_covering_new(plim_track *track, int64_t limit, plim_greedy_covering **out);
void plim_greedy_covering_free(plim_greedy_covering *covering); /* NULL is legal */

/* One walk: remove repeats that are not worth their time at the rate, and add those that are. The schedule stays valid.
 * Empties the journal. O(runs x operands), and O(runs) for each input of each chain that is tried. A chain has up to
 * operands^6 inputs in theory; on random layers of up to 3,500 ops it had at most 2,700. */
void plim_greedy_covering_walk(plim_greedy_covering *covering);

#endif

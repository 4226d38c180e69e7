/* Greedy covering: recomputations that lower the steps above a limit, those that save most bytes for their time first.
 *
 * A copy that is kept between two of its readers takes bytes there; one that is recomputed before the second reader
 * does not. The *gain* of that repeat is by how much less is above the limit, added up over the steps. Its cost is its
 * time, and for each input that is gone by then either the bytes of keeping that longer, or its own repeat in front,
 * whichever is less. Bytes over steps become time by the *rate* of a walk. */
#ifndef PLIM_PLANNER_GREEDY_COVERING_H
#define PLIM_PLANNER_GREEDY_COVERING_H

#include "planner/random.h"
#include "planner/search/blocked_profile.h"
#include "planner/search/track.h"

enum { PLIM_GREEDY_COVERING_CHAIN = 48 /* repeats at one place for one gain */ };

typedef struct plim_greedy_covering {
  plim_track *track;
  int64_t limit;
  int64_t usual_bytes; /* mean of the items */
  plim_random random;
  double rate;  /* bytes x steps that are worth a nanosecond */
  double hold;  /* repeats that gain less than this share of the rate go; 0: none go */
  double noise; /* shares by which rates of single repeats differ, at random */
  /* of the walk under way; positions are places in the sequence when it began */
  double excess;                       /* bytes x steps above the limit when it began */
  int32_t changes;                     /* repeats that came or went */
  int32_t *at;                         /* [room] position of a run; a run that was inserted has that of the next one */
  int32_t *last;                       /* [n_items] position of the item's last access so far, -1 */
  plim_blocked_profile memory_profile; /* bytes alive at a position */
  int32_t *n_above, *n_near; /* [room + 1] positions before this one above the limit; above it with a usual item more */
  int32_t chain[PLIM_GREEDY_COVERING_CHAIN], n_chain; /* ops to run before a reader, in order */
} plim_greedy_covering;

/* The track must outlive it. */
PLIM_MUST_USE plim_status plim_greedy_covering_new(plim_track *track, int64_t limit, plim_greedy_covering **out);
void plim_greedy_covering_free(plim_greedy_covering *covering); /* NULL is legal */

/* Walk through the schedule once: take repeats away that are not worth their time at the rate, and add those that are.
 * The schedule stays valid; empties the journal. O(runs x operands), and for each gain looked
 * at closely O(runs) for each input of its chain: in theory operands to the power of six, on random layers of up to
 * 3,500 ops and half of all links at most 2,700 inputs. */
void plim_greedy_covering_walk(plim_greedy_covering *covering);

#endif

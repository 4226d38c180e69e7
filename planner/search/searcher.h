/* One searcher: an annealer that works for one planning, cooling by cooling, with packing in the loop.
 *
 * A cooling asks for peaks within a limit. The fastest schedule of a cooling that is faster than the best plan is its
 * candidate; it is packed now and then, with more effort when the cooling ends, and by exact search where that
 * almost succeeds. Where its addresses need more than the budget, the limit of the next cooling is tightened by what
 * was too much. The best plan never gets slower. */
#ifndef PLIM_PLANNER_SEARCHER_H
#define PLIM_PLANNER_SEARCHER_H

#include <stdatomic.h>

#include "planner/planning.h"
#include "planner/search/anneal.h"
#include "planner/search/moves.h"

/* Temperatures are in shares of the time of an average op: an op of a small graph is a larger part of the whole. */
typedef struct plim_cooling {
  int32_t percent; /* of the moves of a lap */
  double hot;
  enum {
    PLIM_COOL_FRESH,  /* from program order */
    PLIM_COOL_REHEAT, /* from the best */
    PLIM_COOL_QUENCH  /* from the best, never above the limit */
  } start;
  int32_t share[PLIM_MOVES];
} plim_cooling;

typedef struct plim_searcher {
  plim_planning *pl;
  plim_track *track;
  plim_anneal anneal;
  plim_schedule current;   /* scratch */
  plim_schedule candidate; /* the fastest schedule of the cooling within the limit; without one, its last */
  int64_t candidate_ns;    /* 0: none */
  int64_t excess_bytes;    /* of its height over the budget, as packed last; INT64_MAX: never */
  int64_t next_try;        /* in moves */
  atomic_int *halt;        /* NULL: none; set by who met the bound, others stop then */
} plim_searcher;

/* A searcher for the planning, which must outlive it, with random numbers by `seed`. */
PLIM_MUST_USE plim_status plim_searcher_begin(plim_planning *planning, uint64_t seed, plim_searcher *out);
void plim_searcher_end(plim_searcher *searcher);

/* Cool down once from `start`, in at most so many moves and until `deadline_ns` (by plim_now_ns), and offer what was
 * met. PLIM_ECANCEL when the context was cancelled. */
PLIM_MUST_USE plim_status plim_searcher_cool(plim_searcher *searcher, const plim_cooling *cooling,
                                             const plim_schedule *start, int64_t moves, int64_t deadline_ns);

#endif

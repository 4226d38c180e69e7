/* One searcher: an annealer that works for one incumbent, annealing run by annealing run, with packing in the loop.
 *
 * An annealing run asks for peaks within a limit. The fastest schedule of an annealing run that is faster than the best
 * plan is its candidate; it is packed now and then, with more effort when the annealing run ends, and by exact search
 * where that almost succeeds. Where its addresses need more than the budget, the limit of the next annealing run is
 * tightened by what was too much. The best plan never gets slower. */
#ifndef PLIM_PLANNER_SEARCHER_H
#define PLIM_PLANNER_SEARCHER_H

#include <stdatomic.h>

#include "planner/incumbent.h"
#include "planner/search/anneal.h"
#include "planner/search/moves.h"

/* Temperatures are in shares of the time of an average op: an op of a small graph is a larger part of the whole. */
typedef struct plim_annealing {
  int32_t percent; /* of the moves of a lap */
  double hot;
  enum {
    PLIM_COOL_FRESH,  /* from program order */
    PLIM_COOL_REHEAT, /* from the best */
    PLIM_COOL_QUENCH  /* from the best, never above the limit */
  } start;
  int32_t share[PLIM_MOVES];
} plim_annealing;

typedef struct plim_searcher {
  plim_incumbent *pl;
  plim_track *track;
  plim_anneal anneal;
  plim_schedule current;   /* scratch */
  plim_schedule candidate; /* the fastest schedule of the annealing run within the limit; without one, its last */
  int64_t candidate_ns;    /* 0: none */
  int64_t excess_bytes;    /* of its packed size over the budget, as packed last; INT64_MAX: never */
  int64_t next_try;        /* in moves */
  atomic_int *halt;        /* NULL: none; set by who met the bound, others stop then */
} plim_searcher;

/* A searcher for the incumbent, which must outlive it, with random numbers by `seed`. */
PLIM_MUST_USE plim_status plim_searcher_begin(plim_incumbent *incumbent, uint64_t seed, plim_searcher *out);
void plim_searcher_end(plim_searcher *searcher);

/* Cool down once from `start`, in at most so many moves and until `deadline_ns` (by plim_now_ns), and submit what was
 * met. PLIM_ECANCEL when the context was cancelled. */
PLIM_MUST_USE plim_status plim_searcher_cool(plim_searcher *searcher, const plim_annealing *annealing,
                                             const plim_schedule *start, int64_t moves, int64_t deadline_ns);

#endif

/* A searcher makes annealing runs for one incumbent, and packs what they find.
 *
 * Annealing knows peaks, the budget bounds packed sizes. So each run works with a limit on the peak. Its *candidate* is
 * the fastest schedule within that limit that beats the best plan. The candidate is packed every few thousand moves;
 * with more effort when the run ends; and by exact search where it almost fits. Where it does not fit, the limit of the
 * next run is lower by half of the excess. */
#ifndef PLIM_PLANNER_SEARCH_SEARCHER_H
#define PLIM_PLANNER_SEARCH_SEARCHER_H

#include <stdatomic.h>

#include "planner/core/incumbent.h"
#include "planner/search/anneal.h"

/* The settings of one annealing run. */
typedef struct plim_annealing {
  int32_t percent; /* of the moves of a round */
  double hot;      /* first temperature, in times of an average op */
  enum {
    PLIM_START_ORDER,      /* from the schedule that the round was given, such as program order */
    PLIM_START_BEST,       /* from the best */
    PLIM_START_BEST_WITHIN /* from the best, and never above the limit */
  } start;
  int32_t share[PLIM_MOVES]; /* as in plim_anneal */
} plim_annealing;

typedef struct plim_searcher {
  plim_incumbent *inc;
  plim_track *track;
  plim_anneal anneal;
  plim_schedule current;   /* scratch */
  plim_schedule candidate; /* the fastest schedule of the annealing run within the limit; without one, its last */
  int64_t candidate_ns;    /* time of the candidate; 0: none was within the limit */
  int64_t excess_bytes;    /* packed size of the candidate minus the budget; INT64_MAX: not packed yet */
  int64_t next_try;        /* value of anneal.done from which the next packing is allowed */
  atomic_int *halt;        /* shared by searchers; set by the one that meets the bound. NULL: there are no others */
} plim_searcher;

/* The incumbent must outlive the searcher. `seed` is that of its random numbers. */
PLIM_MUST_USE plim_status plim_searcher_begin(plim_incumbent *incumbent, uint64_t seed, plim_searcher *out);
void plim_searcher_end(plim_searcher *searcher);

/* One annealing run from `start`. It ends after `moves` moves or at deadline_ns (by plim_now_ns), and submits its
 * candidate. PLIM_ECANCEL: the context was cancelled. Deterministic without a deadline. */
PLIM_MUST_USE plim_status plim_searcher_anneal(plim_searcher *searcher, const plim_annealing *annealing,
                                               const plim_schedule *start, int64_t moves, int64_t deadline_ns);

#endif

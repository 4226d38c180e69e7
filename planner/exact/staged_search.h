/* The least time of a schedule in stages with a limit on copies, by a search of our own. */
#ifndef PLIM_PLANNER_EXACT_STAGED_SEARCH_H
#define PLIM_PLANNER_EXACT_STAGED_SEARCH_H

#include "planner/exact/staged.h"

typedef struct plim_staged_search plim_staged_search;

struct plim_staged_search {
  /* set by the caller */
  const plim_dag *dag;
  int32_t copies;      /* computations of a node at most */
  int64_t limit_bytes; /* of the peak */
  int64_t bound_ns;    /* nothing is faster: stop there */
  int64_t faster_than_ns;
  int64_t nodes;       /* decisions and conflicts, at most */
  int64_t deadline_ns; /* by plim_now_ns; INT64_MAX: none */
  uint64_t seed;
  plim_status (*on_better)(void *user, const plim_repeats *best); /* called for each best; NULL: no one is */
  void *user;
  /* results */
  int32_t found, exhausted; /* exhausted: there is nothing faster than best, or than faster_than_ns */
  plim_repeats best;
  int64_t best_ns;
};

/* Search, beginning with what `start` (NULL: nothing) repeats; it is the best so far where it keeps the limit.
 * Deterministic without a deadline. PLIM_ECANCEL keeps what was found. `best` is the caller's to free, and empty with
 * its ctx set in the beginning. Bytes: clauses of up to a few thousand bounds, whose number grows with the time spent.
 */
PLIM_MUST_USE plim_status plim_staged_search_run(plim_staged_search *search, const plim_repeats *start);

#endif

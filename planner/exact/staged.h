/* Moccasin: schedules in stages with a limit on the computations of a node, and the search for the best. */
#ifndef PLIM_PLANNER_EXACT_STAGED_H
#define PLIM_PLANNER_EXACT_STAGED_H

#include "planner/exact/dag.h"

/* ==== repeats (staged.c) ==== */

/* Schedules of class copies: stages with a limit on the computations of a node.
 *
 * Stage t ends with the first run of node t; before it, in program order, run the repeats of that stage, each node at
 * most once. Any set of repeats (stage, node) with node < stage is a valid schedule: what counts is its peak. */

typedef struct plim_repeat {
  int32_t stage, node;
} plim_repeat;

/* A set of repeats, sorted by stage, then node: the order in which they run. Empty: {.ctx = ctx}. */
typedef struct plim_repeats {
  plim_context *ctx;
  int32_t n;
  plim_repeat *at; /* [n] */
  int64_t capacity;
} plim_repeats;

void plim_repeats_free(plim_repeats *repeats);
PLIM_MUST_USE plim_status plim_repeats_add(plim_repeats *repeats, plim_repeat repeat); /* not in it yet */
PLIM_MUST_USE plim_status plim_repeats_copy(plim_repeats *to, const plim_repeats *from);

/* A set of repeats, evaluated. */
typedef struct plim_staged {
  const plim_dag *dag;
  int32_t n, capacity; /* positions */
  int32_t *node;       /* [n] */
  int32_t *stage;      /* [n] */
  int32_t *last;       /* [n] the last position that reads its output, itself when none does */
  int64_t *level;      /* [n] bytes while it runs */
  int32_t *next;       /* [n] the next position that runs the same node, -1 */
  int32_t *first;      /* [dag->n] the first position that runs the node */
  int32_t *latest;     /* [dag->n] the last one */
  int64_t peak_bytes, time_ns;
} plim_staged;

PLIM_MUST_USE plim_status plim_staged_make(const plim_dag *dag, plim_staged *out);
void plim_staged_free(plim_staged *staged);
/* O(n + edges). */
PLIM_MUST_USE plim_status plim_staged_evaluate(plim_staged *staged, const plim_repeats *repeats);

/* The repeats of a schedule of the problem, in stages: of a node that a stage would run twice only one, and of one with
 * more than `copies` runs the latest; the first runs are in program order. O(runs log runs). */
PLIM_MUST_USE plim_status plim_repeats_from_schedule(const plim_dag *dag, const plim_schedule *schedule, int32_t copies,
                                                     plim_repeats *out);
/* And back. */
PLIM_MUST_USE plim_status plim_staged_schedule(const plim_staged *staged, plim_schedule *out);

/* ==== search (staged_search.c) ==== */

/* The least time of a schedule in stages with a limit on copies, by a search of our own. */

typedef struct plim_staged_search plim_staged_search;

struct plim_staged_search {
  /* set by the caller */
  const plim_dag *dag;
  int32_t copies;      /* computations of a node at most */
  int64_t limit_bytes; /* of the peak */
  int64_t bound_ns;    /* nothing is faster: stop there */
  int64_t faster_than_ns;
  int64_t nodes;       /* decisions and conflicts, at most */
  int64_t deadline_ns; /* by plim_now_ns; PLIM_TIME_UNLIMITED: none */
  uint64_t seed;
  plim_status (*on_better)(void *user, const plim_repeats *best); /* called for each best; NULL: no one is */
  void *user;
  /* results */
  int32_t found, is_exhausted; /* is_exhausted: there is nothing faster than best, or than faster_than_ns */
  plim_repeats best;
  int64_t best_ns;
};

/* Search, beginning with what `start` (NULL: nothing) repeats; it is the best so far where it keeps the limit.
 * Deterministic without a deadline. PLIM_ECANCEL keeps what was found. `best` is the caller's to free, and empty with
 * its ctx set in the beginning. Bytes: clauses of up to a few thousand bounds, whose number grows with the time spent.
 */
PLIM_MUST_USE plim_status plim_staged_search_run(plim_staged_search *search, const plim_repeats *start);

#endif

/* Plans over spaces without a solver: greedy covering from several starts, then local search; and joined copies. */
#ifndef PLIM_PLANNER_SPACES_SEARCH_SPACE_SEARCH_H
#define PLIM_PLANNER_SPACES_SEARCH_SPACE_SEARCH_H

#include "planner/spaces/problem/space_sequence.h"

/* ==== search (space_search.c) ==== */

enum { PLIM_SPACE_STARTS = 4 /* sequences to begin with, at most */ };

typedef struct plim_space_search_options {
  plim_objective objective;
  int32_t page, recompute, place; /* 0: not allowed */
  const int64_t *budget;          /* [n_spaces] INT64_MAX: none */
  int64_t deadline_ns;            /* INT64_MAX: none */
  int32_t deadline_on_runs;       /* 1: it bounds the sum of the times of all runs, 0: the makespan */
  double bound;                   /* no plan is better: the search ends there */
  double keep_all;                /* the objective that progress is told in percent of; 0: not known */
  int32_t n_starts;
  const plim_space_events *const *start; /* [n_starts] sequences to begin with */
  int64_t rounds;                        /* of local search; 0: starts alone, and the first that fits is taken */
  uint64_t seed;                         /* of all random choices, beside the fixed one */
  double page_delay_share;               /* objective time: times the time of page copies, added to the makespan */
} plim_space_search_options;

typedef struct plim_space_found {
  int32_t fits; /* 0: no sequence within the budgets and the deadline was found; the rest is not set */
  double value; /* the objective of its plan */
} plim_space_found;

/* The best sequence found, for plim_space_lower. Whatever is found before a deadline of the context counts.
 * Deterministic where none is. O(rounds x events). */
PLIM_MUST_USE plim_status plim_space_search(const plim_space_problem *problem, const plim_space_search_options *options,
                                            plim_space_found *found, plim_space_events *out);

/* ==== joined copies (space_gather.c) ==== */

/* Copies that travel together: one command for several storages pays the latency of its link once. */

/* Join copies of one link wherever the plan is no worse by its objective and takes less in sum. `events` has RUN, COPY
 * and DROP, and is changed. Peaks stay within `budget`, and the makespan within the deadline of `draft`, where they
 * were; else they do not grow. draft, budget: as for plim_space_lower. Deterministic where no deadline of the context
 * ends it; O(copies x events), and no more than a fixed number of events. */
PLIM_MUST_USE plim_status plim_space_gather(const plim_space_problem *problem, const plim_space_plan *draft,
                                            const int64_t *budget, plim_space_events *events);

#endif

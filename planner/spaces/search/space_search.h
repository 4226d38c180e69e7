/* Plans over spaces without a solver: greedy covering from several starts, then local search. Known plans are starts.
 * The smallest budgets for which the search finds a plan, and copies that travel together. */
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

/* ==== known plans (space_known.c) ==== */

/* Plans that are known: what of them holds under other budgets, times and deadlines. */

/* The commands of the best of n plans, lowered anew for the problem's times. Read of `options`: all but bound,
 * keep_all, starts and rounds. A plan of another graph, one whose commands are not allowed, and one above a budget or
 * the deadline are left out.
 *   joins  in       0: commands that copy several storages are not allowed
 *   known  [n]  in  a NULL is left out
 *   value  [1]  out of its plan; INFINITY: there is none, and `out` is as it was
 * O(commands of all). */
PLIM_MUST_USE plim_status plim_space_known_best(const plim_space_problem *problem,
                                                const plim_space_search_options *options, int joins, int32_t n,
                                                const plim_space_plan *const *known, double *value,
                                                plim_space_events *out);

/* ==== smallest budgets (space_smallest.c) ==== */

/* What a refusal of the search says: the smallest budgets, and the earliest deadline, for which it finds a plan. */

/* PLIM_ENOFIT with that sentence, or the failure of finding it. *cut_short 1: time was over before larger budgets were
 * tried. */
PLIM_MUST_USE plim_status plim_space_search_refuse(const plim_space_problem *problem,
                                                   const plim_space_search_options *options, int32_t *cut_short);

/* The least factor on the budget of space `scaled` (-1: on all that are given) with which the search finds a plan.
 * INFINITY: none; NAN: it was not found in time. `rounds` and `bound` of the options are not read. */
PLIM_MUST_USE plim_status plim_space_search_factor(const plim_space_problem *problem,
                                                   const plim_space_search_options *options, int32_t scaled,
                                                   double *out);

/* A factor on budgets in six digits, or whole, rounded up (or down), so that what is said of it still holds. */
enum { PLIM_SPACE_FACTOR_BYTES = 32 };
const char *plim_space_factor_text(double factor, int up, char text[PLIM_SPACE_FACTOR_BYTES]);

/* ==== joined copies (space_gather.c) ==== */

/* Copies that travel together: one command for several storages pays the latency of its link once. */

/* Join copies of one link wherever the plan is no worse by its objective and takes less in sum. `events` has RUN, COPY
 * and DROP, and is changed. Peaks stay within `budget`, and the makespan within the deadline of `draft`, where they
 * were; else they do not grow. draft, budget: as for plim_space_lower. Deterministic where no deadline of the context
 * ends it; O(copies x events), and no more than a fixed number of events. */
PLIM_MUST_USE plim_status plim_space_gather(const plim_space_problem *problem, const plim_space_plan *draft,
                                            const int64_t *budget, plim_space_events *events);

#endif

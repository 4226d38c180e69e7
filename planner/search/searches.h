/* The searches: each submits schedules to an incumbent until it is done, the limit is over or the context cancelled. */
#ifndef PLIM_PLANNER_SEARCH_SEARCHES_H
#define PLIM_PLANNER_SEARCH_SEARCHES_H

#include "planner/core/incumbent.h"

/* Overhead 0: every op once with its fastest choice, in the order found that needs the smallest arena. Takes a part of
 * the time limit. Deterministic without one. */
PLIM_MUST_USE plim_status plim_keep_all_run(plim_incumbent *incumbent);

/* The fewest bytes, for an incumbent with `min_memory` set. Deterministic without a time limit. */
PLIM_MUST_USE plim_status plim_min_memory_run(plim_incumbent *incumbent);

/* Search with options->threads searchers, at most PLIM_BATCH_MOST; the first annealing run starts from `order`. Each
 * makes as many moves as a lone one would. They meet when all have ended an annealing run, and the next one starts from
 * the best that any of them met. So without a time limit the outcome depends on the seed and the number of threads, not
 * on timing. */
PLIM_MUST_USE plim_status plim_portfolio_run(plim_incumbent *incumbent, const plim_schedule *order);

#endif

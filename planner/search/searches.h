/* What strategies call of this folder: searches, and first schedules. */
#ifndef PLIM_PLANNER_SEARCH_SEARCHES_H
#define PLIM_PLANNER_SEARCH_SEARCHES_H

#include "planner/core/incumbent.h"
#include "planner/track/track.h"

/* ==== searches (keep_all.c, min_memory.c, portfolio.c) ==== */

/* The searches: each submits schedules to an incumbent until it is done, the limit is over or the context cancelled. */

/* Overhead 0: every op once with its fastest choice, in the order found that needs the smallest arena. Takes a part of
 * the time limit. Deterministic without one. */
PLIM_MUST_USE plim_status plim_keep_all_run(plim_incumbent *incumbent);
/* The same. *order becomes the order of the lowest peak; untouched where incumbent->shared has one. */
PLIM_MUST_USE plim_status plim_keep_all_find(plim_incumbent *incumbent, plim_schedule *order);

/* The fewest bytes, for an incumbent with `min_memory` set. Deterministic without a time limit. */
PLIM_MUST_USE plim_status plim_min_memory_run(plim_incumbent *incumbent);

/* Search with options->threads searchers, at most PLIM_BATCH_MAX; the first annealing run starts from `start`. Each
 * makes as many moves as a lone one would. They meet when all have ended an annealing run, and the next one starts from
 * the best that any of them met. So without a time limit the outcome depends on the seed and the number of threads, not
 * on timing. */
PLIM_MUST_USE plim_status plim_portfolio_run(plim_incumbent *incumbent, const plim_schedule *start);
/* Go on from the best that the incumbent has, until a round gains little: for one that only fits. */
PLIM_MUST_USE plim_status plim_portfolio_improve(plim_incumbent *incumbent);

/* ==== starts (start_checkpoints.c, greedy_covering_run.c) ==== */

/* A start from checkpoints (planner/chain). Of several sets of checkpoints it is the fastest whose peak is
 * within the limit; where none is, the one of lowest peak. It has at most `runs_limit` runs, where runs_limit >= n_ops.
 * Nothing is submitted. Deterministic. */
PLIM_MUST_USE plim_status plim_start_from_checkpoints(plim_incumbent *incumbent, int64_t limit, int32_t runs_limit,
                                                      plim_schedule *out);

/* A start from greedy covering. Brings a valid schedule within budget_bytes, then makes it faster.
 *   rounds       in      most rounds; the later ones remove repeats and cover again
 *   deadline_ns  in      by plim_now_ns; later rounds end there, the first at a share of the incumbent's time limit
 *   schedule     in out  becomes the fastest schedule within budget_bytes; where there is none, the one of lowest peak
 * Each schedule within budget_bytes is submitted. Deterministic without a deadline. */
PLIM_MUST_USE plim_status plim_greedy_covering_run(plim_incumbent *incumbent, int64_t budget_bytes, int32_t rounds,
                                                   int64_t deadline_ns, plim_schedule *schedule);

/* ==== polish (polish.c) ==== */

/* Faster within the limit, without a search. */

/* Remove each repeat without which the peak stays within the limit, the slowest first. Give each run the fastest
 * variant with which the peak stays within the limit. Repeat until nothing changes.
 * The peak must be within the limit before. Empties the journal. O(repeats log slots) a pass. Deterministic. The only
 * failure is PLIM_ENOMEM, before anything is changed. */
PLIM_MUST_USE plim_status plim_polish(plim_track *track, int64_t limit);

#endif

/* First schedules of a search: from checkpoints (seed.c) and from greedy covering (seed_covering.c). */
#ifndef PLIM_PLANNER_SEARCH_FIRST_SCHEDULES_H
#define PLIM_PLANNER_SEARCH_FIRST_SCHEDULES_H

#include "planner/core/incumbent.h"

/* A first schedule from checkpoints (planner/chain). Of several sets of checkpoints it is the fastest whose peak is
 * within the limit; where none is, the one of lowest peak. It has at most `most_runs` runs, where most_runs >= n_ops.
 * Deterministic. */
PLIM_MUST_USE plim_status plim_seed_make(const plim_problem *problem, plim_timeline *timeline, int64_t limit,
                                         int32_t most_runs, plim_schedule *out);

/* A first schedule from greedy covering. Brings a valid schedule within budget_bytes, then makes it faster.
 *   rounds       in      most rounds; the later ones remove repeats and cover again
 *   deadline_ns  in      by plim_now_ns; later rounds end there, the first at a share of the incumbent's time limit
 *   schedule     in out  becomes the fastest schedule within budget_bytes; where there is none, the one of lowest peak
 * Each schedule within budget_bytes is submitted. Deterministic without a deadline. */
PLIM_MUST_USE plim_status plim_seed_covering(plim_incumbent *incumbent, int64_t budget_bytes, int32_t rounds,
                                             int64_t deadline_ns, plim_schedule *schedule);

#endif

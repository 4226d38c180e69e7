/* Starting schedules for the searches. */
#ifndef PLIM_PLANNER_SEED_H
#define PLIM_PLANNER_SEED_H

#include "planner/timeline.h"

/* A schedule from checkpoints: of many checkpoint sets the fastest whose peak is within the limit, or, when there is
 * none, the one with the lowest peak. At most `most_runs` runs (at least one run of each op). Deterministic. */
PLIM_MUST_USE plim_status plim_seed_make(const plim_problem *problem, plim_timeline *timeline, int64_t limit,
                                         int32_t most_runs, plim_schedule *out);

#endif

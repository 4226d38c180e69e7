/* Faster within the limit, without a search. */
#ifndef PLIM_PLANNER_SEARCH_POLISH_H
#define PLIM_PLANNER_SEARCH_POLISH_H

#include "planner/track/track.h"

/* Remove each repeat without which the peak stays within the limit, the slowest first. Give each run the fastest
 * variant with which the peak stays within the limit. Repeat until nothing changes.
 * The peak must be within the limit before. Empties the journal. O(repeats log slots) a pass. Deterministic. The only
 * failure is PLIM_ENOMEM, before anything is changed. */
PLIM_MUST_USE plim_status plim_polish(plim_track *track, int64_t limit);

#endif

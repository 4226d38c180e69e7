/* Cleaning up a schedule: what can only get better. */
#ifndef PLIM_PLANNER_POLISH_H
#define PLIM_PLANNER_POLISH_H

#include "planner/search/track.h"

/* Remove every repeat whose removal keeps the peak within the limit, the slowest ops first, and give every run the
 * fastest choice of its label that does; again until nothing changes. The schedule's peak is within the limit. Empties
 * the journal. Deterministic. The only failure is memory, before anything has changed. */
PLIM_MUST_USE plim_status plim_polish(plim_track *track, int64_t limit);

#endif

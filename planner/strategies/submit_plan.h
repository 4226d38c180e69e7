/* A plan of other origin, submitted with its own addresses. */
#ifndef PLIM_PLANNER_STRATEGIES_SUBMIT_PLAN_H
#define PLIM_PLANNER_STRATEGIES_SUBMIT_PLAN_H

#include "planner/core/incumbent.h"

/* `plan` is packed, has passed the checker, and `schedule` is its commands. *taken is 0 when the timeline of the
 * schedule has other buffers than the plan (other in-place pairs, say): then nothing was submitted. O(buffers log
 * buffers). */
PLIM_MUST_USE plim_status plim_submit_plan(plim_incumbent *incumbent, const plim_plan *plan,
                                           const plim_schedule *schedule, int32_t *taken);

#endif

/* Stage schedules brought within a budget, and then as short as small changes make them. */
#ifndef PLIM_PLANNER_EXACT_REPAIR_H
#define PLIM_PLANNER_EXACT_REPAIR_H

#include "planner/exact/stage_schedule.h"

/* Drop copies across the highest step, the one with the least time for what it saves first, until the peak is within
 * `limit`, then keep copies that fit instead of recomputing them; stop at the deadline (INT64_MAX: none). *fits:
 * whether it came within the limit. Deterministic without a deadline. PLIM_ECANCEL leaves a valid schedule after; a
 * cancel of one that fits ends the changes alone. */
PLIM_MUST_USE plim_status plim_stage_schedule_repair(plim_stage_schedule *stages, int64_t limit, int64_t deadline_ns,
                                                     int32_t *fits);

#endif

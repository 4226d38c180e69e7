/* Schedules from elsewhere as first plans: those of plans, and replays of the arena's online policies. */
#ifndef PLIM_PLANNER_STRATEGIES_SUBMIT_PLAN_H
#define PLIM_PLANNER_STRATEGIES_SUBMIT_PLAN_H

#include "planner/core/incumbent.h"

/* ==== plans (submit_plan.c) ==== */

/* A plan of other origin, submitted with its own addresses. */

/* `plan` is packed, has passed the checker, and `schedule` is its commands. *taken is 0 when the timeline of the
 * schedule has other buffers than the plan (other in-place pairs, say): then nothing was submitted. O(buffers log
 * buffers). */
PLIM_MUST_USE plim_status plim_submit_plan(plim_incumbent *incumbent, const plim_plan *plan,
                                           const plim_schedule *schedule, int32_t *taken);

/* ==== replays (seed_replay.c) ==== */

/* Starting schedules from the online arena. */

/* Replay program order in arenas of the budget and of a few smaller ones (a schedule whose addresses were decided while
 * it ran need not pack as well again), and submit what comes out. *seed gets the fastest one whose peak is within the
 * budget, or stays as it is when there is none. Deterministic. */
PLIM_MUST_USE plim_status plim_seed_replay(plim_incumbent *incumbent, int32_t effort, plim_schedule *seed);

#endif

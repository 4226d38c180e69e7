/* Starting schedules from the online arena. */
#ifndef PLIM_PLANNER_STRATEGIES_SEED_REPLAY_H
#define PLIM_PLANNER_STRATEGIES_SEED_REPLAY_H

#include "planner/core/incumbent.h"

/* Replay program order in arenas of the budget and of a few smaller ones (a schedule whose addresses were decided while
 * it ran need not pack as well again), and submit what comes out. *seed gets the fastest one whose peak is within the
 * budget, or stays as it is when there is none. Deterministic. */
PLIM_MUST_USE plim_status plim_seed_replay(plim_incumbent *incumbent, int32_t effort, plim_schedule *seed);

#endif

/* A plan of other origin, offered with its own addresses. */
#ifndef PLIM_PLANNER_OFFER_PLAN_H
#define PLIM_PLANNER_OFFER_PLAN_H

#include "planner/planning.h"

/* `plan` is packed, has passed the checker, and `schedule` is its steps. *taken is 0 when the timeline of the schedule
 * has other lives than the plan (other in-place pairs, say): then nothing was offered. O(lives log lives). */
PLIM_MUST_USE plim_status plim_offer_plan(plim_planning *planning, const plim_plan *plan, const plim_schedule *schedule,
                                          int32_t *taken);

#endif

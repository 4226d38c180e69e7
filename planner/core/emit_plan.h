/* The plan document of a schedule. */
#ifndef PLIM_PLANNER_CORE_EMIT_PLAN_H
#define PLIM_PLANNER_CORE_EMIT_PLAN_H

#include "planner/core/place.h"

/* What a plan document states beside the schedule. */
typedef struct plim_emission {
  const char *planner; /* name of the strategy */
  plim_plan_class plan_class;
  int64_t budget_bytes;
  int64_t bound_ns; /* proved lower bound on the time of a plan within the budget */
} plim_emission;

/* Write a schedule, its timeline and its placement (NULL: a plan without addresses) as a plan. The plan is not checked
 * here. O(runs + lifetimes). */
PLIM_MUST_USE plim_status plim_emit(const plim_timeline *timeline, const plim_schedule *schedule,
                                    const plim_placement *placement, const plim_emission *emission, plim_plan **out);

#endif

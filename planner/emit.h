/* A schedule, its timeline and its places as a plan document. */
#ifndef PLIM_PLANNER_EMIT_H
#define PLIM_PLANNER_EMIT_H

#include "planner/pack/place.h"

typedef struct plim_emission {
  const char *planner;
  plim_plan_class plan_class;
  int64_t budget_bytes, bound_ns;
} plim_emission;

/* `placement` NULL: a plan without addresses. The plan is not checked here. */
PLIM_MUST_USE plim_status plim_emit(const plim_timeline *timeline, const plim_schedule *schedule,
                                    const plim_placement *placement, const plim_emission *emission, plim_plan **out);

#endif

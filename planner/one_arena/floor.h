/* The smallest budget within a planning that already has a problem and a plan front. Planner-internal. */
#ifndef PLIM_PLANNER_ONE_ARENA_FLOOR_H
#define PLIM_PLANNER_ONE_ARENA_FLOOR_H

#include "planner/archive/front.h"
#include "planner/strategies/strategy.h"

/* plim_plan_smallest through that plan front: takes what it knows and leaves there what it finds, the lowest plan
 * before all. PLIM_EPLAN: a kept plan was bad. PLIM_ECANCEL: cancelled; the plan front has what was found. */
PLIM_MUST_USE plim_status plim_floor_find(const plim_problem *problem, const plim_plan_options *options,
                                          const plim_strategy *strategy, plim_front *front, plim_plan_floor *out,
                                          plim_plan **plan);

/* Only the search of plim_floor_find, for `inc`, whose budget is INT64_MAX.
 *   floor  [1]  out  keep_all_bytes and from_front only */
PLIM_MUST_USE plim_status plim_floor_search(const plim_problem *problem, const plim_plan_options *options,
                                            const plim_strategy *strategy, plim_front *front, plim_plan_floor *floor,
                                            plim_incumbent *inc);

#endif

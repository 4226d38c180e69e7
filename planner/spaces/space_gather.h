/* Copies that travel together: one command for several storages pays the latency of its link once. */
#ifndef PLIM_PLANNER_SPACES_SPACE_GATHER_H
#define PLIM_PLANNER_SPACES_SPACE_GATHER_H

#include "planner/spaces/space_lower.h"

/* Join copies of one link wherever the plan is no worse by its objective and takes less in sum. `events` has RUN, COPY
 * and DROP, and is changed. Peaks stay within `budget`, and the makespan within the deadline of `draft`, where they
 * were; else they do not grow. draft, budget: as for plim_space_lower. Deterministic where no deadline of the context
 * ends it; O(copies x events), and no more than a fixed number of events. */
PLIM_MUST_USE plim_status plim_space_gather(const plim_space_problem *problem, const plim_space_plan *draft,
                                            const int64_t *budget, plim_space_events *events);

#endif

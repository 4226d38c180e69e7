/* A schedule from a solution of the cut model. */
#ifndef PLIM_PLANNER_BOUND_CUT_WALK_H
#define PLIM_PLANNER_BOUND_CUT_WALK_H

#include "planner/bound/flow.h"
#include "planner/core/schedule.h"

/* Walks program order. At each cut, what the solution recomputes after it is evicted; it is recomputed when it is read.
 * Each column of the solution gives at most one run more, so the time is at most the solution's. The peak may exceed
 * the budget, since the model does not see the bytes that recomputing itself takes.
 *   model     in  of program order
 *   solution  [n_columns]  in  1: the column's op is recomputed */
PLIM_MUST_USE plim_status plim_cut_walk(plim_cut_flow *flow, const plim_cut_model *model, const uint8_t *solution,
                                        int64_t budget_bytes, plim_schedule *out);

#endif

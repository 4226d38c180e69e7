/* A schedule from a solution of the cut model. */
#ifndef PLIM_PLANNER_CUT_WALK_H
#define PLIM_PLANNER_CUT_WALK_H

#include "planner/cut/flow.h"
#include "planner/schedule.h"

/* Walk program order; at each cut forget what the solution lets run again after it, and run what is missing when it
 * is read. Every op of the solution runs at most once more, so that the time is the solution's; the peak may be above
 * the budget, since the model does not see what is alive while something is recomputed.
 *   model     of program order
 *   solution  [n_columns] */
PLIM_MUST_USE plim_status plim_cut_walk(plim_cut_flow *flow, const plim_cut_model *model, const uint8_t *solution,
                                        int64_t budget_bytes, plim_schedule *out);

#endif

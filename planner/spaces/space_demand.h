/* Make a sequence fit in one pass over its runs: memory as a cache. For graphs on which plim_space_cover, which looks
 * at the whole sequence for each decision, takes too long. */
#ifndef PLIM_PLANNER_SPACES_SPACE_DEMAND_H
#define PLIM_PLANNER_SPACES_SPACE_DEMAND_H

#include "planner/spaces/space_cover.h"

/* `sequence` in: every node's run once, in program order. Out: with the copies and runs that keep it within the budgets
 * (analysed), where *fits is 1. *fits 0: no room was found, or the time was over. Weights: costs alone are read.
 * O(runs x (live buffers looked at, at most 200)). Deterministic. */
PLIM_MUST_USE plim_status plim_space_demand(plim_space_sequence *sequence, const plim_space_rules *rules,
                                            const plim_space_weights *weights, int32_t *fits);

#endif

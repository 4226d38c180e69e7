/* Make a sequence legal, and take out what it does not need. */
#ifndef PLIM_PLANNER_SPACES_SPACE_REPAIR_H
#define PLIM_PLANNER_SPACES_SPACE_REPAIR_H

#include "planner/spaces/space_costs.h"
#include "planner/spaces/space_sequence.h"

/* Give every item what it reads: copies, or runs where no copy can bring it. *legal: 0 where nothing can. The sequence
 * is analysed. */
PLIM_MUST_USE plim_status plim_space_repair(plim_space_sequence *sequence, const plim_space_rules *rules,
                                            const plim_space_weights *weights, int32_t *legal);

/* Take out runs and copies without which the bytes are not short either, until the time is over. Analysed before and
 * after. */
PLIM_MUST_USE plim_status plim_space_prune(plim_space_sequence *sequence, const plim_space_rules *rules);

#endif

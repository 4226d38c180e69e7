/* Make a sequence fit: where bytes are short, outputs are recomputed or paged, the cheapest by cost per byte and
 * time first. */
#ifndef PLIM_PLANNER_SPACES_SPACE_COVER_H
#define PLIM_PLANNER_SPACES_SPACE_COVER_H

#include "planner/spaces/space_costs.h"
#include "planner/spaces/space_sequence.h"
#include "runtime/base/random.h"

/* *fits: 1 when bytes are no longer short anywhere; 0 where nothing can go, or where the time is over. */
PLIM_MUST_USE plim_status plim_space_cover(plim_space_sequence *sequence, const plim_space_rules *rules,
                                           const plim_space_weights *weights, plim_random *random, int32_t *fits);

#endif

/* From a search's sequence to events, with copies where they continue beside compute. */
#ifndef PLIM_PLANNER_SPACES_SPACE_ARRANGE_H
#define PLIM_PLANNER_SPACES_SPACE_ARRANGE_H

#include "planner/spaces/space_sequence.h"

/* `sequence` is analysed and within the budgets, and is changed. spread: 1: copies begin as early, and what they read
 * stays as long, as the time of the copy asks for and bytes allow; else, and where the time of the context is over,
 * they stand where the sequence has them. */
PLIM_MUST_USE plim_status plim_space_arrange(plim_space_sequence *sequence, const int64_t *budget, int spread,
                                             plim_space_events *out);

#endif

/* Starting schedules by covering. */
#ifndef PLIM_PLANNER_SEED_COVERING_H
#define PLIM_PLANNER_SEED_COVERING_H

#include "planner/incumbent.h"

/* Bring a schedule within so many bytes by covering (greedy_covering.h), and make it faster by taking back and covering
 * again, in at most so many rounds and, but for the first, until `deadline_ns`. What comes within them is submitted;
 * *schedule becomes the fastest of it, or the lowest that was met. The schedule must be valid. Deterministic but for
 * the deadline.
 */
PLIM_MUST_USE plim_status plim_seed_covering(plim_incumbent *incumbent, int64_t budget_bytes, int32_t rounds,
                                             int64_t deadline_ns, plim_schedule *schedule);

#endif

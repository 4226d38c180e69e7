/* Why there is no plan: the sentence of a refusal. Planner-internal; the words are plim_plan_floor_describe's. */
#ifndef PLIM_PLANNER_ONE_ARENA_REFUSE_H
#define PLIM_PLANNER_ONE_ARENA_REFUSE_H

#include "planner/core/incumbent.h"

/* Fail with PLIM_ENOFIT for an incumbent for which the strategy of that name found nothing. The sentence has the
 * budget, what is proven about it, and the smallest budget met. It names the conflict of the schedule whose peak fits
 * and whose addresses miss the budget by least.
 *   floor  [1]  out  the figures of the sentence */
PLIM_MUST_USE plim_status plim_refuse(plim_incumbent *incumbent, const char *strategy, plim_plan_floor *floor);

/* What a valid schedule of that packed size lacks within a smaller budget, and a few buffers of it that are proven not
 * to lie together there: too many bytes at one command, or, where its peak fits, buffers without addresses.
 *   text  out  [PLIM_CONFLICT_BYTES]
 * Deterministic; at most some tenths of a second of exact search. */
PLIM_MUST_USE plim_status plim_refusal_conflict(plim_incumbent *incumbent, const plim_schedule *schedule,
                                                int64_t packed_bytes, int64_t budget_bytes, char *text);

#endif

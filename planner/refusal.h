/* Why there is no plan: the sentence of a refusal. Planner-internal. */
#ifndef PLIM_PLANNER_REFUSAL_H
#define PLIM_PLANNER_REFUSAL_H

#include "planner/planning.h"

/* PLIM_ENOFIT for a planning that found nothing by the strategy of that name: the budget, what is proven about it, the
 * smallest one met. Where a schedule's peak fits and only its addresses do not: what is missing, and a few lives that
 * are proven not to lie together within the budget. Deterministic; at most some tenths of a second of exact search. */
PLIM_MUST_USE plim_status plim_refuse(plim_planning *planning, const char *strategy);

#endif

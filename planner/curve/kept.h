/* Planning through a curve: what is known already, a search from there where it may help, what it adds. */
#ifndef PLIM_PLANNER_CURVE_KEPT_H
#define PLIM_PLANNER_CURVE_KEPT_H

#include "planner/planning.h"

/* Let the planning, which has no best yet, find its plan: the curve's fastest point within its budget (lowest: the
 * curve's lowest), then the strategy's search, unless a search with equal effort was made before or the bound is
 * reached. Bounds that the curve has from a file are proved again by the cut model; an optimum that it cannot prove is
 * searched again. New points and the try are added to the curve. *kept is 1 when the best is still the curve's own
 * point. PLIM_ECANCEL keeps the best so far. */
PLIM_MUST_USE plim_status plim_kept_run(plim_planning *planning, const plim_strategy *strategy, plim_curve *curve,
                                        int32_t *kept);

#endif

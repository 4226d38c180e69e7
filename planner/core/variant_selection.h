/* Variant selection: for a fixed sequence of ops, the fastest variants within a limit on the peak.
 *
 * A workspace is alive at one position only. So a choice changes live bytes at its own position alone, and every op can
 * be decided by itself. All runs of an op get variants of one numerics key. */
#ifndef PLIM_PLANNER_CORE_VARIANT_SELECTION_H
#define PLIM_PLANNER_CORE_VARIANT_SELECTION_H

#include "planner/core/timeline.h"

typedef struct plim_variant_selection {
  const plim_problem *problem;
  int32_t useful; /* 0: no op has a choice with less workspace than its fastest, so nothing can be gained */
  int32_t *first; /* [n_ops + 1] where the sums of an op begin in `key_sum` */
  struct plim_selection_key *key_sum; /* scratch: sums by op and numerics key */
} plim_variant_selection;

PLIM_MUST_USE plim_status plim_variant_selection_make(const plim_problem *problem, plim_variant_selection *out);
void plim_variant_selection_free(plim_variant_selection *selection); /* {0} is legal */

/* Least peak that the sequence of ops can have, by any choice of variants. The timeline is that of the schedule. */
int64_t plim_variant_selection_least(const plim_timeline *timeline, const plim_schedule *schedule);

/* Select variants for a limit on the peak. Returns 1 when a choice of the schedule changed. The timeline is that of
 * the schedule before the call.
 * Where live bytes beside the workspace are above the limit already, only the operands of the op count: a search may
 * still recompute the rest. Where no variant comes within the limit, the one that comes nearest is taken.
 * O(runs x choices^2). */
int plim_variant_selection_run(plim_variant_selection *selection, const plim_timeline *timeline,
                               plim_schedule *schedule, int64_t limit);

#endif

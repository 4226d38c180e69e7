/* Variants for a sequence that stands: each op gets its fastest choice that leaves its runs within a limit.
 *
 * A workspace lives for its own step, so no choice changes what is alive at another one, and the best choices of all
 * ops are found one op at a time. */
#ifndef PLIM_PLANNER_REFIT_H
#define PLIM_PLANNER_REFIT_H

#include "planner/timeline.h"

typedef struct plim_refit {
  const plim_problem *problem;
  int32_t useful; /* 0: no op has a second choice with a workspace of another size */
  int32_t *first; /* [n_ops + 1] an op's choices in `label` */
  struct plim_refit_label *label;
} plim_refit;

PLIM_MUST_USE plim_status plim_refit_make(const plim_problem *problem, plim_refit *out);
void plim_refit_free(plim_refit *refit); /* {0} is legal */

/* Bytes below which the sequence cannot be brought by its choices. The timeline is that of the schedule. */
int64_t plim_refit_least(const plim_timeline *timeline, const plim_schedule *schedule);

/* Choose anew for the limit; returns 1 when a choice changed. Where what is alive beside a workspace is above the limit
 * already, only the operands of its op count, since the rest may be computed again. Where no choice comes within the
 * limit, the one that comes nearest is taken. Runs of an op share a bits label. O(runs x choices). */
int plim_refit_run(plim_refit *refit, const plim_timeline *timeline, plim_schedule *schedule, int64_t limit);

#endif

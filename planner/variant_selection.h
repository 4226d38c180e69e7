/* Variant selection for a fixed schedule: each op gets the fastest variant that keeps its runs within a limit.
 *
 * A workspace is alive for its own step, so no choice changes what is alive at another one, and the best choices of all
 * ops are found one op at a time. */
#ifndef PLIM_PLANNER_VARIANT_SELECTION_H
#define PLIM_PLANNER_VARIANT_SELECTION_H

#include "planner/timeline.h"

typedef struct plim_variant_selection {
  const plim_problem *problem;
  int32_t useful; /* 0: no op has a second choice with a workspace of another size */
  int32_t *first; /* [n_ops + 1] an op's choices in `label` */
  struct plim_selection_key *label;
} plim_variant_selection;

PLIM_MUST_USE plim_status plim_variant_selection_make(const plim_problem *problem, plim_variant_selection *out);
void plim_variant_selection_free(plim_variant_selection *selection); /* {0} is legal */

/* Bytes below which the sequence cannot be brought by its choices. The timeline is that of the schedule. */
int64_t plim_variant_selection_least(const plim_timeline *timeline, const plim_schedule *schedule);

/* Choose anew for the limit; returns 1 when a choice changed. Where what is alive beside a workspace is above the limit
 * already, only the operands of its op count, since the rest may be recomputed. Where no choice comes within the
 * limit, the one that comes nearest is taken. Runs of an op share a numerics key. O(runs x choices). */
int plim_variant_selection_run(plim_variant_selection *selection, const plim_timeline *timeline,
                               plim_schedule *schedule, int64_t limit);

#endif

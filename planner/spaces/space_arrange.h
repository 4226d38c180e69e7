/* From a search's sequence to events, with copies where they continue beside compute. */
#ifndef PLIM_PLANNER_SPACES_SPACE_ARRANGE_H
#define PLIM_PLANNER_SPACES_SPACE_ARRANGE_H

#include "planner/spaces/space_sequence.h"

/* What the commands of a plan take. */
typedef struct plim_space_totals {
  int64_t makespan_ns, serial_ns;
  double energy_joule; /* idle power too; 0 where energies are not known */
} plim_space_totals;

/* `sequence` is analysed and within the budgets, and is changed. spread: 1: copies begin as early, and what they read
 * stays as long, as the time of the copy asks for and bytes allow; else, and where the time of the context is over,
 * they stand where the sequence has them.
 *   totals  [1]  out  of the plan that plim_space_lower makes of `out`, without making it
 *   out          in   its list is empty */
PLIM_MUST_USE plim_status plim_space_arrange(plim_space_sequence *sequence, const int64_t *budget, int spread,
                                             plim_space_totals *totals, plim_space_events *out);

#endif

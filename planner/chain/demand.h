/* Running ops on demand: what an op misses is recomputed first, depth first, from what is available. */
#ifndef PLIM_PLANNER_DEMAND_H
#define PLIM_PLANNER_DEMAND_H

#include "planner/schedule.h"

typedef struct plim_demand {
  const plim_problem *problem;
  plim_schedule *out; /* borrowed; runs are appended */
  int32_t most_runs;  /* in out */
  uint8_t *available; /* [n_items] its latest copy may be read; the caller clears it for what is given up */
  uint8_t *ran;       /* [n_ops] */
  int32_t *stack;     /* [n_ops] scratch */
  int32_t *seen;      /* [n_ops] scratch: reads of each op on the stack that are available */
} plim_demand;

PLIM_MUST_USE plim_status plim_demand_make(const plim_problem *problem, plim_demand *out);
void plim_demand_free(plim_demand *demand);

/* Begin anew: an empty schedule, nothing available, nothing has run. */
void plim_demand_begin(plim_demand *demand, plim_schedule *out, int32_t most_runs);

/* Run v with its fastest choice, and what it misses before it. Where a repeat would come after an update that its
 * op must not see, the older copy is read instead and simply is alive longer. PLIM_ENOFIT when most_runs do not
 * suffice, PLIM_ECANCEL when the context's effort is over. O(reads of the ops that run). */
PLIM_MUST_USE plim_status plim_demand_run(plim_demand *demand, int32_t v);

#endif

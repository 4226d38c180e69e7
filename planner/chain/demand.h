/* Running ops on demand: what an op misses is recomputed first, depth first, from what is available. */
#ifndef PLIM_PLANNER_CHAIN_DEMAND_H
#define PLIM_PLANNER_CHAIN_DEMAND_H

#include "planner/core/schedule.h"

typedef struct plim_demand {
  const plim_problem *problem;
  plim_schedule *out; /* borrowed; runs are appended */
  int32_t most_runs;  /* of the schedule */
  uint8_t *available; /* [n_items] 1: the latest copy may be read. The caller clears it for what is evicted */
  uint8_t *ran;       /* [n_ops] 1: the op has run */
  int32_t *stack;     /* [n_ops] scratch */
  int32_t *seen;      /* [n_ops] scratch: reads of each op on the stack that are available */
} plim_demand;

PLIM_MUST_USE plim_status plim_demand_make(const plim_problem *problem, plim_demand *out);
void plim_demand_free(plim_demand *demand);

/* Begin anew: an empty schedule, nothing available, nothing has run. */
void plim_demand_begin(plim_demand *demand, plim_schedule *out, int32_t most_runs);

/* Append a run of v with its fastest choice, and before it the runs that it misses. Where a repeat would come after an
 * update that its op must not see, the older copy is read in its place, and is alive longer. PLIM_ENOFIT: more than
 * most_runs runs. PLIM_ECANCEL: the context's effort is over. O(reads of the ops that run). */
PLIM_MUST_USE plim_status plim_demand_run(plim_demand *demand, int32_t v);

#endif

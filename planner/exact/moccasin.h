/* Moccasin's model of retention intervals, solved by CP-SAT. */
#ifndef PLIM_PLANNER_EXACT_MOCCASIN_H
#define PLIM_PLANNER_EXACT_MOCCASIN_H

#include "planner/exact/dag.h"
#include "planner/solvers/cpsat.h"

typedef struct plim_moccasin_query {
  const plim_dag *dag;
  int32_t copies; /* computations of a node at most */
  int64_t limit_bytes;
  plim_cpsat_options options;
} plim_moccasin_query;

typedef struct plim_moccasin_answer {
  int32_t found;
  plim_repeats repeats; /* the caller's to free, empty with its ctx set in the beginning */
  int64_t bound_ns;     /* no schedule of the dag within the limit is faster; INT64_MAX: there is none */
} plim_moccasin_answer;

/* Minimise time within the limit. `start` is a hint; when its peak is above the limit, its peak is brought down first.
 */
PLIM_MUST_USE plim_status plim_moccasin_solve(plim_cpsat *cpsat, const plim_moccasin_query *query,
                                              const plim_repeats *start, plim_moccasin_answer *out);

#endif

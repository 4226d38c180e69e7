/* Lower bounds that hold for every plan of any class. */
#ifndef PLIM_PLANNER_BOUND_H
#define PLIM_PLANNER_BOUND_H

#include "planner/problem.h"

/* Bytes that no plan can do without: the largest working set of one op, and the op. O(graph). */
int64_t plim_bound_bytes(const plim_problem *problem, int32_t *op);

/* The same for one op, its workspace left out. */
int64_t plim_bound_beside(const plim_problem *problem, int32_t op);

#endif

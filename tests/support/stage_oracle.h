/* The least time of any stage schedule of a small reduction, by exhaustive search. */
#ifndef PLIM_TESTS_SUPPORT_STAGE_ORACLE_H
#define PLIM_TESTS_SUPPORT_STAGE_ORACLE_H

#include "planner/exact/dag.h"

/* Least time of class stages within `budget` bytes, -1: there is none. Dynamic programming over (stage, node whose turn
 * it is, nodes resident): run the node or, before its own stage, pass; drop anything at any time. At most 12 nodes. */
int64_t stage_oracle(const plim_dag *dag, int64_t budget);

#endif

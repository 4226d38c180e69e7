/* The nodes of branch and cut. */
#ifndef PLIM_PLANNER_CUT_NODE_H
#define PLIM_PLANNER_CUT_NODE_H

#include "planner/cut/solver.h"

/* Follow a node of the tree, 0 is the root, down until it is done; its brothers stay open. */
PLIM_MUST_USE plim_status plim_cut_node_dive(plim_cut_solver *solver, int32_t node);

#endif

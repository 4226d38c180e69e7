/* The rows of the program: which come, which go. */
#ifndef PLIM_PLANNER_CUT_SEPARATE_H
#define PLIM_PLANNER_CUT_SEPARATE_H

#include "planner/cut/solver.h"

/* Make the program anew with the rows that bind. */
void plim_cut_sift(plim_cut_solver *solver);

/* Add rows of the cuts that x [n_columns] violates most, each by more than `tolerance` of what it has too much. `all`
 * 0: where a missed one does no harm. *added: how many. */
PLIM_MUST_USE plim_status plim_cut_separate(plim_cut_solver *solver, const double *x, double tolerance, int all,
                                            int32_t *added);

#endif

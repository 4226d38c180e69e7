/* The rows of the program: which come, which go. */
#ifndef PLIM_PLANNER_CUT_SEPARATE_H
#define PLIM_PLANNER_CUT_SEPARATE_H

#include "planner/cut/solver.h"

/* Make the program anew with the rows that bind. */
void plim_cut_sift(plim_cut_solver *solver);

/* Fit the rows of the last budget to this one; those that bound nothing, or that this one does not ask, go. The program
 * stays empty until plim_cut_rows_begin. */
void plim_cut_rows_keep(plim_cut_solver *solver);

/* Put the rows kept into the empty program. */
void plim_cut_rows_begin(plim_cut_solver *solver);

/* Note what the program's rows are worth at its point. */
void plim_cut_rows_price(plim_cut_solver *solver);

/* Add rows of the cuts that x [n_columns] violates most, each by more than `tolerance` of what it has too much. `all`
 * 0: where a missed one does no harm. *added: how many; 0: every cut that was to be asked fits; -1: not all were asked,
 * or there was no room for a row. */
PLIM_MUST_USE plim_status plim_cut_separate(plim_cut_solver *solver, const double *x, double tolerance, int all,
                                            int32_t *added);

#endif

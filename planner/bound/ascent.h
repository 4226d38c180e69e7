/* A lower bound for programs that are too large to be solved: multipliers of rows raised without a dictionary. */
#ifndef PLIM_PLANNER_BOUND_ASCENT_H
#define PLIM_PLANNER_BOUND_ASCENT_H

#include "planner/bound/flow.h"

typedef struct plim_cut_ascent plim_cut_ascent;

/* For the first `n_cuts` cuts of the model at a budget.
 *   cost   [n_columns]  in  of the columns, >= 0, borrowed
 *   start               in  rows fitted to the budget, with prices; copied. None: from nothing */
PLIM_MUST_USE plim_status plim_cut_ascent_new(const plim_cut_model *model, plim_cut_flow *flow, const double *cost,
                                              int32_t n_cuts, int64_t budget_bytes, const plim_cut_rows *start,
                                              plim_cut_ascent **out);
void plim_cut_ascent_free(plim_cut_ascent *ascent); /* NULL is legal */

/* Continue until `stop` returns 1 or the bound hardly rises. *impossible: at some cut the bytes do not fit, whatever is
 * recomputed. Deterministic where `stop` is. */
PLIM_MUST_USE plim_status plim_cut_ascend(plim_cut_ascent *ascent, int (*stop)(void *user), void *user,
                                          int32_t *impossible);

/* The rows, and the multipliers [rows.n] of the best bound: any multipliers prove something, in integers
 * (plim_cut_certify). */
const plim_cut_rows *plim_cut_ascent_rows(const plim_cut_ascent *ascent);
const double *plim_cut_ascent_multipliers(const plim_cut_ascent *ascent);
/* A point near the optimum of the relaxation, x [n_columns] in [0, 1]; it may violate rows a little. */
const double *plim_cut_ascent_point(const plim_cut_ascent *ascent);
/* What the multipliers prove, but for rounding. */
double plim_cut_ascent_bound(const plim_cut_ascent *ascent);
/* Steps of work beside those of the flow. */
int64_t plim_cut_ascent_work(const plim_cut_ascent *ascent);

#endif

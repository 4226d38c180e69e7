/* Linear programs of covering rows over columns between 0 and 1, solved again and again while rows come and bounds
 * change: the bounded dual simplex method on a dense dictionary.
 *
 * Costs are not negative, so that "every slack basic, every column at its cheaper bound" is a start; adding a row and
 * changing a bound keep what the method needs. Doubles: its answers are suggestions, proofs are made from the
 * multipliers in integers (plim_cut_certify). */
#ifndef PLIM_PLANNER_BOUND_LP_H
#define PLIM_PLANNER_BOUND_LP_H

#include "planner/bound/rows.h"

typedef struct plim_lp plim_lp;

typedef enum plim_lp_end { PLIM_LP_OPTIMAL, PLIM_LP_INFEASIBLE, PLIM_LP_TIRED /* too many pivots */ } plim_lp_end;

/* No rows; column j costs cost[j] >= 0 and lies in [0, 1]. At most `room` rows. */
PLIM_MUST_USE plim_status plim_lp_new(plim_context *ctx, int32_t n_columns, const double *cost, int32_t room,
                                      plim_lp **out);
void plim_lp_free(plim_lp *lp); /* NULL is legal */

int plim_lp_full(const plim_lp *lp);
/* Add a row after the others; there must be room. */
void plim_lp_add(plim_lp *lp, const plim_cut_row *row);
/* Forget all rows. */
void plim_lp_clear(plim_lp *lp);

void plim_lp_bound(plim_lp *lp, int32_t column, double low, double high);

/* Solve from where the last call ended; `ceiling`: stop when the objective is above it (PLIM_LP_OPTIMAL then, the
 * multipliers prove it); `most_work`: PLIM_LP_TIRED after so much (plim_lp_work). */
plim_lp_end plim_lp_solve(plim_lp *lp, double ceiling, int64_t most_work);

double plim_lp_objective(const plim_lp *lp);
/* The point, x [n_columns]. */
void plim_lp_point(const plim_lp *lp, double *x);
/* multiplier [rows], >= 0, 0 for rows that do not bind: they prove the objective; after PLIM_LP_INFEASIBLE, that it is
 * above `ceiling`. */
void plim_lp_multipliers(const plim_lp *lp, double ceiling, double *multiplier);

/* What each column [n_columns] costs beyond what it is worth to the rows: reduced costs, 0 for basic ones. */
void plim_lp_prices(const plim_lp *lp, double *price);

/* Pivots times dictionary size since the program was made. */
int64_t plim_lp_work(const plim_lp *lp);

#endif

/* Rows of the cut model, certificates that add them up in integers, and the linear program over them. */
#ifndef PLIM_PLANNER_BOUND_LP_H
#define PLIM_PLANNER_BOUND_LP_H

#include "runtime/base/context.h"

/* ==== rows (rows.c) ==== */

/* Rows of the cut model: what a set of columns must reach. A growing collection of them, fitted to a budget. */

/* sum of weight[k] over the columns of a solution >= demand. Weights and demand are positive, no weight is above the
 * demand.
 *
 * `bytes` and `needed_bytes` do not depend on the budget: so many bytes a column saves, and so many are alive at the
 * cut without any. So a row that was found for one budget holds for all. plim_cut_row_fit sets weights and demand. */
typedef struct plim_cut_row {
  int32_t n;
  int32_t *column;      /* [n] ascending */
  int64_t *weight;      /* [n] for the budget */
  int64_t demand;       /* for the budget */
  int64_t *bytes;       /* [n] that the column saves */
  int64_t needed_bytes; /* alive at the cut without any column */
  double price;         /* cost that a byte was worth when the row was used last; 0: the row did not bind */
} plim_cut_row;

typedef struct plim_cut_rows {
  plim_context *ctx;
  int32_t n;
  plim_cut_row *row; /* [n] each with arrays of its own */
  int64_t capacity;
} plim_cut_rows;

/* Give the row weights and demand for a budget. demand <= 0: the budget asks nothing of it, weights are left. O(n). */
void plim_cut_row_fit(plim_cut_row *row, int64_t budget_bytes);

/* Bytes in one unit of the demand of a row fitted to the budget. */
static inline double plim_cut_row_unit(const plim_cut_row *row, int64_t budget_bytes) {
  return (double)(row->needed_bytes - budget_bytes) / (double)row->demand;
}

/* An empty collection is {.ctx = ctx}. Add a copy. */
PLIM_MUST_USE plim_status plim_cut_rows_add(plim_cut_rows *rows, const plim_cut_row *row);
/* Keep rows [0, n) whose mark is set, in order; `keep` [n]. */
void plim_cut_rows_sift(plim_cut_rows *rows, const uint8_t *keep);
void plim_cut_rows_free(plim_cut_rows *rows); /* leaves it empty */

/* ==== certificates (certificate.c) ==== */

/* Proofs in integers: what multipliers of rows prove of every solution. */

/* The bounds of the columns, and their costs. */
typedef struct plim_cut_bounds {
  int32_t n_columns;
  const int64_t *cost;       /* [n_columns] >= 0 */
  const uint8_t *low, *high; /* [n_columns] 0 or 1 */
} plim_cut_bounds;

/* Whatever columns between low and high satisfy the rows cost at least the returned number: the Lagrangian value, for
 * multipliers rounded to fixed point, rounded up to the next integer, since costs are integers. All in 64-bit integers
 * that cannot overflow; multipliers too large for that prove 0.
 *   multiplier  [n_rows]     in   cost for one unit of demand; any numbers are right, those of the LP are good
 *   scaled_cost [n_columns]  out  where the returned number is above 0: scaled reduced costs. A column is at its lower
 *                                 bound for this value where its own is above 0, at its upper one where it is below
 *   reduced     [n_columns]  out  (may be NULL) what is proven besides: a column at the bound that it is not at for
 *                                 this value costs reduced[j] more, rounded down */
int64_t plim_cut_certify(const plim_cut_bounds *bounds, int32_t n_rows, const plim_cut_row *row,
                         const double *multiplier, int64_t *scaled_cost, int64_t *reduced);

/* ==== linear program (lp.c) ==== */

/* Linear programs of covering rows over columns between 0 and 1, solved again and again while rows come and bounds
 * change: the bounded dual simplex method on a dense dictionary.
 *
 * Costs are not negative, so that "every slack basic, every column at its cheaper bound" is a start; adding a row and
 * changing a bound keep what the method needs. Doubles: its answers are suggestions, proofs are made from the
 * multipliers in integers (plim_cut_certify). */

typedef struct plim_lp plim_lp;

typedef enum plim_lp_end { PLIM_LP_OPTIMAL, PLIM_LP_INFEASIBLE, PLIM_LP_TIRED /* too many pivots */ } plim_lp_end;

/* No rows; column j costs cost[j] >= 0 and lies in [0, 1]. At most `capacity` rows. */
PLIM_MUST_USE plim_status plim_lp_new(plim_context *ctx, int32_t n_columns, const double *cost, int32_t capacity,
                                      plim_lp **out);
void plim_lp_free(plim_lp *lp); /* NULL is legal */

int plim_lp_full(const plim_lp *lp);
/* Add a row after the others; there must be room. */
void plim_lp_add(plim_lp *lp, const plim_cut_row *row);
/* Forget all rows. */
void plim_lp_clear(plim_lp *lp);

void plim_lp_bound(plim_lp *lp, int32_t column, double low, double high);

/* Solve from where the last call ended; `ceiling`: stop when the objective is above it (PLIM_LP_OPTIMAL then, the
 * multipliers prove it); `work_limit`: PLIM_LP_TIRED after so much (plim_lp_work). */
plim_lp_end plim_lp_solve(plim_lp *lp, double ceiling, int64_t work_limit);

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

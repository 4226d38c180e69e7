/* Rows of the cut model: what a set of columns must reach. A growing collection of them, fitted to a budget. */
#ifndef PLIM_PLANNER_BOUND_ROWS_H
#define PLIM_PLANNER_BOUND_ROWS_H

#include "runtime/base/context.h"

/* sum of weight[k] over the chosen columns >= demand. Weights and demand are positive, no weight above the demand.
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
  int64_t room;
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

#endif

/* Rows for a budget, and a growing collection of them. */
#ifndef PLIM_PLANNER_CUT_ROWS_H
#define PLIM_PLANNER_CUT_ROWS_H

#include "planner/cut/row.h"

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

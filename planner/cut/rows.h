/* A growing collection of rows. */
#ifndef PLIM_PLANNER_CUT_ROWS_H
#define PLIM_PLANNER_CUT_ROWS_H

#include "planner/cut/row.h"

typedef struct plim_cut_rows {
  plim_context *ctx;
  int32_t n;
  plim_cut_row *row; /* [n] each with arrays of its own */
  int64_t room;
} plim_cut_rows;

/* An empty collection is {.ctx = ctx}. Add a copy. */
PLIM_MUST_USE plim_status plim_cut_rows_add(plim_cut_rows *rows, const plim_cut_row *row);
/* Keep rows [0, n) whose mark is set, in order; `keep` [n]. */
void plim_cut_rows_sift(plim_cut_rows *rows, const uint8_t *keep);
void plim_cut_rows_free(plim_cut_rows *rows); /* leaves it empty */

#endif

/* A linear model with some columns integer: minimise cost x subject to low <= x <= high and row bounds. */
#ifndef PLIM_PLANNER_EXACT_MODEL_H
#define PLIM_PLANNER_EXACT_MODEL_H

#include "runtime/base/context.h"

typedef struct plim_model {
  plim_context *ctx;
  int32_t n_columns, n_rows, n_entries;
  double *cost, *low, *high;  /* [n_columns]; +-INFINITY: no bound */
  int32_t *integer;           /* [n_columns] 1: integer */
  double *row_low, *row_high; /* [n_rows] */
  int32_t *row_first;         /* [n_rows + 1] entries of row r are [row_first[r], row_first[r + 1]) */
  int32_t *column;            /* [n_entries] */
  double *value;              /* [n_entries] */
  int64_t room_columns[4], room_rows[3], room_entries[2]; /* of each array */
  plim_status status;                                     /* first failure; later additions do nothing */
} plim_model;

/* An empty model is plim_model m = {.ctx = ctx}; free it whatever happened. */
void plim_model_free(plim_model *model);

/* Add a column; its index. */
int32_t plim_model_column(plim_model *model, double cost, double low, double high, int integer);

/* A row: begin, then its terms (a column at most once; index -1 is left out), then its bounds. */
void plim_model_term(plim_model *model, int32_t column, double value);
void plim_model_row(plim_model *model, double low,
                    double high); /* ends the row that the terms since the last end form */

#endif

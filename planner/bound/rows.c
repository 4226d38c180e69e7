/* Rows of the cut model, fitted to a budget: no weight is above the demand, and a common divisor is taken out. Example:
 * a cut needs 100 bytes; recomputing saves 40, 64 or 20 of them. Within 60 bytes the demand is 40, the weights are 40,
 * 40, 20, and divided by 20 the row is 2 x1 + 2 x2 + x3 >= 2. */
#include "planner/bound/lp.h"

#include <string.h>

#include "runtime/base/array.h"
#include "runtime/base/integers.h"

static void release_row(plim_cut_rows *rows, plim_cut_row *row) {
  plim_release(rows->ctx, row->column, row->n, sizeof *row->column);
  plim_release(rows->ctx, row->weight, row->n, sizeof *row->weight);
  plim_release(rows->ctx, row->bytes, row->n, sizeof *row->bytes);
}

void plim_cut_row_fit(plim_cut_row *row, int64_t budget_bytes) {
  row->demand = row->needed_bytes - budget_bytes;
  if (row->demand <= 0) return;
  int64_t unit = row->demand;
  for (int32_t k = 0; k < row->n; k++) {
    row->weight[k] = row->bytes[k] < row->demand ? row->bytes[k] : row->demand;
    unit = plim_integers_gcd(unit, row->weight[k]);
  }
  if (unit <= 1) return;
  row->demand /= unit;
  for (int32_t k = 0; k < row->n; k++) row->weight[k] /= unit;
}

plim_status plim_cut_rows_add(plim_cut_rows *rows, const plim_cut_row *row) {
  plim_cut_row copy = *row;
  copy.column = NULL;
  copy.weight = copy.bytes = NULL;
  PLIM_TRY(plim_array_reserve(rows->ctx, &rows->row, &rows->capacity, rows->n + 1, sizeof *rows->row));
  plim_status status = plim_allocate(rows->ctx, row->n, sizeof *copy.column, &copy.column);
  if (status == PLIM_OK) status = plim_allocate(rows->ctx, row->n, sizeof *copy.weight, &copy.weight);
  if (status == PLIM_OK) status = plim_allocate(rows->ctx, row->n, sizeof *copy.bytes, &copy.bytes);
  if (status != PLIM_OK) {
    release_row(rows, &copy);
    return status;
  }
  memcpy(copy.column, row->column, (size_t)row->n * sizeof *copy.column);
  memcpy(copy.weight, row->weight, (size_t)row->n * sizeof *copy.weight);
  memcpy(copy.bytes, row->bytes, (size_t)row->n * sizeof *copy.bytes);
  rows->row[rows->n++] = copy;
  return PLIM_OK;
}

void plim_cut_rows_sift(plim_cut_rows *rows, const uint8_t *keep) {
  int32_t n = 0;
  for (int32_t r = 0; r < rows->n; r++) {
    if (keep[r]) {
      rows->row[n++] = rows->row[r];
    } else {
      release_row(rows, &rows->row[r]);
    }
  }
  rows->n = n;
}

void plim_cut_rows_free(plim_cut_rows *rows) {
  for (int32_t r = 0; r < rows->n; r++) release_row(rows, &rows->row[r]);
  plim_release(rows->ctx, rows->row, rows->capacity, sizeof *rows->row);
  *rows = (plim_cut_rows){.ctx = rows->ctx};
}

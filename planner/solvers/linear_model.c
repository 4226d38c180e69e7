/* Makes linear models: arrays of columns, rows and terms, which grow. A failure is kept in the model, so that a caller
 * looks once, at the end. */
#include "planner/solvers/solver.h"

#include <math.h>

#include "runtime/base/array.h"

static const double max_entry = 0x1p48;

static void reserve(plim_model *model, void *array, int64_t *capacity, int64_t count, size_t size) {
  if (model->status == PLIM_OK) model->status = plim_array_reserve(model->ctx, array, capacity, count, size);
}

void plim_model_free(plim_model *model) {
  plim_release(model->ctx, model->cost, model->column_capacity[0], sizeof *model->cost);
  plim_release(model->ctx, model->low, model->column_capacity[1], sizeof *model->low);
  plim_release(model->ctx, model->high, model->column_capacity[2], sizeof *model->high);
  plim_release(model->ctx, model->integer, model->column_capacity[3], sizeof *model->integer);
  plim_release(model->ctx, model->row_low, model->row_capacity[0], sizeof *model->row_low);
  plim_release(model->ctx, model->row_high, model->row_capacity[1], sizeof *model->row_high);
  plim_release(model->ctx, model->row_first, model->row_capacity[2], sizeof *model->row_first);
  plim_release(model->ctx, model->column, model->entry_capacity[0], sizeof *model->column);
  plim_release(model->ctx, model->value, model->entry_capacity[1], sizeof *model->value);
  *model = (plim_model){.ctx = model->ctx};
}

int32_t plim_model_column(plim_model *model, double cost, double low, double high, int integer) {
  int64_t n = (int64_t)model->n_columns + 1;
  reserve(model, &model->cost, &model->column_capacity[0], n, sizeof *model->cost);
  reserve(model, &model->low, &model->column_capacity[1], n, sizeof *model->low);
  reserve(model, &model->high, &model->column_capacity[2], n, sizeof *model->high);
  reserve(model, &model->integer, &model->column_capacity[3], n, sizeof *model->integer);
  if (model->status != PLIM_OK) return 0;
  model->cost[model->n_columns] = cost;
  model->low[model->n_columns] = low;
  model->high[model->n_columns] = high;
  model->integer[model->n_columns] = integer;
  return model->n_columns++;
}

void plim_model_term(plim_model *model, int32_t column, double value) {
  if (column < 0) return;
  reserve(model, &model->column, &model->entry_capacity[0], (int64_t)model->n_entries + 1, sizeof *model->column);
  reserve(model, &model->value, &model->entry_capacity[1], (int64_t)model->n_entries + 1, sizeof *model->value);
  if (model->status != PLIM_OK) return;
  model->column[model->n_entries] = column;
  model->value[model->n_entries++] = value;
}

/* What the row being made is divided by: a power of two, which changes no digit. Solvers take entries from 1e15 on for
 * infinite, and there are so many bytes in an int64_t. */
static double divisor(const plim_model *model) {
  double largest = 0;
  int exponent = 0;
  for (int32_t e = model->row_first[model->n_rows]; e < model->n_entries; e++) {
    largest = fmax(largest, fabs(model->value[e]));
  }
  if (largest < max_entry) return 1;
  (void)frexp(largest, &exponent);
  return ldexp(1, exponent);
}

void plim_model_row(plim_model *model, double low, double high) {
  int64_t n = (int64_t)model->n_rows + 1;
  reserve(model, &model->row_low, &model->row_capacity[0], n, sizeof *model->row_low);
  reserve(model, &model->row_high, &model->row_capacity[1], n, sizeof *model->row_high);
  reserve(model, &model->row_first, &model->row_capacity[2], n + 1, sizeof *model->row_first);
  if (model->status != PLIM_OK) return;
  double by = divisor(model);
  for (int32_t e = model->row_first[model->n_rows]; by > 1 && e < model->n_entries; e++) model->value[e] /= by;
  model->row_low[model->n_rows] = low / by;
  model->row_high[model->n_rows] = high / by;
  model->row_first[++model->n_rows] = model->n_entries;
}

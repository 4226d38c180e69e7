/* A linear program in arrays. Arrays that grow. The terms added since the last row was ended are the row being made. */
#include "planner/solvers/solver.h"

#include <math.h>

#include "runtime/base/array.h"

static const double max_entry = 0x1p48;

static void reserve(plim_model *m, void *array, int64_t *room, int64_t count, size_t size) {
  if (m->status == PLIM_OK) m->status = plim_array_reserve(m->ctx, array, room, count, size);
}

void plim_model_free(plim_model *m) {
  plim_release(m->ctx, m->cost, m->room_columns[0], sizeof *m->cost);
  plim_release(m->ctx, m->low, m->room_columns[1], sizeof *m->low);
  plim_release(m->ctx, m->high, m->room_columns[2], sizeof *m->high);
  plim_release(m->ctx, m->integer, m->room_columns[3], sizeof *m->integer);
  plim_release(m->ctx, m->row_low, m->room_rows[0], sizeof *m->row_low);
  plim_release(m->ctx, m->row_high, m->room_rows[1], sizeof *m->row_high);
  plim_release(m->ctx, m->row_first, m->room_rows[2], sizeof *m->row_first);
  plim_release(m->ctx, m->column, m->room_entries[0], sizeof *m->column);
  plim_release(m->ctx, m->value, m->room_entries[1], sizeof *m->value);
  *m = (plim_model){.ctx = m->ctx};
}

int32_t plim_model_column(plim_model *m, double cost, double low, double high, int integer) {
  int64_t n = (int64_t)m->n_columns + 1;
  reserve(m, &m->cost, &m->room_columns[0], n, sizeof *m->cost);
  reserve(m, &m->low, &m->room_columns[1], n, sizeof *m->low);
  reserve(m, &m->high, &m->room_columns[2], n, sizeof *m->high);
  reserve(m, &m->integer, &m->room_columns[3], n, sizeof *m->integer);
  if (m->status != PLIM_OK) return 0;
  m->cost[m->n_columns] = cost;
  m->low[m->n_columns] = low;
  m->high[m->n_columns] = high;
  m->integer[m->n_columns] = integer;
  return m->n_columns++;
}

void plim_model_term(plim_model *m, int32_t column, double value) {
  if (column < 0) return;
  reserve(m, &m->column, &m->room_entries[0], (int64_t)m->n_entries + 1, sizeof *m->column);
  reserve(m, &m->value, &m->room_entries[1], (int64_t)m->n_entries + 1, sizeof *m->value);
  if (m->status != PLIM_OK) return;
  m->column[m->n_entries] = column;
  m->value[m->n_entries++] = value;
}

/* What the row being made is divided by: a power of two, which changes no digit. Solvers take entries from 1e15 on for
 * infinite, and there are so many bytes in an int64_t. */
static double divisor(const plim_model *m) {
  double largest = 0;
  int exponent = 0;
  for (int32_t e = m->row_first[m->n_rows]; e < m->n_entries; e++) largest = fmax(largest, fabs(m->value[e]));
  if (largest < max_entry) return 1;
  (void)frexp(largest, &exponent);
  return ldexp(1, exponent);
}

void plim_model_row(plim_model *m, double low, double high) {
  int64_t n = (int64_t)m->n_rows + 1;
  reserve(m, &m->row_low, &m->room_rows[0], n, sizeof *m->row_low);
  reserve(m, &m->row_high, &m->room_rows[1], n, sizeof *m->row_high);
  reserve(m, &m->row_first, &m->room_rows[2], n + 1, sizeof *m->row_first);
  if (m->status != PLIM_OK) return;
  double by = divisor(m);
  for (int32_t e = m->row_first[m->n_rows]; by > 1 && e < m->n_entries; e++) m->value[e] /= by;
  m->row_low[m->n_rows] = low / by;
  m->row_high[m->n_rows] = high / by;
  m->row_first[++m->n_rows] = m->n_entries;
}

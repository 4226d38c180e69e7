/* Where the arrays of a model lie in the memory that both processes share. Doubles first, so that all arrays are
 * aligned. */
#include "planner/solvers/solvers_internal.h"

typedef struct layout {
  char *base;
  int64_t at;
} layout;

static void *place(layout *l, int64_t count, size_t size) {
  void *array = l->base ? l->base + l->at : NULL;
  l->at += count * (int64_t)size;
  return array;
}

plim_share_view plim_share_look(void *base, int64_t n_columns, int64_t n_rows, int64_t n_entries) {
  layout l = {base, plim_align_up((int64_t)sizeof(plim_share), (int64_t)sizeof(double))};
  plim_share_view v;
  v.cost = place(&l, n_columns, sizeof(double));
  v.low = place(&l, n_columns, sizeof(double));
  v.high = place(&l, n_columns, sizeof(double));
  v.row_low = place(&l, n_rows, sizeof(double));
  v.row_high = place(&l, n_rows, sizeof(double));
  v.value = place(&l, n_entries, sizeof(double));
  v.start = place(&l, n_columns, sizeof(double));
  v.point = place(&l, n_columns * PLIM_SHARE_POINTS, sizeof(double));
  v.integer = place(&l, n_columns, sizeof(int32_t));
  v.row_first = place(&l, n_rows + 1, sizeof(int32_t));
  v.column = place(&l, n_entries, sizeof(int32_t));
  v.bytes = l.at;
  return v;
}

/* Buffers are rectangles; a cell is a point in the middle of its range. */
#include "tools/plimsoll/trace_map.h"

#include <string.h>

#include "runtime/base/size.h"
#include "tools/plimsoll/trace_strip.h"

enum { ROWS = 20, COLUMNS = 76 };

int32_t trace_map_step(const traced *t, int32_t columns, int32_t column) {
  return (int32_t)((int64_t)column * t->plan->n_steps / columns);
}

int32_t trace_map_column(const traced *t, int32_t columns, int32_t step) {
  int32_t column = (int32_t)((int64_t)step * columns / t->plan->n_steps);
  while (column + 1 < columns && trace_map_step(t, columns, column + 1) <= step) column++;
  return column;
}

int64_t trace_map_address(const traced *t, int32_t rows, int32_t row) {
  return (int64_t)((double)trace_strip_bytes(t) * (rows - row - 0.5) / rows);
}

int32_t trace_map_buffer(const traced *t, int32_t step, int64_t address) {
  for (int32_t i = 0; i < t->plan->n_buffers && t->plan->buffer[i].begin <= step; i++) {
    const plim_plan_buffer *l = &t->plan->buffer[i];
    if (l->end > step && l->offset <= address && address < l->offset + l->bytes) return i;
  }
  return -1;
}

static void draw_buffer(const traced *t, const plim_plan_buffer *buffer, int32_t rows, int32_t columns, char *cell) {
  char letter = trace_strip_letter(t, buffer->storage);
  for (int32_t row = 0; row < rows; row++) {
    int64_t address = trace_map_address(t, rows, row);
    if (address < buffer->offset || address >= buffer->offset + buffer->bytes) continue;
    for (int32_t c = trace_map_column(t, columns, buffer->begin); c < columns; c++) {
      int32_t step = trace_map_step(t, columns, c);
      if (step >= buffer->end) break;
      if (step >= buffer->begin) cell[row * columns + c] = letter;
    }
  }
}

void trace_map(const traced *t, int32_t rows, int32_t columns, char *cell) {
  memset(cell, '.', (size_t)rows * (size_t)columns);
  if (!t->plan->packed) return;
  for (int32_t i = 0; i < t->plan->n_buffers; i++) draw_buffer(t, &t->plan->buffer[i], rows, columns, cell);
}

plim_status trace_map_print(const traced *t, int32_t step, FILE *to) {
  char cell[ROWS * COLUMNS], size[PLIM_SIZE_TEXT_BYTES];
  int32_t at = trace_map_column(t, COLUMNS, step);
  trace_map(t, ROWS, COLUMNS, cell);
  fprintf(to, "address up to %s, upwards; steps 0 to %d, to the right; ^ is step %d\n",
          plim_size_print(trace_strip_bytes(t), size), (int)t->plan->n_steps - 1, (int)step);
  for (int32_t row = 0; row < ROWS; row++) fprintf(to, "  %.*s\n", COLUMNS, cell + (size_t)row * COLUMNS);
  fprintf(to, "  %*s^\n  %s\n", (int)at, "", trace_strip_legend);
  return PLIM_OK;
}

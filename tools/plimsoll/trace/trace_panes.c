/* Text that lines and screen share: the arena as a strip, the map of addresses over commands, panes that scroll. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/size.h"
#include "tools/plimsoll/trace/trace_step.h"

/* ==== the strip ==== */

/* Bytes to columns and back. */

const char trace_strip_legend[] = "p param s state i input a activation g gradient o output w workspace . free";

int64_t trace_strip_bytes(const traced *t) {
  int64_t budget = t->plan->budget_bytes;
  return t->decisions && budget < PLIM_BYTES_UNLIMITED ? budget : t->plan->arena_bytes;
}

char trace_strip_letter(const traced *t, int32_t storage) {
  static const char letter[PLIM_ROLE_COUNT] = {
      [PLIM_ROLE_INPUT] = 'i',      [PLIM_ROLE_PARAM] = 'p',    [PLIM_ROLE_STATE] = 's', [PLIM_ROLE_STAGING] = 's',
      [PLIM_ROLE_ACTIVATION] = 'a', [PLIM_ROLE_GRADIENT] = 'g', [PLIM_ROLE_OUTPUT] = 'o'};
  return storage < 0 ? 'w' : letter[t->graph->storage[storage].role];
}

static int32_t column_of(int64_t offset, int64_t whole, int32_t columns) {
  int64_t column = (int64_t)((double)offset / (double)whole * columns);
  return column < columns ? (int32_t)column : columns - 1;
}

/* The part of a buffer that lies in one column, operands first. */
static double weight(const plim_plan_buffer *buffer, int operand, int64_t whole, int32_t columns, int32_t column) {
  double unit = (double)whole / columns, low = column * unit, high = low + unit;
  double begin = (double)buffer->offset, end = (double)(buffer->offset + buffer->bytes);
  if (begin > low) low = begin;
  if (end < high) high = end;
  return high - low + (operand ? unit : 0);
}

plim_status trace_strip(const traced *t, int32_t command, int32_t columns, char *cell) {
  int64_t whole = trace_strip_bytes(t);
  double *most = NULL;
  memset(cell, '.', (size_t)columns);
  if (!t->plan->packed || whole <= 0) return PLIM_OK;
  PLIM_TRY(plim_allocate(t->ctx, columns, sizeof *most, &most));
  for (int32_t i = 0; i < t->plan->n_buffers && t->plan->buffer[i].begin <= command; i++) {
    const plim_plan_buffer *buffer = &t->plan->buffer[i];
    if (buffer->end <= command) continue;
    int operand = buffer->storage < 0 || plim_op_touches(&t->graph->op[t->plan->command[command].op], buffer->storage);
    char letter = trace_strip_letter(t, buffer->storage);
    int32_t last = column_of(buffer->offset + buffer->bytes - 1, whole, columns);
    for (int32_t c = column_of(buffer->offset, whole, columns); c <= last; c++) {
      double w = weight(buffer, operand, whole, columns, c);
      if (w <= most[c]) continue;
      most[c] = w;
      cell[c] = operand ? (char)toupper(letter) : letter;
    }
  }
  plim_release(t->ctx, most, columns, sizeof *most);
  return PLIM_OK;
}

static void draw_range(int64_t begin, int64_t end, int64_t whole, int32_t columns, const char mark[3], char *cell) {
  int32_t first = column_of(begin, whole, columns), last = column_of(end - 1, whole, columns);
  for (int32_t c = first; c <= last; c++) cell[c] = mark[1];
  cell[first] = mark[0];
  if (last > first) cell[last] = mark[2];
}

void trace_strip_windows(const traced *t, const plim_decision_reasons *why, int32_t columns, char *cell) {
  static const char marks[2][3] = {{'[', '=', ']'}, {'(', '-', ')'}};
  int64_t whole = trace_strip_bytes(t);
  int32_t single[2] = {why->taken, why->runner_up};
  memset(cell, ' ', (size_t)columns);
  for (int32_t i = 1; i >= 0; i--) { /* what was taken over the runner-up */
    int32_t begin = single[i], end = single[i] + 1;
    if (i < why->n_windows) {
      begin = why->window[i].begin;
      end = why->window[i].end;
    }
    if (begin < 0) continue;
    const plim_decision_block *last = &why->block[end - 1];
    draw_range(why->block[begin].offset, last->offset + last->bytes, whole, columns, marks[i], cell);
  }
}

/* ==== the map ==== */

/* Buffers are rectangles; a cell is a point in the middle of its range. */

enum { ROWS = 20, COLUMNS = 76 };

/* Of a column. */
static int32_t first_command(const traced *t, int32_t columns, int32_t column) {
  return (int32_t)((int64_t)column * t->plan->n_commands / columns);
}

int32_t trace_map_column(const traced *t, int32_t columns, int32_t command) {
  int32_t column = (int32_t)((int64_t)command * columns / t->plan->n_commands);
  while (column + 1 < columns && first_command(t, columns, column + 1) <= command) column++;
  return column;
}

int64_t trace_map_address(const traced *t, int32_t rows, int32_t row) {
  return (int64_t)((double)trace_strip_bytes(t) * (rows - row - 0.5) / rows);
}

int32_t trace_map_buffer(const traced *t, int32_t command, int64_t address) {
  for (int32_t i = 0; i < t->plan->n_buffers && t->plan->buffer[i].begin <= command; i++) {
    const plim_plan_buffer *buffer = &t->plan->buffer[i];
    if (buffer->end > command && buffer->offset <= address && address < buffer->offset + buffer->bytes) return i;
  }
  return -1;
}

static void draw_buffer(const traced *t, const plim_plan_buffer *buffer, int32_t rows, int32_t columns, char *cell) {
  char letter = trace_strip_letter(t, buffer->storage);
  for (int32_t row = 0; row < rows; row++) {
    int64_t address = trace_map_address(t, rows, row);
    if (address < buffer->offset || address >= buffer->offset + buffer->bytes) continue;
    for (int32_t c = trace_map_column(t, columns, buffer->begin); c < columns; c++) {
      int32_t command = first_command(t, columns, c);
      if (command >= buffer->end) break;
      if (command >= buffer->begin) cell[row * columns + c] = letter;
    }
  }
}

void trace_map(const traced *t, int32_t rows, int32_t columns, char *cell) {
  memset(cell, '.', (size_t)rows * (size_t)columns);
  if (!t->plan->packed) return;
  for (int32_t i = 0; i < t->plan->n_buffers; i++) draw_buffer(t, &t->plan->buffer[i], rows, columns, cell);
}

plim_status trace_map_print(const traced *t, int32_t command, FILE *to) {
  char cell[ROWS * COLUMNS], size[PLIM_SIZE_TEXT_BYTES];
  int32_t at = trace_map_column(t, COLUMNS, command);
  trace_map(t, ROWS, COLUMNS, cell);
  fprintf(to, "address up to %s, upwards; commands 0 to %d, to the right; ^ is command %d\n",
          plim_size_print(trace_strip_bytes(t), size), (int)t->plan->n_commands - 1, (int)command);
  for (int32_t row = 0; row < ROWS; row++) fprintf(to, "  %.*s\n", COLUMNS, cell + (size_t)row * COLUMNS);
  fprintf(to, "  %*s^\n  %s\n", (int)at, "", trace_strip_legend);
  return PLIM_OK;
}

/* ==== panes ==== */

/* The text is kept by the C library's memory stream; rows are found anew each time they are drawn. */

enum { CONTINUED = 6 /* indent of a row that continues */, LEAST_WIDTH = 2 * CONTINUED };

plim_status trace_pane_open(plim_context *ctx, trace_pane *pane) {
  *pane = (trace_pane){.to = NULL};
  pane->to = open_memstream(&pane->chars, &pane->size);
  return pane->to ? PLIM_OK : plim_fail(ctx, PLIM_ENOMEM, "out of memory");
}

void trace_pane_close(trace_pane *pane) {
  if (pane->to) (void)fclose(pane->to);
  free(pane->chars);
  *pane = (trace_pane){.to = NULL};
}

/* Characters of `line` [length] that go into one row: up to the last blank that fits, or as many as fit when the word
 * after it has no room in a row of its own. */
static int32_t fitting(const char *line, int32_t length, int32_t width) {
  int32_t begin = (int32_t)strspn(line, " "), last = width;
  if (length <= width) return length;
  while (last > begin && line[last] != ' ') last--;
  int32_t word = (int32_t)strcspn(line + last + 1, " \n");
  return last > begin && word <= width - CONTINUED ? last : width;
}

const char *trace_pane_row(trace_pane *pane, int32_t width, size_t *at, int32_t *indent, int32_t *length) {
  if (fflush(pane->to) != 0 || *at >= pane->size) return NULL;
  const char *row = pane->chars + *at;
  int goes_on = *at > 0 && row[-1] != '\n';
  *indent = goes_on ? CONTINUED : 0;
  if (width < LEAST_WIDTH) width = LEAST_WIDTH;
  if (goes_on && *row == ' ') {
    row++;
    (*at)++;
  }
  *length = fitting(row, (int32_t)strcspn(row, "\n"), width - *indent);
  *at += (size_t)*length;
  if (pane->chars[*at] == '\n') (*at)++;
  return row;
}

int32_t trace_pane_rows(trace_pane *pane, int32_t width) {
  size_t at = 0;
  int32_t n = 0, indent, length;
  while (trace_pane_row(pane, width, &at, &indent, &length)) n++;
  return n;
}

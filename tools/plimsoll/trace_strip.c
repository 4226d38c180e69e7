/* Bytes to columns and back. */
#include "tools/plimsoll/trace_strip.h"

#include <ctype.h>
#include <string.h>

const char trace_strip_legend[] = "p param s state i input a activation g gradient o output w workspace . free";

int64_t trace_strip_bytes(const traced *t) {
  int64_t budget = t->plan->budget_bytes;
  return t->decisions && budget < INT64_MAX ? budget : t->plan->arena_bytes;
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

plim_status trace_strip(const traced *t, int32_t step, int32_t columns, char *cell) {
  int64_t whole = trace_strip_bytes(t);
  double *most = NULL;
  memset(cell, '.', (size_t)columns);
  if (!t->plan->packed || whole <= 0) return PLIM_OK;
  PLIM_TRY(plim_allocate(t->ctx, columns, sizeof *most, &most));
  for (int32_t i = 0; i < t->plan->n_buffers && t->plan->buffer[i].begin <= step; i++) {
    const plim_plan_buffer *buffer = &t->plan->buffer[i];
    if (buffer->end <= step) continue;
    int operand = buffer->storage < 0 || plim_op_touches(&t->graph->op[t->plan->step[step].op], buffer->storage);
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

/* Text that lines and screen share. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_TRACE_PANES_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_TRACE_PANES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/base/context.h"
#include "tools/plimsoll/trace/trace_session.h"

/* ==== the strip ==== */

/* The arena at a command as a row of letters, and the windows of a decision as a row of brackets below it. */

/* '.' free; p param, s state or staged batch, i input, a activation, g gradient, o output, w workspace; a capital where
 * the command reads or writes it. Of the storages in a cell the largest there is shown, operands before others.
 *   cell  [columns]  out */
plim_status trace_strip(const traced *t, int32_t command, int32_t columns, char *cell);

/* '[' '=' ']' what was taken, '(' '-' ')' the runner-up, a blank elsewhere. */
void trace_strip_windows(const traced *t, const plim_decision_reasons *why, int32_t columns, char *cell);

/* Bytes that the row stands for. */
int64_t trace_strip_bytes(const traced *t);

/* Letter of a storage of the graph, -1: workspace. */
char trace_strip_letter(const traced *t, int32_t storage);

/* What the letters mean, in one line. */
extern const char trace_strip_legend[];

/* ==== the map ==== */

/* Addresses over time: a grid whose columns are commands and whose rows are ranges of the arena, the highest first. */

/* Letters as of trace_strip: what lies at the middle of each row's range at the first command of each column.
 *   cell  [rows * columns]  out  row by row */
void trace_map(const traced *t, int32_t rows, int32_t columns, char *cell);

/* The first command of a column; the column that shows a command. */
int32_t trace_map_command(const traced *t, int32_t columns, int32_t column);
int32_t trace_map_column(const traced *t, int32_t columns, int32_t command);

/* The address in the middle of a row; the buffer that holds it at a command, -1: it is free. */
int64_t trace_map_address(const traced *t, int32_t rows, int32_t row);
int32_t trace_map_buffer(const traced *t, int32_t command, int64_t address);

/* The map as text, the command's column marked. */
plim_status trace_map_print(const traced *t, int32_t command, FILE *to);

/* ==== panes ==== */

/* A text laid out in a pane: what a view printed, in rows of a width. */

typedef struct trace_pane {
  FILE *to; /* views print here */
  char *chars;
  size_t size;
} trace_pane;

/* An empty text to print into. */
plim_status trace_pane_open(plim_context *ctx, trace_pane *pane);
void trace_pane_close(trace_pane *pane);

/* The next row of at most `width` columns from *at on, which moves on; long lines continue in rows that are indented.
 * NULL at the end.
 *   indent, length  [1]  out  blanks in front, characters of the row */
const char *trace_pane_row(trace_pane *pane, int32_t width, size_t *at, int32_t *indent, int32_t *length);

/* How many rows there are. */
int32_t trace_pane_rows(trace_pane *pane, int32_t width);

#endif

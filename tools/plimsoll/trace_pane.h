/* A text laid out in a pane: what a view printed, in rows of a width. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_PANE_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_PANE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/base/context.h"

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

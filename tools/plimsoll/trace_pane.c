/* The text is kept by the C library's memory stream; rows are found anew each time they are drawn. */
#include "tools/plimsoll/trace_pane.h"

#include <stdlib.h>
#include <string.h>

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

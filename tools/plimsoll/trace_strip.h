/* The arena at a step as a row of letters, and the windows of a decision as a row of brackets below it. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_STRIP_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_STRIP_H

#include "tools/plimsoll/trace_session.h"

/* '.' free; p param, s state or staged batch, i input, a activation, g gradient, o output, w workspace; a capital where
 * the step reads or writes it. Of the storages in a cell the largest there is shown, operands before others.
 *   cell  [columns]  out */
plim_status trace_strip(const traced *t, int32_t step, int32_t columns, char *cell);

/* '[' '=' ']' what was taken, '(' '-' ')' the runner-up, a blank elsewhere. */
void trace_strip_windows(const traced *t, const plim_decision_reasons *why, int32_t columns, char *cell);

/* Bytes that the row stands for. */
int64_t trace_strip_bytes(const traced *t);

/* Letter of a storage of the graph, -1: workspace. */
char trace_strip_letter(const traced *t, int32_t storage);

/* What the letters mean, in one line. */
extern const char trace_strip_legend[];

#endif

/* Addresses over time: a grid whose columns are steps and whose rows are ranges of the arena, the highest first. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_MAP_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_MAP_H

#include <stdio.h>

#include "tools/plimsoll/trace_session.h"

/* Letters as of trace_strip: what lies at the middle of each row's range at the first step of each column.
 *   cell  [rows * columns]  out  row by row */
void trace_map(const traced *t, int32_t rows, int32_t columns, char *cell);

/* The first step of a column; the column that shows a step. */
int32_t trace_map_step(const traced *t, int32_t columns, int32_t column);
int32_t trace_map_column(const traced *t, int32_t columns, int32_t step);

/* The address in the middle of a row; the buffer that holds it at a step, -1: it is free. */
int64_t trace_map_address(const traced *t, int32_t rows, int32_t row);
int32_t trace_map_buffer(const traced *t, int32_t step, int64_t address);

/* The map as text, the step's column marked. */
plim_status trace_map_print(const traced *t, int32_t step, FILE *to);

#endif

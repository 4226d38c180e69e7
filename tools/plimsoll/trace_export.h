/* A trace for others: the JSON of Chrome's trace viewer and Perfetto; and two traces beside each other. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_EXPORT_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_EXPORT_H

#include <stdio.h>

#include "tools/plimsoll/traced.h"

/* Write every row of the trace as an event of a compute track, repeats in a category of their own, and live bytes as a
 * counter. The file is replaced whole. */
plim_status trace_export(const traced *t, const char *path);

/* Where two runs of one graph part ways, and what each runs again. PLIM_EDATA when the graphs differ. *same is 1 when
 * the plans are step for step equal. */
plim_status trace_diff(const traced *a, const traced *b, FILE *to, int *same);

#endif

/* A trace for others: the JSON of Chrome's trace viewer and Perfetto. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_EXPORT_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_EXPORT_H

#include "tools/plimsoll/trace_session.h"

/* Write every row of the trace (of a plan alone its steps, as they were planned) as an event of a compute track,
 * repeats in a category of their own, and live bytes as a counter. The file is replaced whole. */
plim_status trace_export(const traced *t, const char *path);

#endif

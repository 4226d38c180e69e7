/* A run for others to look at. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_EXPORT_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_EXPORT_H

#include "tools/plimsoll/trace_session.h"

/* ==== events ==== */

/* A trace for others: the JSON of Chrome's trace viewer and Perfetto. */

/* Write every row of the trace (of a plan alone its steps, as they were planned) as an event of a compute track,
 * repeats in a category of their own, and live bytes as a counter. The file is replaced whole. */
plim_status trace_export(const traced *t, const char *path);

/* ==== the page ==== */

/* A run as one HTML file that needs nothing else: addresses over steps, with hover, click and keys. */

/* The page at `path`, replaced whole. Reasons of online decisions go along, of the first 500. */
plim_status trace_html(const traced *t, const char *path);

#endif

/* A run as one HTML file that needs nothing else: addresses over steps, with hover, click and keys. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_HTML_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_HTML_H

#include "tools/plimsoll/trace_session.h"

/* The page at `path`, replaced whole. Reasons of online decisions go along, of the first 500. */
plim_status trace_html(const traced *t, const char *path);

#endif

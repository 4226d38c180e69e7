/* What would have come of another policy or another budget from a step on. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_WHAT_IF_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_WHAT_IF_H

#include <stdio.h>

#include "tools/plimsoll/trace_session.h"

/* The steps before `step` stay as they were; from there on an online policy (NULL: best) decides within `memory`
 * ("96MiB", or "80%" of this run's arena; NULL: all of it). Prints both runs beside each other, with where they end
 * that find no way on. PLIM_EUSAGE when there is no such policy or size. */
plim_status trace_what_if(const traced *t, int32_t step, const char *policy, const char *memory, int as_json, FILE *to);

#endif

/* A run beside another. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_COMPARE_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_COMPARE_H

#include <stdio.h>

#include "tools/plimsoll/trace_session.h"

/* ==== two runs ==== */

/* Two runs of one graph beside each other. */

/* Where two runs of one graph part ways, and what each runs again. PLIM_EDATA when the graphs differ. *same is 1 when
 * they are equal command by command and address by address. */
plim_status trace_diff(const traced *a, const traced *b, int as_json, FILE *to, int *same);

/* ==== what if ==== */

/* What would have come of another policy or another budget from a command on. */

/* The commands before `command` stay as they were; from there on an online policy (NULL: best) decides within `memory`
 * ("96MiB", or "80%" of this run's arena; NULL: all of it). Prints both runs beside each other, with where they end
 * that find no way on. PLIM_EUSAGE when there is no such policy or size. */
plim_status trace_what_if(const traced *t, int32_t command, const char *policy, const char *memory, int as_json,
                          FILE *to);

#endif

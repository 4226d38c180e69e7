/* The views of a trace as text: a command, a value, the whole. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_VIEWS_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_VIEWS_H

#include <stdio.h>

#include "tools/plimsoll/trace_session.h"

/* One command: the op, times, live bytes, the arena as a strip, what begins and ends. */
plim_status trace_view_command(const traced *t, int32_t command, FILE *to);

/* What is resident at a command, by address, with the next use of each. */
plim_status trace_view_residents(const traced *t, int32_t command, FILE *to);

/* What a planned run drops after a command and recomputes later, with the reason for each; nothing: there is none. */
plim_status trace_view_drops(const traced *t, int32_t command, FILE *to);

/* What is absent at a command and comes back, with the reason for each. */
plim_status trace_view_absences(const traced *t, int32_t command, FILE *to);

/* Why: the room that was made before a command and what is recomputed for whom; of a planned run what is absent.
 */
plim_status trace_view_reasons(const traced *t, int32_t command, FILE *to);

/* The history of a value: its buffers, its uses, why it was absent between. PLIM_EUSAGE, with the nearest name, when
 * there is none of that name. */
plim_status trace_view_value(const traced *t, const char *name, FILE *to);

/* The run as a whole: bytes, times, the repeats that cost most. */
plim_status trace_view_summary(const traced *t, int as_json, FILE *to);

/* ---- why (trace_reasons.c) ---- */

/* Every decision before a command; of a run that found no room, also what would do. Nothing for a planned run. */
plim_status trace_reasons(const traced *t, int32_t command, FILE *to);

/* The runs that a command of the program waited for, or the tree that this command belongs to. */
void trace_tree(const traced *t, int32_t command, FILE *to);

#endif

/* The answers about a trace: a command, a tensor, the whole, as text (trace_views.c, trace_reasons.c) and as JSON
 * objects (trace_json.c); beside another run (trace_compare.c); as a file for others (trace_export.c). */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_TRACE_VIEWS_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_TRACE_VIEWS_H

#include <jansson.h>
#include <stdio.h>

#include "tools/plimsoll/trace/trace_session.h"

/* ---- as text ---- */

/* One command: the op, times, live bytes, the arena as a strip, what begins and ends. */
plim_status trace_view_command(const traced *t, int32_t command, FILE *to);

/* What is resident at a command, by address, with the next use of each. */
plim_status trace_view_residents(const traced *t, int32_t command, FILE *to);

/* What a planned run drops after a command and recomputes later, with the reason for each; nothing: there is none. */
plim_status trace_view_drops(const traced *t, int32_t command, FILE *to);

/* What is absent at a command and comes back, with the reason for each. */
plim_status trace_view_absences(const traced *t, int32_t command, FILE *to);

/* Why: the room that was made before a command and what is recomputed for whom; of a planned run what is absent. */
plim_status trace_view_reasons(const traced *t, int32_t command, FILE *to);

/* The history of a tensor: its buffers, its uses, why it was absent between. PLIM_EUSAGE, with the nearest name, when
 * there is none of that name. */
plim_status trace_view_tensor(const traced *t, const char *name, FILE *to);

/* The run as a whole: bytes, times, the repeats that cost most. */
plim_status trace_view_summary(const traced *t, int as_json, FILE *to);

/* ---- why ---- */

/* Every decision before a command; of a run that found no room, also what would do. Nothing for a planned run. */
plim_status trace_reasons(const traced *t, int32_t command, FILE *to);

/* The runs that a command of the program waited for, or the tree that this command belongs to. */
void trace_tree(const traced *t, int32_t command, FILE *to);

/* ---- as objects: every figure of the text (docs/formats.md) ---- */

/* One command: times, bytes, what begins, ends and is evicted, residents, absences, decisions, and the tree. */
plim_status trace_json_command(const traced *t, int32_t command, FILE *to);

/* The history of a tensor. PLIM_EUSAGE, with the nearest name, when there is none of that name. */
plim_status trace_json_tensor(const traced *t, const char *name, FILE *to);

/* The decisions before a command, a list, and what was recomputed for whom; null: nothing. */
plim_status trace_json_decisions(const traced *t, int32_t command, json_t **out);
json_t *trace_json_tree(const traced *t, int32_t command);

/* A name, null where the text has words for "none". */
json_t *trace_json_storage(const traced *t, int32_t storage); /* -1: null, the workspace */
json_t *trace_json_op(const traced *t, int32_t op);           /* -1: null */

/* Print and free. */
void trace_json_print(json_t *object, FILE *to);

/* ---- beside another run ---- */

/* Where two runs of one graph part ways, and what each runs again. PLIM_EDATA when the graphs differ. *same is 1 when
 * they are equal command by command and address by address. */
plim_status trace_diff(const traced *a, const traced *b, int as_json, FILE *to, int *same);

/* What would have come of another policy or another budget. The commands before `command` stay as they were. From
 * there on an online policy (NULL: best) decides within `memory`: "96MiB", or "80%" of this run's arena; NULL: all of
 * it. Prints both runs beside each other, with where they end that find no way on. PLIM_EUSAGE when there is no such
 * policy or size. */
plim_status trace_what_if(const traced *t, int32_t command, const char *policy, const char *memory, int as_json,
                          FILE *to);

/* ---- as a file ---- */

/* For Chrome's trace viewer and Perfetto: every row of the trace, or every command of a plan alone as it was planned,
 * as an event of a compute track. Repeats have a category of their own. Live bytes are a counter. The file is replaced
 * whole. */
plim_status trace_export(const traced *t, const char *path);

/* One HTML file that needs nothing else: addresses over commands, with hover, click and keys. The file is replaced
 * whole. It has the reasons of the first 500 online decisions. */
plim_status trace_html(const traced *t, const char *path);

#endif

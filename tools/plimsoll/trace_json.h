/* The views of a trace as JSON objects, for programs: every figure that trace_views.h prints (docs/formats.md). */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_JSON_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_JSON_H

#include <jansson.h>
#include <stdio.h>

#include "tools/plimsoll/trace_session.h"

/* One command: times, bytes, what begins, ends and is evicted, residents, absences, decisions, and the tree. */
plim_status trace_json_command(const traced *t, int32_t command, FILE *to);

/* The history of a value. PLIM_EUSAGE, with the nearest name, when there is none of that name. */
plim_status trace_json_value(const traced *t, const char *name, FILE *to);

/* The decisions before a command, a list, and what was recomputed for whom; null: nothing. */
plim_status trace_json_decisions(const traced *t, int32_t command, json_t **out);
json_t *trace_json_tree(const traced *t, int32_t command);

/* A name, null where the text has words for "none". */
json_t *trace_json_storage(const traced *t, int32_t storage); /* -1: null, the workspace */
json_t *trace_json_op(const traced *t, int32_t op);           /* -1: null */

/* Print and free. */
void trace_json_print(json_t *object, FILE *to);

#endif

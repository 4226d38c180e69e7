/* Writes and reads the lines of a trace document (docs/formats.md). trace_write.c writes, trace_read.c reads. Functions
 * run on the thread of the context. */
#ifndef PLIM_RUNTIME_GRAPH_TRACE_TEXT_H
#define PLIM_RUNTIME_GRAPH_TRACE_TEXT_H

#include "runtime/base/text.h"
#include "runtime/graph/trace.h"

/* Newest version of the format. Version 2 is for plans with copies, version 1 for others. */
enum { PLIM_TRACE_NEWEST = 2 };

/* Append the first line, the line of a command, the last line. */
void plim_trace_write_head(plim_text *text, const plim_trace *head);
void plim_trace_write_row(plim_text *text, const plim_trace *head, const plim_trace_row *row);
void plim_trace_write_end(plim_text *text, int64_t n_training_steps);

/* Make a trace from a document's text; `file` names it in sentences. PLIM_EDATA. */
PLIM_MUST_USE plim_status plim_trace_parse(plim_context *ctx, const char *file, const char *text, int64_t bytes,
                                           plim_trace **out);

#endif

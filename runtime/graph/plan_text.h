/* Writes and reads the canonical text of a plan document (docs/formats.md). plan_write.c writes, plan_read.c reads.
 * Functions run on the thread of the context. */
#ifndef PLIM_RUNTIME_GRAPH_PLAN_TEXT_H
#define PLIM_RUNTIME_GRAPH_PLAN_TEXT_H

#include "runtime/graph/document.h"
#include "runtime/graph/plan.h"

/* Append the document. */
void plim_plan_write(plim_text *text, const plim_plan *plan);

/* Read the plan that is the object at the cursor; a failure is left in its document. Stated figures are kept as they
 * are: plim_plan_check compares them. */
void plim_plan_read(plim_json_at *at, plim_plan **out);

/* Make a plan from a document's text; `file` names it in sentences. PLIM_EDATA. */
PLIM_MUST_USE plim_status plim_plan_parse(plim_context *ctx, const char *file, const char *text, int64_t bytes,
                                          plim_plan **out);

#endif

/* Writes and reads the canonical text of a program document (docs/formats.md). Both are in plans.c. Functions run on
 * the thread of the context. */
#ifndef PLIM_RUNTIME_GRAPH_PLANS_TEXT_H
#define PLIM_RUNTIME_GRAPH_PLANS_TEXT_H

#include "runtime/base/text.h"
#include "runtime/graph/plans.h"

/* Append the document. */
void plim_plans_write(plim_text *text, int32_t n, const char *const *name, const plim_plan *const *plan);

/* Make the plans of a program from a document's text; `file` names it in sentences. PLIM_EDATA. */
PLIM_MUST_USE plim_status plim_plans_parse(plim_context *ctx, const char *file, const char *text, int64_t bytes,
                                           plim_plans **out);

#endif

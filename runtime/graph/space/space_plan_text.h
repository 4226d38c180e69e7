/* Writes and reads the text of a plan over spaces: version 2 of the plan document. `file` names it in sentences.
 * Functions run on the thread of the context. */
#ifndef PLIM_RUNTIME_GRAPH_SPACE_SPACE_PLAN_TEXT_H
#define PLIM_RUNTIME_GRAPH_SPACE_SPACE_PLAN_TEXT_H

#include "runtime/base/text.h"
#include "runtime/graph/space/space_plan.h"

/* Append the canonical text. Make a plan of such a text: free it with plim_space_plan_free. PLIM_EDATA, PLIM_ENOMEM. */
void plim_space_plan_write(plim_text *text, const plim_space_plan *plan);
PLIM_MUST_USE plim_status plim_space_plan_parse(plim_context *ctx, const char *file, const char *text, int64_t bytes,
                                                plim_space_plan **out);

#endif

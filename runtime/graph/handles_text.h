/* Writes and reads the field "handles" of a graph document (docs/formats.md). Functions run on the thread of the
 * context. */
#ifndef PLIM_RUNTIME_GRAPH_HANDLES_TEXT_H
#define PLIM_RUNTIME_GRAPH_HANDLES_TEXT_H

#include "runtime/base/json.h"
#include "runtime/base/text.h"
#include "runtime/graph/handles.h"

/* The object, from its opening brace to its closing one. */
void plim_handles_write(plim_text *text, const plim_handles *handles);

/* Read the field of the root, which must have it. *out is set when the document's status is PLIM_OK afterwards. */
void plim_handles_read(plim_json_at *root, plim_handles **out);

#endif

/* Graphs from files of other programs: a table of formats. Equal files give equal graphs. O(file). Functions run on the
 * thread of the context. */
#ifndef PLIM_RUNTIME_IMPORT_IMPORT_H
#define PLIM_RUNTIME_IMPORT_IMPORT_H

#include "runtime/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_IMPORT_MAX_BYTES = 1 << 30 };

/* Name of row i (0, 1, ...) of the table of formats, and a description of it. Static strings; NULL after the last row.
 */
const char *plim_import_name(int32_t row);
const char *plim_import_about(int32_t row);

/* Read a file of that format. Ops come in the file's input order and carry time and id; docs/formats.md has the rules.
 * PLIM_EUSAGE for a format that is not in the table, PLIM_EDATA with one sentence for a file that is wrong,
 * PLIM_ENOFILE and PLIM_EIO as plim_graph_load. */
PLIM_MUST_USE plim_status plim_graph_import(plim_context *ctx, const char *format, const char *path, plim_graph **out);

/* The same for a text that was read already; `file` names it in sentences. */
PLIM_MUST_USE plim_status plim_graph_import_text(plim_context *ctx, const char *format, const char *file,
                                                 const char *text, int64_t bytes, plim_graph **out);

#ifdef __cplusplus
}
#endif
#endif

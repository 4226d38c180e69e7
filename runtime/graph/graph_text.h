/* Writes and reads the canonical text of a graph document (docs/formats.md). graph_write.c writes, graph_read.c reads.
 * Functions run on the thread of the context. */
#ifndef PLIM_RUNTIME_GRAPH_GRAPH_TEXT_H
#define PLIM_RUNTIME_GRAPH_GRAPH_TEXT_H

#include "runtime/base/text.h"
#include "runtime/graph/graph.h"

enum { PLIM_GRAPH_NEWEST = 5 }; /* newest version of the format */

/* The lowest version of the format that can hold the graph. */
int plim_graph_version(const plim_graph *graph);

/* Append the document.
 *   with_fingerprint  in  0: without the fingerprint, which is the hash of this text */
void plim_graph_write(plim_text *text, const plim_graph *graph, int with_fingerprint);

/* Make a graph from a document's text; `file` names it in sentences. The graph must pass the builder's checks, and have
 * the stated fingerprint. PLIM_EDATA. */
PLIM_MUST_USE plim_status plim_graph_parse(plim_context *ctx, const char *file, const char *text, int64_t bytes,
                                           plim_graph **out);

#endif

/* The canonical text of a graph document; docs/formats.md. */
#ifndef PLIM_RUNTIME_GRAPH_GRAPH_TEXT_H
#define PLIM_RUNTIME_GRAPH_GRAPH_TEXT_H

#include "runtime/base/text.h"
#include "runtime/graph/graph.h"

enum { PLIM_GRAPH_NEWEST = 5 };

/* The version of the format that holds the graph: the first, unless it was imported. */
int plim_graph_version(const plim_graph *graph);

/* Append the document; without its fingerprint when `whole` is 0: the text that the fingerprint is taken of. */
void plim_graph_write(plim_text *text, const plim_graph *graph, int whole);

/* A graph from a document's text; `file` names it in sentences. The graph passes the builder's checks, and its
 * fingerprint must be the one stated. */
PLIM_MUST_USE plim_status plim_graph_parse(plim_context *ctx, const char *file, const char *text, int64_t bytes,
                                           plim_graph **out);

#endif

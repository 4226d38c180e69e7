/* The importers: each makes a graph of a file's text; `file` names it in sentences. */
#ifndef PLIM_RUNTIME_GRAPH_IMPORTERS_H
#define PLIM_RUNTIME_GRAPH_IMPORTERS_H

#include "runtime/graph/graph.h"

typedef plim_status plim_importer(plim_context *ctx, const char *file, const char *text, int64_t bytes,
                                  plim_graph **out);

/* networkx node-link JSON, in the dialects of Checkmate's networks and of the random layered graphs. */
plim_status plim_import_nx(plim_context *ctx, const char *file, const char *text, int64_t bytes, plim_graph **out);

#endif

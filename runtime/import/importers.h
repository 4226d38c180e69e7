/* The importers: each makes a graph of a file's text.
 *   file  in           names the file in sentences
 *   text  in  [bytes]
 *   out   out          free with plim_graph_free
 * PLIM_EDATA: the text is not of that form; the sentence names the file and the place. PLIM_ENOMEM. O(bytes), and
 * the cost of plim_graph_end. Deterministic. On the thread of the context.
 *
 * They are in import_nx.c and import_dtr.c. */
#ifndef PLIM_RUNTIME_IMPORT_IMPORTERS_H
#define PLIM_RUNTIME_IMPORT_IMPORTERS_H

#include "runtime/graph/graph.h"

typedef plim_status plim_importer(plim_context *ctx, const char *file, const char *text, int64_t bytes,
                                  plim_graph **out);

/* networkx node-link JSON, in the dialects of Checkmate's networks and of the random layered graphs. */
plim_status plim_import_nx(plim_context *ctx, const char *file, const char *text, int64_t bytes, plim_graph **out);

/* A log of the DTR prototype (JSON Lines, not compressed): one forward and backward pass with the handles that the
 * program held. Constants become params; calls with a result that is no view become custom ops with their time;
 * mutations get an in-place pair; storages with a handle at the end are outputs. Views, handles and storages without
 * bytes are in graph->handles alone. An op whose results are all empty gets a result of one byte, so that plans run it
 * too. Error sentences have the number of the line. */
plim_status plim_import_dtr(plim_context *ctx, const char *file, const char *text, int64_t bytes, plim_graph **out);

#endif

/* Reading a graph of another program, compressed or not. */
#ifndef PLIM_TOOLS_PLIMSOLL_IMPORT_FILE_H
#define PLIM_TOOLS_PLIMSOLL_IMPORT_FILE_H

#include "runtime/graph/graph.h"

/* plim_graph_import; a file whose name ends with .gz is inflated first. */
plim_status import_file(plim_context *ctx, const char *format, const char *path, plim_graph **out);

#endif

/* The figures of a graph that came from outside. */
#ifndef PLIM_TOOLS_PLIMSOLL_GRAPH_FIGURES_H
#define PLIM_TOOLS_PLIMSOLL_GRAPH_FIGURES_H

#include "runtime/graph/graph.h"

void graph_figures_print(const plim_graph *graph, int as_json);

#endif

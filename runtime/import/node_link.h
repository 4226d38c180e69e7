/* Makes a graph of a DAG as publications describe it: ops with one output each, their sizes and times. Importers and
 * generators use it. Functions run on the thread of the context, and are deterministic. */
#ifndef PLIM_RUNTIME_IMPORT_NODE_LINK_H
#define PLIM_RUNTIME_IMPORT_NODE_LINK_H

#include "runtime/graph/graph.h"

typedef struct plim_node {
  int64_t id;             /* or PLIM_NONE */
  int64_t bytes, time_ns; /* time_ns: or PLIM_UNKNOWN */
  const char *name;       /* any text; NULL: none */
  plim_phase phase;
} plim_node;

typedef struct plim_link {
  int32_t from, to; /* nodes */
} plim_link;

typedef struct plim_node_link {
  const char *name; /* any text; NULL: none */
  int32_t unpacked; /* as in plim_graph */
  int32_t n, n_links;
  const plim_node *node; /* [n] */
  const plim_link *link; /* [n_links] no two alike; those of one node in the order of its inputs */
  const int32_t *order;  /* [n] nodes in program order; NULL: as they are */
  plim_costs **costs;    /* of the ops; the graph becomes their owner, and *costs NULL; NULL or *costs NULL: none */
} plim_node_link;

/* Make the graph. Each node becomes a custom op of class pure with one activation, called NAME#ID. A node without an id
 * has its place in the list instead. Characters of a name that documents do not allow become question marks.
 *   nodes  in   borrowed for the call, but for the costs
 *   out    out  free with plim_graph_free
 * PLIM_EDATA: plim_graph_end refuses the graph, as where a link goes against the order. PLIM_ENOMEM.
 * O(nodes + links), and the cost of plim_graph_end. */
PLIM_MUST_USE plim_status plim_node_link_graph(plim_context *ctx, const plim_node_link *nodes, plim_graph **out);

#endif

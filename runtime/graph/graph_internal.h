/* The memory of a graph: one block with the document and all its arrays, through writable pointers. Only files that
 * make or free graphs include it. derive.c fills what follows from the ops. Functions run on the thread of the context.
 */
#ifndef PLIM_RUNTIME_GRAPH_GRAPH_INTERNAL_H
#define PLIM_RUNTIME_GRAPH_GRAPH_INTERNAL_H

#include "runtime/base/array.h"
#include "runtime/graph/graph.h"

typedef struct plim_own_graph {
  plim_graph graph; /* first: what callers hold */
  int64_t block_bytes;
  plim_handles *handles;
  plim_costs *costs;
  plim_storage *storage;
  plim_value *value;
  plim_op *op;
  char *chars;
  int32_t *operand;       /* in, out and upd of every op, one after the other */
  plim_pair *pair;        /* of every op */
  plim_shape *many;       /* shapes of the long lists of every op */
  int32_t *unique;        /* reads, writes and updates of every op */
  int32_t *reader_first;  /* [n_storages + 1] */
  int32_t *reader;        /* at most one an operand */
  int32_t *updater_first; /* [n_storages + 1] */
  int32_t *updater;
} plim_own_graph;

/* Fill the derived tables: reads, writes and updates of each op; producer, readers and updaters of each storage.
 * PLIM_EDATA: two ops write a storage. */
PLIM_MUST_USE plim_status plim_graph_derive(plim_own_graph *own);

#endif

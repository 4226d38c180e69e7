/* What an import reads and changes of a graph under construction, besides adding to it (graph.h): a log says later what
 * a storage is, and how large. Ids must be in range. All functions are O(1). On the thread of the builder's context. */
#ifndef PLIM_RUNTIME_GRAPH_BUILDER_H
#define PLIM_RUNTIME_GRAPH_BUILDER_H

#include "runtime/graph/graph.h"

/* Number of ops so far. */
int64_t plim_graph_builder_ops(const plim_graph_builder *builder);

/* The storage over which a value lies. The role of a storage. */
int32_t plim_graph_builder_storage(const plim_graph_builder *builder, int32_t value);
plim_role plim_graph_builder_role(const plim_graph_builder *builder, int32_t storage);
void plim_graph_builder_set_role(plim_graph_builder *builder, int32_t storage, plim_role role);

/* Make a value of u8 elements, the only one over its storage, and the storage larger: `bytes` > 0 in all. */
void plim_graph_builder_set_bytes(plim_graph_builder *builder, int32_t value, int64_t bytes);

#endif

/* Generated graphs: random layered ones, and unrolled training steps of common shapes. Equal options give equal graphs
 * on every machine. Sources: Gagrani et al., "Neural Topological Ordering for Computation Graphs", 2022, appendix A,
 * for "layered"; the other shapes are our own. */
#ifndef PLIM_RUNTIME_IMPORT_GENERATE_H
#define PLIM_RUNTIME_IMPORT_GENERATE_H

#include "runtime/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_generate_options {
  size_t struct_bytes; /* sizeof(plim_generate_options) */
  const char *shape;   /* plim_generate_name of a row */
  int32_t n;           /* ops, 8 to 1,000,000. "layered": exactly n; others: as many whole blocks as fit in n */
  uint64_t seed;
  int32_t packed; /* 1: plans have addresses; 0: none, like those of published instances (plim_graph.unpacked) */
  /* read for "layered" only */
  double width;  /* above 0, at most 10: the mean number of ops in a layer is 2 x width x sqrt(n) */
  double spread; /* 0 to 1: that number varies by this share of its mean */
  double edges;  /* 0 to 1: share of the pairs of ops in neighbouring layers that are linked */
  double skips;  /* 0 to 1, above 0.9 as 0.9: share of all links that skip layers */
} plim_generate_options;

/* 1000 ops, seed 1, no addresses, and for "layered" the parameters of the published instance of 100 ops: 0.27, 0.75,
 * 0.2, 0.14. `shape` is borrowed. */
plim_generate_options plim_generate_options_default(const char *shape);

/* Name of row i (0, 1, ...) of the table of shapes, and a description of it. Static strings; NULL after the last row.
 * Safe from any thread. */
const char *plim_generate_name(int32_t row);
const char *plim_generate_about(int32_t row);

/* Generate a graph. Bytes and times are those of the shape; ops are of the kind custom and class pure.
 *   out  [1]  out  free with plim_graph_free
 * PLIM_EUSAGE: a shape, number or share that is not allowed. PLIM_ENOMEM. O(n + links log links); links of "layered"
 * grow with n x width x sqrt(n) x edges. On the thread of the context. */
PLIM_MUST_USE plim_status plim_graph_generate(plim_context *ctx, const plim_generate_options *options,
                                              plim_graph **out);

#ifdef __cplusplus
}
#endif
#endif

/* Graphs made up by seed: random layered ones, and unrolled training steps of common shapes. */
#ifndef PLIM_RUNTIME_IMPORT_GENERATE_H
#define PLIM_RUNTIME_IMPORT_GENERATE_H

#include "runtime/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_generate_options {
  size_t struct_bytes; /* sizeof(plim_generate_options) */
  const char *shape;   /* name of a row below */
  int32_t n;           /* ops: exactly so many when layered, else as many whole blocks as fit; at least 8 */
  uint64_t seed;
  int32_t packed; /* 1: plans have addresses; 0: published instances have none */
  /* layered: mean size of a layer is 2 width sqrt(n), sizes lie within a share `spread` of it; share of pairs of
   * neighbouring layers that are linked; share of all links that skip layers */
  double width, spread, edges, skips;
} plim_generate_options;

/* 1000 ops, seed 1, and the parameters of the published instance of 100 ops: 0.27, 0.75, 0.2, 0.14. */
plim_generate_options plim_generate_options_default(const char *shape);

/* The shapes in order of the table: name of row i and what it is, or NULL. */
const char *plim_generate_name(int32_t row);
const char *plim_generate_about(int32_t row);

/* Equal options give equal graphs, everywhere. PLIM_EUSAGE for a shape or a figure that is not allowed. O(n + links).
 */
PLIM_MUST_USE plim_status plim_graph_generate(plim_context *ctx, const plim_generate_options *options,
                                              plim_graph **out);

#ifdef __cplusplus
}
#endif
#endif

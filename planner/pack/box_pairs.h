/* Exact packing where gaps leave parts of boxes: a search over which box of a pair lies below. */
#ifndef PLIM_PLANNER_PACK_BOX_PAIRS_H
#define PLIM_PLANNER_PACK_BOX_PAIRS_H

#include "planner/pack/exact.h"

typedef struct plim_pairs plim_pairs;

/* *out is NULL when more than PLIM_PAIRS_MOST pairs of boxes are there together. O(n^2). */
enum { PLIM_PAIRS_MOST = 8192 };
PLIM_MUST_USE plim_status plim_pairs_new(const plim_units *units, plim_pairs **out);
void plim_pairs_free(plim_pairs *pairs); /* NULL is legal */

/* Search under a capacity in units; a node is a pass over all pairs. offset [n] in units is set when found. Whatever
 * boxes have, IMPOSSIBLE is a proof. *nodes: how many were used. */
plim_pack_outcome plim_pairs_run(plim_pairs *pairs, int64_t capacity, const plim_exact_limits *limits, int64_t *offset,
                                 int64_t *nodes);

#endif

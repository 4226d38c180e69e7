/* Why boxes do not fit: a few of them that together cannot. */
#ifndef PLIM_PLANNER_PACK_CONFLICT_H
#define PLIM_PLANNER_PACK_CONFLICT_H

#include "planner/pack/pack.h"

typedef struct plim_conflict {
  int32_t n;           /* boxes marked; 0: nothing is proven */
  int32_t irreducible; /* 1: without any one of them the others fit */
  int32_t at_once;     /* 1: they are alive together at `time`, and their sum is too large */
  int64_t time;
} plim_conflict;

/* Mark boxes that do not fit under `capacity` together: too much at one step, or, when the peak fits, what remains of
 * all boxes after dropping one after the other as long as the rest is proven not to fit.
 *   nodes        in   limit on exact search, over all proofs
 *   member  [n]  out  1: one of them
 * Deterministic. O(n log n) when the peak is too large; else the searches. */
PLIM_MUST_USE plim_status plim_boxes_conflict(plim_context *ctx, const plim_boxes *boxes, int64_t capacity,
                                              int64_t nodes, uint8_t *member, plim_conflict *out);

#endif

/* Segments of time in which an op may run again: a column each.
 *
 * The time after an op's first run is divided by first runs of ops that read all its outputs and that certainly follow
 * one another. An output that is not alive at v is recomputed before the next of these readers. That run lies in the
 * segment of v, or in a later one that begins before that reader. A run lies in one segment only, so costs of segments
 * add up. In program order v lies in exactly one segment. */
#ifndef PLIM_PLANNER_BOUND_SEGMENTS_H
#define PLIM_PLANNER_BOUND_SEGMENTS_H

#include "planner/bound/order.h"

typedef struct plim_cut_segments {
  plim_context *ctx;
  int32_t n_ops, n;
  int32_t *first;  /* [n_ops + 1] an op's segments are [first[op], first[op + 1]), in order */
  int32_t *begins; /* [n] at the first run of that op; an op's first segment at its own */
  int64_t room;
} plim_cut_segments;

/* O(operands). */
PLIM_MUST_USE plim_status plim_cut_segments_make(const plim_problem *problem, const plim_cut_order *order,
                                                 plim_cut_segments *out);
void plim_cut_segments_free(plim_cut_segments *segments); /* leaves it empty */

typedef struct plim_cut_span {
  int32_t first, end; /* segments [first, end) */
} plim_cut_span;

/* The segments [first, end) of an op one of which has a run of it when an output of it is gone at v's first run and
 * read later; v certainly comes after the op's own first run. O(log segments). */
plim_cut_span plim_cut_span_of(const plim_cut_segments *segments, const plim_cut_order *order, int32_t op, int32_t v);

/* The op of a segment. O(log ops). */
int32_t plim_cut_segment_op(const plim_cut_segments *segments, int32_t segment);

#endif

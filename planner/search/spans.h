/* Bytes at each position of a sequence, changed and added up over spans: what covering asks all the time.
 *
 * Positions lie in blocks that know their least, largest and summed level, and what was added to all of them at once.
 * A block that is wholly below, within or above the range asked for is answered without a look at its positions, so
 * that a long span costs O(blocks) where hardly anything in it is near the limit. */
#ifndef PLIM_PLANNER_SPANS_H
#define PLIM_PLANNER_SPANS_H

#include "runtime/base/context.h"

enum { PLIM_SPANS_BLOCK = 64 };

typedef struct plim_span_block {
  int64_t added;                    /* on top of `level` of each of its positions */
  int64_t least, most, above_least; /* without `added`; above_least: sum of level - least, at most INT64_MAX */
} plim_span_block;

typedef struct plim_spans {
  plim_context *ctx;
  int32_t room, n;        /* positions */
  int64_t *level;         /* [room] */
  plim_span_block *block; /* [room / PLIM_SPANS_BLOCK + 1] */
} plim_spans;

/* An empty sequence of at most `room` positions. */
PLIM_MUST_USE plim_status plim_spans_begin(plim_context *ctx, int32_t room, plim_spans *out);
void plim_spans_end(plim_spans *spans);

/* Write level[0, n) first, then call this. O(n). */
void plim_spans_set(plim_spans *spans, int32_t n);

int64_t plim_spans_at(const plim_spans *spans, int32_t at);

/* For positions from < k < to: add bytes to each; or the sum of what its level exceeds `limit` by, but at most `bytes`
 * (>= 0) of each, INT64_MAX where that sum is larger. O(to - from) at most. */
void plim_spans_add(plim_spans *spans, int64_t bytes, int32_t from, int32_t to);
int64_t plim_spans_excess(const plim_spans *spans, int64_t limit, int64_t bytes, int32_t from, int32_t to);

#endif

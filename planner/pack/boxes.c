/* Separation of two boxes, and the bytes of a box in use at a time. Without gaps the separation is the size of the
 * lower box. With gaps, both boxes are walked together through time, from gap to gap. */
#include "planner/pack/pack.h"

/* The bytes that a box occupies, range by range in order of time: all of them between its gaps. */
typedef struct range_walk {
  const plim_boxes *boxes;
  int32_t box, next; /* next gap */
  int64_t begin, end, low, high;
} range_walk;

static int32_t gaps_end(const plim_boxes *boxes, int32_t b) {
  return boxes->gap ? boxes->gap_first[b + 1] : 0;
}

/* Continue to the range that begins at walk->end; 0: the box has ended. */
static int next_range(range_walk *walk) {
  const plim_boxes *boxes = walk->boxes;
  const plim_box *box = &boxes->box[walk->box];
  int32_t last = gaps_end(boxes, walk->box);
  if (walk->end >= box->end) return 0;
  walk->begin = walk->end;
  if (walk->next < last && boxes->gap[walk->next].begin == walk->begin) {
    const plim_pack_gap *gap = &boxes->gap[walk->next++];
    walk->end = gap->end;
    walk->low = gap->low;
    walk->high = gap->high;
  } else {
    walk->end = walk->next < last ? boxes->gap[walk->next].begin : box->end;
    walk->low = 0;
    walk->high = box->bytes;
  }
  return 1;
}

static range_walk start(const plim_boxes *boxes, int32_t b) {
  int64_t begin = boxes->box[b].begin;
  return (range_walk){boxes, b, boxes->gap ? boxes->gap_first[b] : 0, begin, begin, 0, 0};
}

int64_t plim_boxes_separation(const plim_boxes *boxes, int32_t below, int32_t above) {
  const plim_box *a = &boxes->box[below], *b = &boxes->box[above];
  if (a->begin >= b->end || b->begin >= a->end) return PLIM_NO_SEPARATION;
  if (!boxes->gap) return a->bytes;
  range_walk low = start(boxes, below), high = start(boxes, above);
  int64_t separation = PLIM_NO_SEPARATION;
  int more = next_range(&low) && next_range(&high);
  while (more) {
    int may_meet = low.low < low.high && high.low < high.high && low.begin < high.end && high.begin < low.end;
    if (may_meet && low.high - high.low > separation) separation = low.high - high.low;
    more = low.end < high.end ? next_range(&low) : next_range(&high);
  }
  return separation;
}

int64_t plim_boxes_bytes_at(const plim_boxes *boxes, int32_t b, int64_t time) {
  const plim_box *box = &boxes->box[b];
  if (time < box->begin || time >= box->end) return 0;
  for (int32_t g = boxes->gap ? boxes->gap_first[b] : 0; g < gaps_end(boxes, b); g++) {
    const plim_pack_gap *gap = &boxes->gap[g];
    if (time >= gap->begin && time < gap->end) return gap->high - gap->low;
  }
  return box->bytes;
}

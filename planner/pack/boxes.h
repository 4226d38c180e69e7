/* Boxes: what is packed, in full: alignments, hints and gaps of single boxes besides time, bytes and fixed offsets. */
#ifndef PLIM_PLANNER_PACK_BOXES_H
#define PLIM_PLANNER_PACK_BOXES_H

#include "planner/pack/pack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In steps [begin, end) a box occupies only [low, high) of its bytes; low == high: nothing. */
typedef struct plim_pack_gap {
  int64_t begin, end;
  int64_t low, high;
} plim_pack_gap;

/* Sizes, alignments and fixed offsets together stay below 2^62. */
typedef struct plim_boxes {
  int32_t n;
  int64_t align;            /* every size is rounded up to a multiple, every offset is one */
  const plim_box *box;      /* [n] */
  const int64_t *own_align; /* [n] multiples that single offsets must be besides; NULL: none */
  const int64_t *hint;      /* [n] preferred offsets, -1: none; NULL: none */
  const int32_t *gap_first; /* [n + 1] gaps of box b: gap[gap_first[b] .. gap_first[b + 1]), in order of time, apart */
  const plim_pack_gap *gap; /* NULL: no gaps at all, gap_first is not read */
} plim_boxes;

/* How far box `below` reaches over the bottom of box `above` while both are there: offset of below + reach <= offset of
 * above is what "below" means. PLIM_NO_SEPARATION: never there together. */
#define PLIM_NO_SEPARATION INT64_MIN
int64_t plim_boxes_separation(const plim_boxes *boxes, int32_t below, int32_t above);

/* Bytes of box b in use at a step. */
int64_t plim_boxes_bytes_at(const plim_boxes *boxes, int32_t b, int64_t time);

/* plim_pack (pack.h) for boxes with all that they may have. After the deadline (plim_now_ns; INT64_MAX: none), or when
 * the context is cancelled, no further order is tried. */
PLIM_MUST_USE plim_status plim_pack_boxes(plim_context *ctx, const plim_boxes *boxes, int64_t target, int32_t effort,
                                          int64_t deadline_ns, int64_t *offset, int64_t *packed_bytes,
                                          int64_t *peak_bytes);

#ifdef __cplusplus
}
#endif
#endif

/* Packing: buffers with lifetimes to offsets in one arena, and a validator that shares no code with the packers. */
#ifndef PLIM_PLANNER_PACK_PACK_H
#define PLIM_PLANNER_PACK_PACK_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ==== pack ==== */

/* Packing: buffers -> offsets. */

typedef struct plim_box {
  int64_t begin, end; /* half-open, in steps */
  int64_t bytes;      /* > 0 */
  int64_t fixed;      /* offset it must have, -1: free */
} plim_box;

/* Assign offsets so that boxes overlapping in time never overlap in space.
 *   box     [n] in
 *   align       in   every offset is a multiple of it
 *   target      in   a packed size that is good enough: stop there (0: as low as the effort allows)
 *   effort      in   rounds after the first-fit orders: packings from the bottom up or, of boxes that it does not take,
 *                    repairs of the best order; then exact search in proportion, all of it for the target where
 *                    there is one; 0: first-fit only
 *   offset  [n] out  bytes
 *   packed size  [1] out  max of offset + bytes
 *   load    [1] out  lower bound: largest sum of live bytes; may be NULL
 * First-fit: O(n x overlaps) an order. From the bottom up: O(n x overlaps) a packing, and O(n^2) bytes and time for the
 * list of overlaps where they are many. Exact search: up to O(effort) nodes of O(n) each. Deterministic. Sources:
 * first-fit orders and exact search, Moffitt, MiniMalloc, ASPLOS 2023. */
PLIM_MUST_USE plim_status plim_pack(plim_context *ctx, int32_t n, const plim_box *box, int64_t align, int64_t target,
                                    int32_t effort, int64_t *offset, int64_t *packed_bytes, int64_t *peak_bytes);

/* ==== boxes ==== */

/* Boxes: what is packed, in full: alignments, hints and gaps of single boxes besides time, bytes and fixed offsets. */

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

/* ==== validate ==== */

/* Is a packing valid? Of the packers' code it uses plim_boxes_separation alone, the rule of two boxes with gaps: boxes
 * without gaps are judged by code of its own. */

/* Two boxes that overlap in time and space, the lower index first; pair[0] = -1: none. Boxes of no bytes or with a
 * negative offset are not there. O(n log n), and O(n) for each box with gaps. */
PLIM_MUST_USE plim_status plim_boxes_find_overlap(plim_context *ctx, const plim_boxes *boxes, const int64_t *offset,
                                                  int32_t pair[2]);

/* All rules: offsets not negative, multiples of the alignments, at their fixed places, tops within `capacity`, nothing
 * overlaps, and `height` is the largest top (capacity and packed size in bytes). Boxes of no bytes may be anywhere.
 * PLIM_EPLAN with the box and the numbers. */
PLIM_MUST_USE plim_status plim_boxes_check(plim_context *ctx, const plim_boxes *boxes, const int64_t *offset,
                                           int64_t capacity, int64_t packed_bytes);

#ifdef __cplusplus
}
#endif
#endif

/* Is a packing valid? Of the packers' code it uses plim_boxes_separation alone, the rule of two boxes with gaps: boxes
 * without gaps are judged by code of its own. */
#ifndef PLIM_PLANNER_PACK_VALIDATE_H
#define PLIM_PLANNER_PACK_VALIDATE_H

#include "planner/pack/boxes.h"

#ifdef __cplusplus
extern "C" {
#endif

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

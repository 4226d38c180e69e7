/* Some of the boxes, as a problem of its own with the largest unit that loses nothing. */
#ifndef PLIM_PLANNER_PACK_SELECTION_H
#define PLIM_PLANNER_PACK_SELECTION_H

#include "planner/pack/pack.h"

typedef struct plim_selection {
  plim_context *ctx;
  const plim_boxes *from;
  plim_boxes boxes;  /* the arrays below; align: the unit */
  int32_t *original; /* [boxes.n] the box of `from` */
  plim_box *box;
  int64_t *own_align, *hint;
  int32_t *gap_first;
  plim_pack_gap *gap;
} plim_selection;

/* Those boxes that have bytes and, when wanted is not NULL, a mark. O(n), and a few times n when alignments differ. */
PLIM_MUST_USE plim_status plim_selection_make(plim_context *ctx, const plim_boxes *from, const uint8_t *wanted,
                                              plim_selection *out);
void plim_selection_free(plim_selection *selection);

#endif

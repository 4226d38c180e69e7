/* First-fit and best-fit: place boxes one after the other in a given order. */
#ifndef PLIM_PLANNER_PACK_FIT_H
#define PLIM_PLANNER_PACK_FIT_H

#include "planner/pack/pack.h"

typedef struct plim_placed {
  int64_t begin, end;
  int64_t offset, top; /* in units */
} plim_placed;

typedef struct plim_packing {
  plim_context *ctx;
  int32_t n;
  const plim_box *box; /* as given */
  int64_t align;       /* bytes in a unit */
  int64_t *bytes;      /* [n] in units */
  int64_t *fixed;      /* [n] offset in units, -1: free */
  plim_placed *placed; /* [n] scratch: by offset */
} plim_packing;

/* Place the boxes in `order`, each at the lowest free offset (first-fit) or in the tightest gap (best_fit 1); fixed
 * ones keep their offset and are placed first. Writes offsets in units, returns the height. O(n^2), with a small
 * constant. */
int64_t plim_pack_fit(const plim_packing *packing, const int32_t *order, int best_fit, int64_t *offset);

#endif

/* Sections of a packing problem: the maximal sets of boxes there together, in time order. */
#ifndef PLIM_PLANNER_PACK_SECTIONS_H
#define PLIM_PLANNER_PACK_SECTIONS_H

#include "planner/pack/units.h"

/* A box is in the sections [first, last); last > first. A box with gaps has several spans. */
typedef struct plim_span {
  int32_t first, last;
} plim_span;

typedef struct plim_sections {
  plim_context *ctx;
  int32_t n, n_sections;
  int32_t *span_first; /* [n + 1] spans of box x: span[span_first[x] .. span_first[x + 1]), in order */
  plim_span *span;
  int32_t room; /* of span */
} plim_sections;

/* Two boxes are there together exactly when they share a section. Where a gap leaves a part of a box, it counts as
 * there. O(n log n). */
PLIM_MUST_USE plim_status plim_sections_make(const plim_units *units, plim_sections *out);
void plim_sections_free(plim_sections *sections);

#endif

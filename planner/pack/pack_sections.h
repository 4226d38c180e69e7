/* Sections of a packing problem: the maximal sets of boxes alive together, in time order. Planner-internal. */
#ifndef PLIM_PLANNER_PACK_SECTIONS_H
#define PLIM_PLANNER_PACK_SECTIONS_H

#include "planner/pack/pack.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_section_box {
  int32_t first, last; /* sections [first, last) hold the box; last > first */
  int64_t size, fixed; /* in units of the alignment; fixed -1: free */
} plim_section_box;

typedef struct plim_sections {
  plim_context *ctx;
  int32_t n, n_sections;
  plim_section_box *box;            /* [n] */
  int32_t *member_first, *member;   /* boxes of section s: member[member_first[s] .. member_first[s + 1]) */
  int32_t *overlap_first, *overlap; /* boxes that share a section with box x */
} plim_sections;

/* O(n log n + members + overlapping pairs). */
PLIM_MUST_USE plim_status plim_sections_make(plim_context *ctx, int32_t n, const plim_box *box, int64_t align,
                                             plim_sections *out);
void plim_sections_free(plim_sections *sections);

#ifdef __cplusplus
}
#endif
#endif

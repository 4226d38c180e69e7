/* What all packers share: boxes in units of their alignment, sections of time, selections of boxes. */
#ifndef PLIM_PLANNER_PACK_UNITS_H
#define PLIM_PLANNER_PACK_UNITS_H

#include "planner/pack/pack.h"

enum { PLIM_WORD = 64 /* bits of a word of a set of bits */ };

/* ==== units (units.c) ==== */

/* Boxes in units of the alignment: what all packers work on. */

typedef struct plim_units {
  plim_context *ctx;
  int32_t n;
  const plim_boxes *boxes;
  int64_t *size;            /* [n] units, rounded up */
  int64_t *fixed;           /* [n] the offset that the box must have; -1: any */
  int64_t *align;           /* [n] alignment of the box, at least 1 */
  int64_t *hint;            /* [n] preferred offset; -1: none */
  int32_t is_plain;         /* 1: no gaps, no hints, no alignments of single boxes */
  int32_t has_partial_gaps; /* 1: in some gap a part of the box stays */
  int64_t peak_units;       /* largest sum of live boxes: no packing is smaller */
  int64_t peak_time;        /* a command at which that many are alive */
} plim_units;

/* PLIM_EUSAGE for a box without buffer or bytes, or with a fixed offset that is no multiple. O(n log n). */
PLIM_MUST_USE plim_status plim_units_make(plim_context *ctx, const plim_boxes *boxes, plim_units *out);
void plim_units_free(plim_units *units);

/* plim_boxes_separation in units, rounded up. */
int64_t plim_units_separation(const plim_units *units, int32_t below, int32_t above);

/* The lowest multiple of the box's alignment at or above `offset`. */
static inline int64_t plim_units_align(const plim_units *units, int32_t box, int64_t offset) {
  int64_t align = units->align[box];
  return align == 1 ? offset : (offset + align - 1) / align * align;
}

/* ==== sections (sections.c) ==== */

/* Sections of a packing problem: the maximal sets of boxes there together, in time order. */

/* A box is in the sections [first, last); last > first. A box with gaps has several spans. */
typedef struct plim_section_range {
  int32_t first, last;
} plim_section_range;

typedef struct plim_sections {
  plim_context *ctx;
  int32_t n, n_sections;
  int32_t *span_first; /* [n + 1] spans of box x: span[span_first[x] .. span_first[x + 1]), in order */
  plim_section_range *span;
  int32_t span_capacity; /* of span */
} plim_sections;

/* Two boxes are there together exactly when they share a section. Where a gap leaves a part of a box, it counts as
 * there. O(n log n). */
PLIM_MUST_USE plim_status plim_sections_make(const plim_units *units, plim_sections *out);
void plim_sections_free(plim_sections *sections);

/* ==== selections (selection.c) ==== */

/* Some of the boxes, as a problem of its own with the largest unit that loses nothing. */

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

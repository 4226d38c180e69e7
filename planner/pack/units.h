/* Boxes in units of the alignment: what all packers work on. */
#ifndef PLIM_PLANNER_PACK_UNITS_H
#define PLIM_PLANNER_PACK_UNITS_H

#include "planner/pack/pack.h"

typedef struct plim_units {
  plim_context *ctx;
  int32_t n;
  const plim_boxes *boxes;
  int64_t *size;      /* [n] units, rounded up */
  int64_t *fixed;     /* [n] the offset that the box must have; -1: any */
  int64_t *align;     /* [n] alignment of the box, at least 1 */
  int64_t *hint;      /* [n] preferred offset; -1: none */
  int32_t plain;      /* 1: no gaps, no hints, no alignments of single boxes */
  int32_t windows;    /* 1: some gap leaves a part of its box */
  int64_t peak_bytes; /* largest sum of live boxes, in units: no packing is smaller */
  int64_t load_time;  /* a command at which that many are alive */
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

#endif

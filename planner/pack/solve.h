/* Packing with all searches: within a capacity, or as small as the time allows, with a proof where there is one; and
 * why boxes do not fit. */
#ifndef PLIM_PLANNER_PACK_SOLVE_H
#define PLIM_PLANNER_PACK_SOLVE_H

#include "planner/pack/pack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ==== solve (solve.c) ==== */

typedef struct plim_pack_options {
  size_t struct_bytes;   /* sizeof(plim_pack_options) */
  int64_t capacity;      /* bytes; INT64_MAX: as small as possible */
  int64_t time_limit_ns; /* 0: none */
  int32_t threads;       /* 0 and 1: one. With more, they call the memory hook at once */
} plim_pack_options;

/* As small as possible, without a time limit, on one thread. */
plim_pack_options plim_pack_options_default(void);

typedef struct plim_pack_solution {
  int64_t packed_bytes; /* largest offset + bytes */
  int64_t first_fit;    /* packed size of the best first-fit order */
  int64_t peak_bytes;   /* largest sum of live bytes: no packing is smaller */
  int64_t bound;        /* bytes; proven: no packing is smaller; >= peak_bytes */
  int32_t proved;       /* 1: no packing is smaller than this one */
} plim_pack_solution;

/* Pack boxes, and check the packing.
 *   offset    [n] out  bytes; 0 for boxes of no bytes
 *   solution  [1] out
 * With a capacity it ends at the first packing within it. Without one it ends when the packing is proved smallest, at
 * the time limit, or when the context is cancelled; the best so far is kept.
 * No search reads hints. Once all boxes are packed, a box moves to its hint where that is free, or changes places with
 * an equal box there: within the capacity, or without one within the packed size. Of more than 11,585 boxes only the
 * first ones move.
 * PLIM_EUSAGE: options of another size, or a box that is not allowed. PLIM_ENOFIT: no packing within the capacity; the
 * sentence says whether that is proven. PLIM_ECANCEL: cancelled before a packing within the capacity was found.
 * Deterministic for a number of threads, when it ends before the time limit. Progress: stage "pack", the packed size as
 * `done`, the bound as `total`. */
PLIM_MUST_USE plim_status plim_pack_solve(plim_context *ctx, const plim_boxes *boxes, const plim_pack_options *options,
                                          int64_t *offset, plim_pack_solution *solution);

/* ==== conflict (conflict.c) ==== */

/* Why boxes do not fit: a few of them that together cannot. */

typedef struct plim_conflict {
  int32_t n;           /* boxes marked; 0: nothing is proven */
  int32_t irreducible; /* 1: without any one of them the others fit */
  int32_t at_once;     /* 1: they are alive together at `time`, and their sum is too large */
  int64_t time;        /* the command, with at_once */
} plim_conflict;

/* Mark boxes that do not fit under `capacity` together: those of one command, where they are too large; where the peak
 * fits, what is left of all boxes when one after the other is dropped as long as the rest is proven not to fit.
 *   nodes        in   limit on exact search, over all proofs
 *   member  [n]  out  1: one of them
 * Deterministic. O(n log n) when the peak is too large; else the searches. */
PLIM_MUST_USE plim_status plim_boxes_conflict(plim_context *ctx, const plim_boxes *boxes, int64_t capacity,
                                              int64_t nodes, uint8_t *member, plim_conflict *out);

#ifdef __cplusplus
}
#endif
#endif

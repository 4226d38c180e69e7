/* Packing: buffers with lifetimes to offsets in one arena, in a number of rounds or with all searches; a validator; and
 * why boxes do not fit. The packers and the validator share one rule alone, which two boxes may lie together
 * (plim_boxes_separation).
 *
 * Boxes are only read. One call at a time on a context; several contexts may pack the same boxes at once. On failure
 * outputs are untouched. PLIM_ENOMEM is possible everywhere. */
#ifndef PLIM_PLANNER_PACK_PACK_H
#define PLIM_PLANNER_PACK_PACK_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ==== boxes (boxes.c) ==== */

typedef struct plim_box {
  int64_t begin, end; /* lifetime, half-open, in commands; begin < end */
  int64_t bytes;      /* > 0 */
  int64_t fixed;      /* the offset that it must have, a multiple of its alignment; -1: any */
} plim_box;

/* In commands [begin, end) a box occupies only [low, high) of its bytes; low == high: nothing. */
typedef struct plim_pack_gap {
  int64_t begin, end;
  int64_t low, high;
} plim_pack_gap;

/* Sizes, fixed offsets, and the least common multiples of `align` and each own alignment, together stay below 2^62. */
typedef struct plim_boxes {
  int32_t n;
  int64_t align;            /* > 0; every size is rounded up to a multiple, every offset is one */
  const plim_box *box;      /* [n] */
  const int64_t *own_align; /* [n] offsets are multiples of these as well; NULL: none */
  const int64_t *hint;      /* [n] preferred offsets, -1: none; NULL: none. Only plim_pack_solve reads them */
  const int32_t *gap_first; /* [n + 1] gaps of box b: gap[gap_first[b] .. gap_first[b + 1]), in order of time, apart */
  const plim_pack_gap *gap; /* NULL: no gaps at all, gap_first is not read */
} plim_boxes;

/* Separation of two boxes: the least distance of their bottoms, in bytes, when `below` lies under `above`. So it lies
 * under it where its offset + separation <= the offset of `above`. PLIM_NO_SEPARATION: they are never live together.
 * O(gaps of both). */
#define PLIM_NO_SEPARATION INT64_MIN
int64_t plim_boxes_separation(const plim_boxes *boxes, int32_t below, int32_t above);

/* Bytes of box b in use at a command; 0 outside of its lifetime. O(gaps of b). */
int64_t plim_boxes_bytes_at(const plim_boxes *boxes, int32_t b, int64_t time);

/* ==== pack (pack.c) ==== */

/* When a packing is good enough, and how often plim_pack may try. All 0: the first-fit orders alone. */
typedef struct plim_pack_goal {
  int64_t target_bytes; /* a packing of this size ends the work; 0: as small as possible */
  int32_t rounds;       /* packing rounds after the first-fit orders */
  int64_t deadline_ns;  /* by plim_now_ns: no new order is tried after it; 0: none */
} plim_pack_goal;

/* Assign arena offsets so that boxes whose lifetimes overlap never overlap in space.
 *   offset        [n] out  bytes
 *   packed_bytes  [1] out  largest offset + bytes
 *   peak_bytes    [1] out  largest sum of live bytes, which no packing is below; may be NULL
 * A round packs from the bottom up, or repairs the best order where that is not possible. Then comes exact search in
 * proportion to the rounds; with a target all of it is for the target. It takes up to 4,096 boxes, or 1,024 where gaps
 * leave parts of boxes, and is left out where the rounds give it fewer than 2 n nodes.
 * PLIM_EUSAGE: a box that is not allowed. PLIM_ECANCEL: cancelled.
 * A first-fit order takes O(n^2), or O(n log n + pairs that overlap in time x log n) for many boxes; a packing from the
 * bottom up O(n^2) at worst, exact search up to O(rounds) nodes of O(n) each. O(n) bytes of memory, and for exact
 * search O(n^2): 200 MB at most. Deterministic without a deadline.
 * Source of the first-fit orders and the exact search: Moffitt, MiniMalloc, ASPLOS 2023. */
PLIM_MUST_USE plim_status plim_pack(plim_context *ctx, const plim_boxes *boxes, plim_pack_goal goal, int64_t *offset,
                                    int64_t *packed_bytes, int64_t *peak_bytes);

/* ==== validate (validate.c) ==== */

/* Is a packing valid? The code shares with the packers only plim_boxes_separation, the rule of two boxes with gaps. */

/* Find two boxes that overlap in time and space.
 *   offset  [n] in   bytes; boxes of no bytes or with a negative offset are left out
 *   pair    [2] out  their indices, the lower one first; pair[0] = -1: there are none
 * O(n log n), and O(n) for each box with gaps. Deterministic. */
PLIM_MUST_USE plim_status plim_boxes_find_overlap(plim_context *ctx, const plim_boxes *boxes, const int64_t *offset,
                                                  int32_t pair[2]);

/* Check a packing by all rules. Offsets are not negative, multiples of the alignments, and the fixed ones where there
 * are. Tops are within `capacity` bytes. Nothing overlaps. packed_bytes is the largest top. Boxes of no bytes may lie
 * anywhere.
 *   offset  [n] in  bytes
 * PLIM_EPLAN with the box and the numbers. Cost as plim_boxes_find_overlap. */
PLIM_MUST_USE plim_status plim_boxes_check(plim_context *ctx, const plim_boxes *boxes, const int64_t *offset,
                                           int64_t capacity, int64_t packed_bytes);

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
 * an equal box there: within the capacity, or without one within the packed size. Where boxes x hints exceed 2^27,
 * only the first hints are followed.
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

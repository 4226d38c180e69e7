/* What the files of exact packing share. exact.c searches, exact_new.c prepares a problem, exact_order.c numbers the
 * boxes of a restart; box_pairs.c takes over where gaps leave parts of boxes. Callers read packers.h. */
#ifndef PLIM_PLANNER_PACK_EXACT_INTERNAL_H
#define PLIM_PLANNER_PACK_EXACT_INTERNAL_H

#include "planner/pack/packers.h"
#include "runtime/base/array.h"

/* ==== pairs (box_pairs.c) ==== */

/* Exact packing where gaps leave parts of boxes: a search over which box of a pair lies below. */

typedef struct plim_pairs plim_pairs;

/* *out is NULL when more than PLIM_PAIRS_MAX pairs of boxes are there together. O(n^2). */
enum { PLIM_PAIRS_MAX = 8192 };
PLIM_MUST_USE plim_status plim_pairs_new(const plim_units *units, plim_pairs **out);
void plim_pairs_free(plim_pairs *pairs); /* NULL is legal */

/* Search under a capacity in units; a node is a pass over all pairs. offset [n] in units is set when found. Whatever
 * boxes have, IMPOSSIBLE is a proof. *nodes: how many were used. */
plim_pack_outcome plim_pairs_run(plim_pairs *pairs, int64_t capacity, const plim_exact_limits *limits, int64_t *offset,
                                 int64_t *nodes);

/* ==== the state (exact_new.c, exact_order.c) ==== */

/* A static order sorts by three keys, all descending. */
enum { PLIM_KEY_LENGTH, PLIM_KEY_AREA, PLIM_KEY_TOTAL, PLIM_KEYS };

enum { PLIM_LANES = 8 /* section floors that are computed at a time */ };

typedef struct plim_ranked {
  double key[PLIM_KEYS];
  int32_t box;
} plim_ranked;

/* An unplaced box. */
typedef struct plim_pack_waiting_box {
  int32_t least, low; /* units; see exact.c */
  int32_t box;        /* its number in the static order */
} plim_pack_waiting_box;

/* A part of the problem: sections [first, last), and its unplaced boxes, sorted by (least, box). */
typedef struct plim_pack_part {
  plim_pack_waiting_box *waiting;
  int32_t n, first, last;
} plim_pack_part;

/* Room for lists of nodes. */
typedef struct plim_pack_chunk {
  plim_pack_waiting_box *boxes; /* [chunk_boxes]; NULL: not needed so far */
} plim_pack_chunk;

/* Where the next list goes: a box of a chunk. */
typedef struct plim_pack_mark {
  int32_t chunk, box;
} plim_pack_mark;

/* An entry of the stack: a node, or the parts into which a node falls. */
typedef struct plim_pack_frame {
  plim_pack_part part;
  plim_pack_mark top; /* lists from here on are of the frames above */
  int32_t is_split;   /* 1: the parts into which a node falls; 0: a node */
  int32_t at;    /* of a node: the box that lies at its lowest place; of a split: the end of the one being solved */
  int32_t done;  /* of a split: sections before it are solved */
  uint64_t hash; /* of a node */
} plim_pack_frame;

typedef struct plim_pack_shape {
  int32_t first, last; /* sections, from the first span to the last */
  int32_t size, fixed, align;
  int16_t section_floor; /* size in units of section floors */
  const int16_t *mask;   /* [lanes] -1: in the section */
} plim_pack_shape;

struct plim_exact {
  const plim_units *units;
  plim_sections sections;
  int32_t n, words, lanes; /* lanes: sections rounded up to PLIM_LANES */
  int32_t capacity;
  int shift;              /* a unit of section floors is 2^shift units */
  double *total;          /* [n] largest sum of boxes alive in a section of the box */
  plim_ranked *order;     /* [n] the static order: box of each number */
  int32_t *number;        /* [n] of each box */
  plim_pack_shape *shape; /* [n] by number */
  int16_t *mask;          /* [n][lanes] by box */
  uint64_t *together;     /* [n][words] by box: bit y of row x: they are there together */
  uint64_t *over;         /* [n][words] the same by number */
  uint64_t *raised;       /* [words] scratch */
  int32_t *separation;    /* [n][n] by box; NULL without partial gaps */
  plim_pairs *pairs;      /* NULL without partial gaps, and where there are too many */
  int32_t *place;         /* [n] by number */
  int32_t *crossing;      /* [n_sections] unplaced boxes that span the border to the next section */
  int16_t *section_floor; /* [lanes] scratch */
  int32_t *rivals;        /* [n_sections] scratch */
  int64_t *blame;         /* [n] by box: how often nothing else fitted once it lay at its lowest place */
  plim_pack_chunk *chunk; /* [n_chunks] */
  int32_t n_chunks, chunk_boxes;
  plim_pack_mark top;
  plim_pack_frame *frame; /* [2 n + 1] a node and its split for each box that is placed, and those of the root */
  int32_t depth;
  plim_status status; /* PLIM_ENOMEM: a chunk was refused */
  uint64_t *failed;   /* [n_memo] hashes of failed states */
  int64_t n_memo;     /* a power of two */
  int64_t nodes;
  const plim_exact_limits *limits;
  int32_t stopped;
  plim_block block; /* memory of the arrays above, but for the lists in chunks */
};

/* Number the boxes by the static order of a restart: order, number, shape, over. */
void plim_exact_order(plim_exact *exact, int32_t restart);

#endif

/* Exact search for a packing, pair by pair where buffers have gaps: what packers call, and what its files share. */
#ifndef PLIM_PLANNER_PACK_EXACT_H
#define PLIM_PLANNER_PACK_EXACT_H

#include "planner/pack/units.h"
#include "runtime/base/array.h"

/* ==== the search (exact.c, exact_new.c, exact_order.c) ==== */

/* Exact packing: a depth-first search over canonical placements.
 *
 * PLIM_PACK_IMPOSSIBLE is a proof but for hashes: states that failed are remembered by 64 bits and not compared. Two
 * of a million states collide with a probability of about 3 in 100 million. */

typedef enum plim_pack_outcome {
  PLIM_PACK_FOUND,      /* offsets are set */
  PLIM_PACK_IMPOSSIBLE, /* proved: no packing under the capacity */
  PLIM_PACK_LIMIT       /* neither, within the limits */
} plim_pack_outcome;

/* The problem prepared for searches, and what they have learned. One thread at a time. */
typedef struct plim_exact plim_exact;

typedef struct plim_exact_limits {
  int64_t nodes;       /* placements tried */
  int64_t deadline_ns; /* INT64_MAX: none */
} plim_exact_limits;

/* `nodes`: about how many will be used; failed states are remembered accordingly. PLIM_EUNSUPPORTED for more than
 * PLIM_EXACT_MAX boxes, or PLIM_EXACT_MAX_WITH_GAPS where gaps leave parts of boxes. O(n^2) time. Memory: n^2 / 4
 * bytes and 2 n bytes a step for masks, and for lists 12 bytes an unplaced box of every node on the way down, as they
 * are needed: up to 200 MB at 4,096 boxes. Nothing is nested as deep as boxes are placed: a thread with little stack
 * will do. */
enum {
  PLIM_EXACT_MAX = 4096,                         /* boxes */
  PLIM_EXACT_MAX_WITH_GAPS = PLIM_EXACT_MAX / 4, /* boxes, where gaps leave parts of them: n^2 separations */
  PLIM_EXACT_UNITS = 1 << 29                     /* capacities are below */
};
PLIM_MUST_USE plim_status plim_exact_new(const plim_units *units, int64_t nodes, plim_exact **out);
void plim_exact_free(plim_exact *exact); /* NULL is legal */

/* One search.
 *   capacity  in   units
 *   restart   in   number of the restart, which decides the static order (exact_order.c)
 *   offset    [n] out  units; set when the outcome is FOUND
 *   nodes     [1] out  nodes used
 * PLIM_PACK_LIMIT: a limit or a cancel ended it, or the capacity is PLIM_EXACT_UNITS or more. Where gaps leave parts of
 * boxes, only a search by pairs can return IMPOSSIBLE. Deterministic in the arguments and the calls before, unless the
 * deadline ends it. */
plim_pack_outcome plim_exact_run(plim_exact *exact, int64_t capacity, int32_t restart, const plim_exact_limits *limits,
                                 int64_t *offset, int64_t *nodes);

/* PLIM_ENOMEM when a search ended because its lists had no memory: its outcome was PLIM_PACK_LIMIT. */
plim_status plim_exact_status(const plim_exact *exact);

/* Nodes of a restart: they grow by half from round to round of the three static orders. */
int64_t plim_exact_share(int32_t n, int32_t restart);

/* Restart after restart, until one is decided, the nodes are used up, or the deadline is over. PLIM_ECANCEL: the
 * context was cancelled. */
PLIM_MUST_USE plim_status plim_exact_search(plim_exact *exact, int64_t capacity, int64_t nodes, int64_t deadline_ns,
                                            int64_t *offset, plim_pack_outcome *outcome);

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

/* ==== its parts (exact_order.c) ==== */

/* The state of exact packing, for its own files: exact_new.c prepares it, exact_order.c numbers the boxes of a restart,
 * exact.c searches. */

/* A static order sorts by three keys, all descending. */
enum { PLIM_KEY_LENGTH, PLIM_KEY_AREA, PLIM_KEY_TOTAL, PLIM_KEYS };

enum { PLIM_WORD = 64, PLIM_LANES = 8 };

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
  int is_split;       /* 1: the parts into which a node falls; 0: a node */
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
  int32_t *separation;    /* [n][n] by box, NULL without windows */
  plim_pairs *pairs;      /* NULL without windows, and where there are too many */
  int32_t *place;         /* [n] by number */
  int32_t *cut;           /* [n_sections] unplaced boxes over the border to the next section */
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
  int stopped;
  plim_block block; /* memory of the arrays above, but for the lists in chunks */
};

/* Number the boxes by the static order of a restart: order, number, shape, over. */
void plim_exact_order(plim_exact *exact, int32_t restart);

#endif

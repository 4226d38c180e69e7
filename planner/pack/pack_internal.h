/* The packers' parts, each with its own section below: units, first-fit, bottom-up packing, skyline packing, exact
 * search with its pairs and sections, niche search, selections, restarts, conflicts. All of them work on boxes in units
 * of the alignment. */
#ifndef PLIM_PLANNER_PACK_PACK_INTERNAL_H
#define PLIM_PLANNER_PACK_PACK_INTERNAL_H

#include "planner/pack/pack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ==== units ==== */

/* Boxes in units of the alignment: what all packers work on. */

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

/* ==== fit ==== */

/* First-fit and best-fit: place boxes one after the other in a given order. */

/* What placing needs besides the boxes; used again from order to order. */
typedef struct plim_fit plim_fit;

PLIM_MUST_USE plim_status plim_fit_new(const plim_units *units, plim_fit **out);
void plim_fit_free(plim_fit *fit); /* NULL is legal */

/* Place the boxes in `order`, each at the lowest free offset (first-fit) or in the tightest gap (best_fit 1); fixed
 * ones keep their offset and are placed first, then those whose hint is free and the top there not above `hint_limit`
 * (negative: no hints). Writes offsets in units, returns the packed size; with `may_stop` INT64_MAX, offsets then
 * without meaning, when the context's effort is over. Plain boxes are searched in a list, O(n^2) with a small constant;
 * others, and very many, in a tree over time, O(n log n + pairs that overlap in time x log). */
int64_t plim_fit_run(plim_fit *fit, const int32_t *order, int best_fit, int64_t hint_limit, int may_stop,
                     int64_t *offset);

/* ==== bottom up ==== */

/* Bottom-up packing: place boxes in nondecreasing order of offset, each as low as those below allow.
 */

typedef struct plim_bottom_up plim_bottom_up;

/* Boxes that this can pack: plain, none fixed, not too many. */
int plim_bottom_up_can(const plim_units *units);

PLIM_MUST_USE plim_status plim_bottom_up_new(const plim_units *units, plim_bottom_up **out);
void plim_bottom_up_free(plim_bottom_up *bottom_up); /* NULL is legal */

/* Pack once more: a few fixed priorities first, then what the best of them learns by random changes. offset [n] in
 * units; returns the packed size, or INT64_MAX, offsets then without meaning, once it is above that of the best call
 * before, and when the context's effort is over. `goal`: the next priorities move boxes that end above it forward.
 * Deterministic, depends on the calls before. O(n^2 / 32), and n for each group of 32 boxes that begin at about the
 * same time as another is alive: O(n^2) at worst.
 */
int64_t plim_bottom_up_run(plim_bottom_up *bottom_up, int64_t goal, int64_t *offset);

/* ==== skyline ==== */

/* Packing in O(n log n), for what has to be packed when there is no time: each box in turn lies on whatever is highest
 * among the boxes placed before that overlap it in time, so holes below stay empty. */

typedef struct plim_skyline plim_skyline;

PLIM_MUST_USE plim_status plim_skyline_new(const plim_units *units, plim_skyline **out);
void plim_skyline_free(plim_skyline *skyline); /* NULL is legal */

/* May it pack these? Not boxes with fixed offsets. Gaps are packed as if they were not there, hints are not read. */
int plim_skyline_can(const plim_units *units);

/*   order   [n] in
 *   offset  [n] out  in units
 * Returns the packed size in units. O(n log n), deterministic. */
int64_t plim_skyline_run(plim_skyline *skyline, const int32_t *order, int64_t *offset);

/* ==== exact ==== */

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
 * PLIM_EXACT_MOST boxes, or a quarter of that where gaps leave parts of boxes. O(n^2) time. Memory: n^2 / 4 bytes and
 * 2 n bytes a step for masks, and for lists 12 bytes an unplaced box of every node on the way down, as they are needed:
 * up to 200 MB at 4,096 boxes. Nothing is nested as deep as boxes are placed: a thread with little stack will do. */
enum { PLIM_EXACT_MOST = 4096, PLIM_EXACT_UNITS = 1 << 29 };
PLIM_MUST_USE plim_status plim_exact_new(const plim_units *units, int64_t nodes, plim_exact **out);
void plim_exact_free(plim_exact *exact); /* NULL is legal */

/* One search.
 *   capacity  in   units
 *   turn      in   number of the restart, which decides the static order (exact_order.c)
 *   offset    [n] out  units; set when the outcome is FOUND
 *   nodes     [1] out  nodes used
 * PLIM_PACK_LIMIT: a limit or a cancel ended it, or the capacity is PLIM_EXACT_UNITS or more. Where gaps leave parts of
 * boxes, only a search by pairs can return IMPOSSIBLE. Deterministic in the arguments and the calls before, unless the
 * deadline ends it. */
plim_pack_outcome plim_exact_run(plim_exact *exact, int64_t capacity, int32_t turn, const plim_exact_limits *limits,
                                 int64_t *offset, int64_t *nodes);

/* PLIM_ENOMEM when a search ended because its lists had no memory: its outcome was PLIM_PACK_LIMIT. */
plim_status plim_exact_status(const plim_exact *exact);

/* Nodes of a restart: they grow by half from round to round of the three static orders. */
int64_t plim_exact_share(int32_t n, int32_t turn);

/* Restart after restart, until one is decided, the nodes are used up, or the deadline is over. PLIM_ECANCEL: the
 * context was cancelled. */
PLIM_MUST_USE plim_status plim_exact_search(plim_exact *exact, int64_t capacity, int64_t nodes, int64_t deadline_ns,
                                            int64_t *offset, plim_pack_outcome *outcome);

/* ==== pairs ==== */

/* Exact packing where gaps leave parts of boxes: a search over which box of a pair lies below. */

typedef struct plim_pairs plim_pairs;

/* *out is NULL when more than PLIM_PAIRS_MOST pairs of boxes are there together. O(n^2). */
enum { PLIM_PAIRS_MOST = 8192 };
PLIM_MUST_USE plim_status plim_pairs_new(const plim_units *units, plim_pairs **out);
void plim_pairs_free(plim_pairs *pairs); /* NULL is legal */

/* Search under a capacity in units; a node is a pass over all pairs. offset [n] in units is set when found. Whatever
 * boxes have, IMPOSSIBLE is a proof. *nodes: how many were used. */
plim_pack_outcome plim_pairs_run(plim_pairs *pairs, int64_t capacity, const plim_exact_limits *limits, int64_t *offset,
                                 int64_t *nodes);

/* ==== sections ==== */

/* Sections of a packing problem: the maximal sets of boxes there together, in time order. */

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

/* ==== niche ==== */

/* Niche search: exact search for tight problems (niche.c). IMPOSSIBLE is a proof but for hashes, as above. One thread
 * at a time. Memory: about 40 n^2 bytes. */

typedef struct plim_niche plim_niche;

/* Boxes that it can pack: plain, none fixed, at most PLIM_NICHE_MOST. */
enum { PLIM_NICHE_MOST = 1024 };
int plim_niche_can(const plim_units *units);

PLIM_MUST_USE plim_status plim_niche_new(const plim_units *units, plim_niche **out);
void plim_niche_free(plim_niche *niche); /* NULL is legal */

/* One restart, as plim_exact_run; offsets are in units and without meaning unless the outcome is FOUND. */
plim_pack_outcome plim_niche_run(plim_niche *niche, int64_t capacity, int32_t turn, const plim_exact_limits *limits,
                                 int64_t *offset, int64_t *nodes);

/* Nodes of all restarts that the memo failed. */
int64_t plim_niche_recognised(const plim_niche *niche);

/* Nodes of a restart. */
int64_t plim_niche_share(int32_t turn);

/* ==== selection ==== */

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

/* ==== exact internal ==== */

/* The state of exact packing, for its own files: exact_new.c prepares it, exact_order.c numbers the boxes of a turn,
 * exact.c searches. */

/* A static order sorts by three keys, all descending. */
enum { PLIM_KEY_LENGTH, PLIM_KEY_AREA, PLIM_KEY_TOTAL, PLIM_KEYS };

enum { PLIM_WORD = 64, PLIM_LANES = 8 };

typedef struct plim_ranked {
  double key[PLIM_KEYS];
  int32_t box;
} plim_ranked;

/* An unplaced box. */
typedef struct plim_pack_item {
  int32_t least, low; /* units; see exact.c */
  int32_t box;        /* its number in the static order */
} plim_pack_item;

/* A part of the problem: sections [first, last), and its unplaced boxes, sorted by (least, box). */
typedef struct plim_pack_part {
  plim_pack_item *item;
  int32_t n, first, last;
} plim_pack_part;

/* Room for lists of nodes. */
typedef struct plim_pack_chunk {
  plim_pack_item *items; /* [chunk_items]; NULL: not needed so far */
} plim_pack_chunk;

/* Where the next list goes: an item of a chunk. */
typedef struct plim_pack_mark {
  int32_t chunk, item;
} plim_pack_mark;

/* An entry of the stack: a node, or the parts into which a node falls. */
typedef struct plim_pack_frame {
  plim_pack_part p;
  plim_pack_mark top; /* lists from here on are of the frames above */
  int pieces;         /* 0: a node */
  int32_t at;    /* of a node: the item that lies at its lowest place; of pieces: the end of the one being solved */
  int32_t done;  /* of pieces: sections before it are solved */
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
  plim_pack_chunk *chunk; /* [most_chunks] */
  int32_t most_chunks, chunk_items;
  plim_pack_mark top;
  plim_pack_frame *frame; /* [2 n + 1] a node and its pieces for each box that is placed, and those of the root */
  int32_t depth;
  plim_status status; /* PLIM_ENOMEM: a chunk was refused */
  uint64_t *failed;   /* [n_memo] hashes of failed states */
  int64_t n_memo;     /* a power of two */
  int64_t nodes;
  const plim_exact_limits *limits;
  int stopped;
};

/* Number the boxes by the static order of a turn: order, number, shape, over. */
void plim_exact_order(plim_exact *exact, int32_t turn);

/* ==== restarts ==== */

/* Searches side by side: a batch of tasks, one a thread. */

typedef struct plim_restarts plim_restarts;

typedef struct plim_pack_restart {
  int64_t capacity; /* in units */
  int32_t restart;  /* of plim_exact_run */
  plim_exact_limits limits;
  plim_pack_outcome outcome;
  int64_t *offset; /* [n] in units, owned by the turns, valid until the next batch */
  int64_t nodes;   /* used */
} plim_pack_restart;

PLIM_MUST_USE plim_status plim_restarts_new(const plim_units *units, int32_t threads, plim_restarts **out);
void plim_restarts_free(plim_restarts *restarts); /* NULL is legal */

/* Run up to `threads` tasks at once; task i always on the same of the searchers, so that results depend on the tasks
 * and on the batches before alone. PLIM_ENOMEM when one of them ended for lack of memory. */
PLIM_MUST_USE plim_status plim_restarts_run(plim_restarts *restarts, plim_pack_restart *task, int32_t n);

/* ==== conflict ==== */

/* Why boxes do not fit: a few of them that together cannot. */

typedef struct plim_conflict {
  int32_t n;           /* boxes marked; 0: nothing is proven */
  int32_t irreducible; /* 1: without any one of them the others fit */
  int32_t at_once;     /* 1: they are alive together at `time`, and their sum is too large */
  int64_t time;
} plim_conflict;

/* Mark boxes that do not fit under `capacity` together: too much at one step, or, when the peak fits, what remains of
 * all boxes after dropping one after the other as long as the rest is proven not to fit.
 *   nodes        in   limit on exact search, over all proofs
 *   member  [n]  out  1: one of them
 * Deterministic. O(n log n) when the peak is too large; else the searches. */
PLIM_MUST_USE plim_status plim_boxes_conflict(plim_context *ctx, const plim_boxes *boxes, int64_t capacity,
                                              int64_t nodes, uint8_t *member, plim_conflict *out);

#ifdef __cplusplus
}
#endif
#endif

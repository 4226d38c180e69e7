/* The packers: each tries to place the boxes of a problem in its own way. They share boxes in units of their alignment,
 * sections of time, and selections of boxes. pack.c and solve.c decide which of them run, and for how long.
 *
 *   first-fit   box after box in a given order, each at the lowest free offset
 *   skyline     the same on top of what is there, O(n log n)
 *   bottom-up   the lowest place first; boxes that stick out come earlier the next time
 *   exact       depth-first search: a packing under a capacity, or a proof that there is none
 *   niche       the same for tight problems, where almost nothing may stay empty
 *   restarts    exact searches side by side, one a thread */
#ifndef PLIM_PLANNER_PACK_PACKERS_H
#define PLIM_PLANNER_PACK_PACKERS_H

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
  int32_t is_plain;         /* 1: no gaps, no alignments of single boxes */
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

/* Some of the boxes, as a problem of its own with the largest unit that loses nothing. It has no hints. */

typedef struct plim_selection {
  plim_context *ctx;
  const plim_boxes *from;
  plim_boxes boxes;  /* the arrays below; align: the unit */
  int32_t *original; /* [boxes.n] the box of `from` */
  plim_box *box;
  int64_t *own_align;
  int32_t *gap_first;
  plim_pack_gap *gap;
} plim_selection;

/* Those boxes that have bytes and, when wanted is not NULL, a mark. O(n), and a few times n when alignments differ. */
PLIM_MUST_USE plim_status plim_selection_make(plim_context *ctx, const plim_boxes *from, const uint8_t *wanted,
                                              plim_selection *out);
void plim_selection_free(plim_selection *selection);

/* ==== first-fit (fit.c) ==== */

/* First-fit and best-fit: place boxes one after the other in a given order. */

/* What placing needs besides the boxes; used again from order to order. */
typedef struct plim_fit plim_fit;

PLIM_MUST_USE plim_status plim_fit_new(const plim_units *units, plim_fit **out);
void plim_fit_free(plim_fit *fit); /* NULL is legal */

/* Place the boxes in `order`, each at the lowest free offset (first-fit) or in the tightest gap (best_fit 1); fixed
 * ones keep their offset and are placed first. Writes offsets in units, returns the packed size; with `may_stop`
 * INT64_MAX, offsets then without meaning, when the context's effort is over. Plain boxes are searched in a list,
 * O(n^2) with a small constant; others, and very many, in a tree over time, O(n log n + pairs that overlap in time x
 * log). */
int64_t plim_fit_run(plim_fit *fit, const int32_t *order, int best_fit, int may_stop, int64_t *offset);

/* ==== skyline (skyline.c) ==== */

/* Packing in O(n log n), for what has to be packed when there is no time: each box in turn lies on whatever is highest
 * among the boxes placed before that overlap it in time, so holes below stay empty. */

typedef struct plim_skyline plim_skyline;

PLIM_MUST_USE plim_status plim_skyline_new(const plim_units *units, plim_skyline **out);
void plim_skyline_free(plim_skyline *skyline); /* NULL is legal */

/* May it pack these? Not boxes with fixed offsets. Gaps are packed as if they were not there. */
int plim_skyline_can(const plim_units *units);

/*   order   [n] in
 *   offset  [n] out  in units
 * Returns the packed size in units. O(n log n), deterministic. */
int64_t plim_skyline_run(plim_skyline *skyline, const int32_t *order, int64_t *offset);

/* ==== bottom-up (bottom_up.c) ==== */

/* Bottom-up packing: place boxes in nondecreasing order of offset, each as low as those below allow. */

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

/* ==== exact search (exact.c) ==== */

/* Exact packing: a depth-first search over canonical placements. Is there a packing under a capacity?
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
int plim_exact_can(const plim_units *units); /* Are there few enough boxes? */
void plim_exact_free(plim_exact *exact);     /* NULL is legal */

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

/* Restart after restart, until one is decided or the nodes are used up.
 *   nodes  [1] in out  what is left of them
 * PLIM_ECANCEL: the context was cancelled, or its deadline is over. */
PLIM_MUST_USE plim_status plim_exact_search(plim_exact *exact, int64_t capacity, int64_t *nodes, int64_t *offset,
                                            plim_pack_outcome *outcome);

/* ==== niche search (niche.c) ==== */

/* Niche search: exact search for tight problems (niche.c). IMPOSSIBLE is a proof but for hashes, as it is there.
 * One thread at a time. Memory: up to about 110 n^2 bytes. */

typedef struct plim_niche plim_niche;

/* Boxes that it can pack: plain, none fixed, at most PLIM_NICHE_MAX. */
enum { PLIM_NICHE_MAX = 1024 };
int plim_niche_can(const plim_units *units);

PLIM_MUST_USE plim_status plim_niche_new(const plim_units *units, plim_niche **out);
void plim_niche_free(plim_niche *niche); /* NULL is legal */

/* One restart, as plim_exact_run; offsets are in units and without meaning unless the outcome is FOUND. */
plim_pack_outcome plim_niche_run(plim_niche *niche, int64_t capacity, int32_t restart, const plim_exact_limits *limits,
                                 int64_t *offset, int64_t *nodes);

/* Nodes of a restart: a number of nodes times Luby's sequence. */
int64_t plim_niche_share(int32_t restart);

/* ==== restarts (restarts.c) ==== */

/* Searches side by side: a batch of tasks, one a thread. */

typedef struct plim_restarts plim_restarts;

typedef struct plim_pack_restart {
  int64_t capacity; /* in units */
  int32_t restart;  /* of plim_exact_run */
  plim_exact_limits limits;
  plim_pack_outcome outcome;
  int64_t *offset; /* [n] in units, owned by the restarts, valid until the next batch */
  int64_t nodes;   /* used */
} plim_pack_restart;

PLIM_MUST_USE plim_status plim_restarts_new(const plim_units *units, int32_t threads, plim_restarts **out);
void plim_restarts_free(plim_restarts *restarts); /* NULL is legal */

/* Run up to `threads` tasks at once; task i always on the same of the searchers, so that results depend on the tasks
 * and on the batches before alone. PLIM_ENOMEM when one of them ended for lack of memory. */
PLIM_MUST_USE plim_status plim_restarts_run(plim_restarts *restarts, plim_pack_restart *task, int32_t n);

#endif

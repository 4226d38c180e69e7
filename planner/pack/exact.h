/* Exact search for a packing, pair by pair where buffers have gaps. */
#ifndef PLIM_PLANNER_PACK_EXACT_H
#define PLIM_PLANNER_PACK_EXACT_H

#include "planner/pack/units.h"

/* ==== boxes ==== */

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

#endif

/* A large neighbourhood solved exactly: a stretch of the sequence.
 *
 * The runs in a stretch of neighbours are taken out, and the fastest sequence of runs is found that may stand in their
 * stead: first runs in any order that the problem allows, any op of the stretch or behind its inputs made again any
 * number of times, no step above the limit, and at the end everything resident that is read later. What is outside
 * stays as it is. Variants stay too. */
#ifndef PLIM_PLANNER_STRETCH_H
#define PLIM_PLANNER_STRETCH_H

#include "planner/search/moves.h"

enum { PLIM_STRETCH_OPS = 24, PLIM_STRETCH_ITEMS = 64, PLIM_STRETCH_NODES = 4096 };

/* Ops and items of the stretch are numbered from 0; sets of them are masks. */
typedef struct plim_stretch_op {
  int32_t op, choice;
  int64_t time_ns, workspace_bytes;
  uint64_t reads, writes; /* items */
  uint32_t after;         /* ops of the stretch whose first runs come before */
  uint32_t until;         /* it may not run behind the first runs of these */
  int is_first;           /* 1: its first run is in the stretch, and must be */
  int may_repeat;
} plim_stretch_op;

typedef struct plim_stretch_node {
  uint64_t resident;        /* items */
  uint32_t ran;             /* ops whose first runs were */
  int32_t parent, op;       /* the op that was run last, -1 at the start */
  int64_t time_ns, from_ns; /* of repeats up to here; at least of all when it is done */
} plim_stretch_node;

typedef struct plim_stretch {
  const plim_problem *problem;
  int32_t *op_at, *item_at; /* [n_ops], [n_items] number in the stretch, -1 */
  int32_t begin, next;      /* runs: the first of the stretch, the one behind it (-1: none) */
  int at_head;              /* 1: nothing is in front of it; an input has no life that its first run could end */
  int64_t spare_bytes;      /* of the limit, for the stretch's items and workspaces */
  int32_t n_ops, n_items;
  plim_stretch_op op[PLIM_STRETCH_OPS];
  int32_t item[PLIM_STRETCH_ITEMS];
  int64_t bytes[PLIM_STRETCH_ITEMS];
  int32_t producer[PLIM_STRETCH_ITEMS]; /* op of the stretch, -1 */
  uint64_t entry, exit;                 /* items resident in front of it, and needed behind it */
  uint32_t firsts;                      /* ops */
  /* the search */
  int64_t most_ns, work; /* of repeats: the answer takes less; what is left of the effort */
  int32_t n_nodes, n_heap;
  plim_stretch_node node[PLIM_STRETCH_NODES];
  int32_t heap[PLIM_STRETCH_NODES];
} plim_stretch;

PLIM_MUST_USE plim_status plim_stretch_new(const plim_problem *problem, plim_stretch **out);
void plim_stretch_free(plim_stretch *stretch); /* NULL is legal */

/* Take the `length` runs from `begin` on, fewer at the end of the sequence. The track is settled. 0: there are too many
 * items, or what is alive throughout the stretch is above the limit. O(length x degree). */
int plim_stretch_gather(plim_stretch *stretch, const plim_mover *mover, int32_t begin, int32_t length);

/* The best sequence for the stretch whose repeats take less than `most_ns`: the node at its end, -1 when there is none
 * or the effort was used up, which `work` tells: it is not positive then. Deterministic. */
int32_t plim_stretch_search(plim_stretch *stretch, int64_t most_ns, int64_t work);

/* Replace the runs of the stretch when that makes a schedule faster than `most_ns` with a peak within the mover's
 * limit; returns 1 then, with the change in the journal, else 0 and nothing is changed. */
int plim_stretch_solve(plim_stretch *stretch, plim_mover *mover, int32_t begin, int32_t length, int64_t most_ns,
                       int64_t work);

/* Make a schedule within the limit faster, in at most so many stretches that overlap by half: from the first run on if
 * those are enough for all of them, else from a random one. */
void plim_stretch_improve(plim_stretch *stretch, plim_mover *mover, int32_t length, int32_t stretches);

#endif

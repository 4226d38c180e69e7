/* Levels: how many bytes are alive at each run of a long, changing sequence, and the largest of them.
 *
 * Runs sit in slots, in order, with free slots between them. A run takes `up` bytes when it starts and gives `down`
 * back when it is done: its level is the sum of (up - down) over earlier slots, plus its own up. A tree over blocks of
 * slots keeps sum and largest level of every subtree, so that a change costs O(log slots) and the peak is at the root.
 */
#ifndef PLIM_PLANNER_LEVELS_H
#define PLIM_PLANNER_LEVELS_H

#include "runtime/base/context.h"

enum { PLIM_LEVELS_BLOCK = 8, PLIM_LEVELS_AREAS = 1024 };

typedef struct plim_level_slot {
  int64_t up, down;
} plim_level_slot;

typedef struct plim_level_node {
  int64_t sum, most; /* of (up - down); largest level, counted from the start of the subtree */
} plim_level_node;

typedef struct plim_levels {
  plim_context *ctx;
  int32_t n_slots, n_blocks; /* powers of two */
  int32_t n_areas;           /* of so many parts of the tree the excess is added up; n_blocks: of every run */
  plim_level_slot *slot;     /* [n_slots] */
  uint8_t *used;             /* [n_slots] 1: a run sits there */
  plim_level_node *node;     /* [2 n_blocks] the root is 1, block b is n_blocks + b */
  int32_t *dirty;            /* nodes to compute again, without repeats */
  int32_t n_dirty;
  uint8_t *is_dirty; /* [2 n_blocks] */
} plim_levels;

/* At least `slots` slots, all free. */
PLIM_MUST_USE plim_status plim_levels_new(plim_context *ctx, int32_t slots, plim_levels **out);
void plim_levels_free(plim_levels *levels); /* NULL is legal */
void plim_levels_clear(plim_levels *levels);

/* Change one slot; the tree follows at plim_levels_settle. O(1). */
void plim_levels_add(plim_levels *levels, int32_t slot, int64_t up, int64_t down);
void plim_levels_mark(plim_levels *levels, int32_t slot);
void plim_levels_settle(plim_levels *levels); /* O(changed slots x log slots) */

/* For a settled tree, counting from `base` bytes before the first slot: */
int64_t plim_levels_peak(const plim_levels *levels, int64_t base);
int64_t plim_levels_at(const plim_levels *levels, int64_t base, int32_t slot);
/* Sum over runs of what exceeds `limit`, INT64_MAX where it is larger. Visits only subtrees that exceed it. In a tree
 * of more than PLIM_LEVELS_AREAS blocks: over parts of the tree of what their highest level exceeds it by, so that a
 * long schedule far above the limit does not cost O(runs). */
int64_t plim_levels_excess(const plim_levels *levels, int64_t base, int64_t limit);
/* A slot whose level exceeds `limit`, -1 when there is none; `random` decides at every fork. */
int32_t plim_levels_find_above(const plim_levels *levels, int64_t base, int64_t limit, uint64_t random);

#endif

/* Memory profile: live bytes at each run of a long, changing sequence, and their peak (a segment tree).
 *
 * Runs sit in slots, in order, with free slots between them. A run takes `up` bytes when it starts and gives `down`
 * back when it is done: its level is the sum of (up - down) over earlier slots, plus its own up. A tree over blocks of
 * slots keeps sum and largest level of every subtree, so that a change costs O(log slots) and the peak is at the root.
 */
#ifndef PLIM_PLANNER_TRACK_MEMORY_PROFILE_H
#define PLIM_PLANNER_TRACK_MEMORY_PROFILE_H

#include "runtime/base/context.h"

enum { PLIM_MEMORY_PROFILE_BLOCK = 8, PLIM_MEMORY_PROFILE_AREAS = 1024 };

typedef struct plim_memory_slot {
  int64_t up, down;
} plim_memory_slot;

typedef struct plim_memory_node {
  int64_t sum, most; /* of (up - down); largest level, counted from the start of the subtree */
} plim_memory_node;

typedef struct plim_memory_profile {
  plim_context *ctx;
  int32_t n_slots, n_blocks; /* powers of two */
  int32_t n_areas;           /* of so many parts of the tree the excess is added up; n_blocks: of every run */
  plim_memory_slot *slot;    /* [n_slots] */
  uint8_t *used;             /* [n_slots] 1: a run sits there */
  plim_memory_node *node;    /* [2 n_blocks] the root is 1, block b is n_blocks + b */
  int32_t *dirty;            /* nodes to recompute, without repeats */
  int32_t n_dirty;
  uint8_t *is_dirty; /* [2 n_blocks] */
} plim_memory_profile;

/* At least `slots` slots, all free. */
PLIM_MUST_USE plim_status plim_memory_profile_new(plim_context *ctx, int32_t slots, plim_memory_profile **out);
void plim_memory_profile_free(plim_memory_profile *memory_profile); /* NULL is legal */
void plim_memory_profile_clear(plim_memory_profile *memory_profile);

/* Change one slot; the tree follows at plim_memory_profile_settle. O(1). */
void plim_memory_profile_add(plim_memory_profile *memory_profile, int32_t slot, int64_t up, int64_t down);
void plim_memory_profile_mark(plim_memory_profile *memory_profile, int32_t slot);
void plim_memory_profile_settle(plim_memory_profile *memory_profile); /* O(changed slots x log slots) */

/* For a settled tree, counting from `base` bytes before the first slot: */
int64_t plim_memory_profile_peak(const plim_memory_profile *memory_profile, int64_t base);
/* Sum over runs of what exceeds `limit`, INT64_MAX where it is larger. Visits only subtrees that exceed it. In a tree
 * of more than PLIM_MEMORY_PROFILE_AREAS blocks: over parts of the tree of what their highest level exceeds it by, so
 * that a long schedule far above the limit does not cost O(runs). */
int64_t plim_memory_profile_excess(const plim_memory_profile *memory_profile, int64_t base, int64_t limit);
/* A slot whose level exceeds `limit`, -1 when there is none; `random` decides at every fork. */
int32_t plim_memory_profile_find_above(const plim_memory_profile *memory_profile, int64_t base, int64_t limit,
                                       uint64_t random);

#endif

/* Live bytes by command, under changes of ranges: one tree, and one of blocks for long schedules. */
#ifndef PLIM_PLANNER_TRACK_MEMORY_PROFILE_H
#define PLIM_PLANNER_TRACK_MEMORY_PROFILE_H

#include "runtime/base/context.h"

/* ==== tree (memory_profile.c) ==== */

/* Memory profile: live bytes at each run of a long, changing sequence, and their peak (a segment tree).
 *
 * Runs sit in slots, in order, with free slots between them. A run takes `up` bytes when it starts and gives `down`
 * back when it is done: its level is the sum of (up - down) over earlier slots, plus its own up. A tree over blocks of
 * slots keeps sum and largest level of every subtree, so that a change costs O(log slots) and the peak is at the root.
 *
 * Example: three runs with up 4, 2, 0 and down 0, 4, 2 have the levels 4, 4 + 2 = 6 and 2. As subtrees of one run they
 * have (sum, largest level) (4, 4), (-2, 2), (-2, 0). Two neighbours join to the sum of both, and the larger of the
 * left level and the left sum plus the right level: the first two to (2, 6), all three to (0, 6). The peak is 6. */

enum { PLIM_MEMORY_PROFILE_BLOCK = 8, PLIM_MEMORY_PROFILE_AREAS = 1024 };

typedef struct plim_memory_slot {
  int64_t up, down;
} plim_memory_slot;

typedef struct plim_memory_node {
  int64_t sum, most; /* of (up - down); largest level, counted from the start of the subtree */
} plim_memory_node;

typedef struct plim_memory_saved {
  int32_t node;
  plim_memory_node value;
} plim_memory_saved;

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
  /* values of nodes before they changed, since plim_memory_profile_keep: so undoing computes nothing */
  plim_memory_saved *saved; /* [n_saved] */
  int32_t n_saved, saves;   /* saves 1: all of them are there */
  int32_t *moved;           /* [n_moved] slots that undoing has filled or left otherwise than they were */
  int32_t n_moved;
} plim_memory_profile;

/* At least `slots` slots, all free. */
PLIM_MUST_USE plim_status plim_memory_profile_new(plim_context *ctx, int32_t slots, plim_memory_profile **out);
void plim_memory_profile_free(plim_memory_profile *memory_profile); /* NULL is legal */
void plim_memory_profile_clear(plim_memory_profile *memory_profile);

/* Change one slot; the tree follows at plim_memory_profile_settle. O(1). */
static inline void plim_memory_profile_mark(plim_memory_profile *memory_profile, int32_t slot) {
  const int32_t node = memory_profile->n_blocks + slot / PLIM_MEMORY_PROFILE_BLOCK;
  if (memory_profile->is_dirty[node]) return;
  memory_profile->is_dirty[node] = 1;
  memory_profile->dirty[memory_profile->n_dirty++] = node;
}

static inline void plim_memory_profile_add(plim_memory_profile *memory_profile, int32_t slot, int64_t up,
                                           int64_t down) {
  memory_profile->slot[slot].up += up;
  memory_profile->slot[slot].down += down;
  plim_memory_profile_mark(memory_profile, slot);
}

void plim_memory_profile_settle(plim_memory_profile *memory_profile); /* O(changed slots x log slots) */

/* Keep all changes so far; or bring the tree back to the last keep, after the caller has brought the slots back.
 * Before, the caller tells of the slots that are not as they were then, or, where these are many, that nothing is
 * known. */
void plim_memory_profile_keep(plim_memory_profile *memory_profile);
void plim_memory_profile_undo(plim_memory_profile *memory_profile);
void plim_memory_profile_moved(plim_memory_profile *memory_profile, int32_t slot);
void plim_memory_profile_forget(plim_memory_profile *memory_profile);

/* For a settled tree, counting from `base` bytes before the first slot: */
int64_t plim_memory_profile_peak(const plim_memory_profile *memory_profile, int64_t base);
/* Sum over runs of what exceeds `limit`, INT64_MAX where it is larger. Visits only subtrees that exceed it. In a tree
 * of more than PLIM_MEMORY_PROFILE_AREAS blocks: over parts of the tree of what their highest level exceeds it by, so
 * that a long schedule far above the limit does not cost O(runs). */
int64_t plim_memory_profile_excess(const plim_memory_profile *memory_profile, int64_t base, int64_t limit);
/* A slot whose level exceeds `limit`, -1 when there is none; `random` decides at every fork. */
int32_t plim_memory_profile_find_above(const plim_memory_profile *memory_profile, int64_t base, int64_t limit,
                                       uint64_t random);

/* ==== blocks (blocked_profile.c) ==== */

/* Blocked memory profile: live bytes at each position of a sequence, changed and summed over ranges, for greedy
 * covering.
 *
 * Positions lie in blocks that know their least, largest and summed level, and what was added to all of them at once.
 * A block that is wholly below, within or above the range asked for is answered without a look at its positions, so
 * that a long span costs O(blocks) where hardly anything in it is near the limit. */

enum { PLIM_BLOCKED_PROFILE_BLOCK = 64 };

typedef struct plim_profile_block {
  int64_t added;                    /* on top of `level` of each of its positions */
  int64_t least, most, above_least; /* without `added`; above_least: sum of level - least, at most INT64_MAX */
} plim_profile_block;

typedef struct plim_blocked_profile {
  plim_context *ctx;
  int32_t capacity, n;       /* positions */
  int64_t *level;            /* [capacity] */
  plim_profile_block *block; /* [capacity / PLIM_BLOCKED_PROFILE_BLOCK + 1] */
} plim_blocked_profile;

/* An empty sequence of at most `capacity` positions. */
PLIM_MUST_USE plim_status plim_blocked_profile_begin(plim_context *ctx, int32_t capacity, plim_blocked_profile *out);
void plim_blocked_profile_end(plim_blocked_profile *blocked_profile);

/* Write level[0, n) first, then call this. O(n). */
void plim_blocked_profile_set(plim_blocked_profile *blocked_profile, int32_t n);

int64_t plim_blocked_profile_at(const plim_blocked_profile *blocked_profile, int32_t at);

/* For positions from < k < to: add bytes to each; or the sum of what its level exceeds `limit` by, but at most `bytes`
 * (>= 0) of each, INT64_MAX where that sum is larger. O(to - from) at most. */
void plim_blocked_profile_add(plim_blocked_profile *blocked_profile, int64_t bytes, int32_t from, int32_t to);
int64_t plim_blocked_profile_excess(const plim_blocked_profile *blocked_profile, int64_t limit, int64_t bytes,
                                    int32_t from, int32_t to);

#endif

/* The tree of levels. Inner nodes are combined bottom-up: a change marks its block; settling computes marked blocks
 * again and combines their ancestors, each once. It ends below a node that keeps its value. */
#include "planner/track/memory_profile.h"

#include <string.h>

#include "runtime/base/integers.h"

enum { SAVED_ROOM = 1024 /* changes of nodes that can be undone; after more the tree is settled */ };

#define NOTHING (-(INT64_C(1) << 62)) /* the largest level of a subtree without runs; sums stay below 2^61 */

plim_status plim_memory_profile_new(plim_context *ctx, int32_t slots, plim_memory_profile **out) {
  plim_memory_profile *profile = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *profile, &profile));
  profile->ctx = ctx;
  profile->n_blocks = 2;
  while (profile->n_blocks < (slots - 1) / PLIM_MEMORY_PROFILE_BLOCK + 1) profile->n_blocks *= 2;
  profile->n_slots = profile->n_blocks * PLIM_MEMORY_PROFILE_BLOCK;
  profile->n_areas = profile->n_blocks < PLIM_MEMORY_PROFILE_AREAS ? profile->n_blocks : PLIM_MEMORY_PROFILE_AREAS;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, profile->n_slots, sizeof *profile->slot, &profile->slot));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, profile->n_slots, sizeof *profile->used, &profile->used));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, 2 * (int64_t)profile->n_blocks, sizeof *profile->node, &profile->node));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, profile->n_blocks, sizeof *profile->dirty, &profile->dirty));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, 2 * (int64_t)profile->n_blocks, sizeof *profile->is_dirty, &profile->is_dirty));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, SAVED_ROOM, sizeof *profile->saved, &profile->saved));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, SAVED_ROOM, sizeof *profile->moved, &profile->moved));
  plim_memory_profile_clear(profile);
  *out = profile;
done:
  if (status != PLIM_OK) plim_memory_profile_free(profile);
  return status;
}

void plim_memory_profile_free(plim_memory_profile *profile) {
  if (!profile) return;
  plim_release(profile->ctx, profile->slot, profile->n_slots, sizeof *profile->slot);
  plim_release(profile->ctx, profile->used, profile->n_slots, sizeof *profile->used);
  plim_release(profile->ctx, profile->node, 2 * (int64_t)profile->n_blocks, sizeof *profile->node);
  plim_release(profile->ctx, profile->dirty, profile->n_blocks, sizeof *profile->dirty);
  plim_release(profile->ctx, profile->is_dirty, 2 * (int64_t)profile->n_blocks, sizeof *profile->is_dirty);
  plim_release(profile->ctx, profile->saved, SAVED_ROOM, sizeof *profile->saved);
  plim_release(profile->ctx, profile->moved, SAVED_ROOM, sizeof *profile->moved);
  plim_release(profile->ctx, profile, 1, sizeof *profile);
}

void plim_memory_profile_clear(plim_memory_profile *profile) {
  memset(profile->slot, 0, (size_t)profile->n_slots * sizeof *profile->slot);
  memset(profile->used, 0, (size_t)profile->n_slots * sizeof *profile->used);
  for (int32_t node = 0; node < 2 * profile->n_blocks; node++) profile->node[node] = (plim_memory_node){0, NOTHING};
  memset(profile->is_dirty, 0, 2 * (size_t)profile->n_blocks * sizeof *profile->is_dirty);
  profile->n_dirty = 0;
  plim_memory_profile_keep(profile);
}

/* Without branches: which slots of a block are used is as good as random. */
static plim_memory_node block_node(const plim_memory_profile *profile, int32_t block) {
  const plim_memory_slot *slot = profile->slot + (int64_t)block * PLIM_MEMORY_PROFILE_BLOCK;
  const uint8_t *used = profile->used + (int64_t)block * PLIM_MEMORY_PROFILE_BLOCK;
  int64_t sum = 0, most = NOTHING;
  for (int32_t i = 0; i < PLIM_MEMORY_PROFILE_BLOCK; i++) {
    int64_t level = sum + slot[i].up, counted = level + (((int64_t)used[i] - 1) & NOTHING);
    most = counted > most ? counted : most;
    sum = level - slot[i].down;
  }
  return (plim_memory_node){sum, most};
}

static plim_memory_node join_nodes(plim_memory_node left, plim_memory_node right) {
  int64_t most = left.sum + right.most;
  return (plim_memory_node){left.sum + right.sum, most > left.most ? most : left.most};
}

/* Give a node its value. Returns 1 where that is another one. */
static int set_node(plim_memory_profile *profile, int32_t node, plim_memory_node value) {
  plim_memory_node *now = &profile->node[node];
  profile->is_dirty[node] = 0;
  if (value.sum == now->sum && value.most == now->most) return 0;
  if (profile->n_saved == SAVED_ROOM) profile->saves = 0;
  if (profile->saves) profile->saved[profile->n_saved++] = (plim_memory_saved){node, *now};
  *now = value;
  return 1;
}

/* Mark the parent of the node, as number `n` of the dirty ones. Returns the number of dirty ones then. */
static int32_t mark_parent(plim_memory_profile *profile, int32_t node, int32_t n) {
  const int32_t parent = node >> 1;
  if (parent == 0 || profile->is_dirty[parent]) return n;
  profile->is_dirty[parent] = 1;
  profile->dirty[n] = parent;
  return n + 1;
}

void plim_memory_profile_settle(plim_memory_profile *profile) {
  int32_t n = 0;
  for (int32_t i = 0; i < profile->n_dirty; i++) {
    const int32_t node = profile->dirty[i];
    if (set_node(profile, node, block_node(profile, node - profile->n_blocks))) n = mark_parent(profile, node, n);
  }
  while (n > 0) { /* dirty nodes are of one depth: the parents of those that changed follow */
    const int32_t now = n;
    n = 0;
    for (int32_t i = 0; i < now; i++) {
      const int32_t node = profile->dirty[i];
      const plim_memory_node *child = &profile->node[2 * node];
      if (set_node(profile, node, join_nodes(child[0], child[1]))) n = mark_parent(profile, node, n);
    }
  }
  profile->n_dirty = 0;
}

void plim_memory_profile_keep(plim_memory_profile *profile) {
  profile->n_saved = profile->n_moved = 0;
  profile->saves = profile->n_dirty == 0;
}

void plim_memory_profile_forget(plim_memory_profile *profile) {
  profile->saves = 0;
}

void plim_memory_profile_moved(plim_memory_profile *profile, int32_t slot) {
  if (profile->n_moved == SAVED_ROOM) {
    profile->saves = 0;
  } else {
    profile->moved[profile->n_moved++] = slot;
  }
}

/* The nodes get their old values back. Only those of moved slots are computed. */
static void restore_nodes(plim_memory_profile *profile) {
  for (int32_t i = 0; i < profile->n_dirty; i++) profile->is_dirty[profile->dirty[i]] = 0;
  profile->n_dirty = 0;
  for (int32_t i = profile->n_saved; i-- > 0;) profile->node[profile->saved[i].node] = profile->saved[i].value;
  for (int32_t i = 0; i < profile->n_moved; i++) plim_memory_profile_mark(profile, profile->moved[i]);
}

void plim_memory_profile_undo(plim_memory_profile *profile) {
  if (profile->saves) restore_nodes(profile);
  profile->saves = 0;
  plim_memory_profile_settle(profile);
  plim_memory_profile_keep(profile);
}

int64_t plim_memory_profile_peak(const plim_memory_profile *profile, int64_t base) {
  return base + profile->node[1].most;
}

static int64_t excess_in_block(const plim_memory_profile *profile, int32_t block, int64_t base, int64_t limit) {
  int64_t excess = 0;
  for (int32_t i = block * PLIM_MEMORY_PROFILE_BLOCK; i < (block + 1) * PLIM_MEMORY_PROFILE_BLOCK; i++) {
    int64_t level = base + profile->slot[i].up;
    if (level > limit && profile->used[i]) excess = plim_integers_add_capped(excess, level - limit);
    base = level - profile->slot[i].down;
  }
  return excess;
}

int64_t plim_memory_profile_excess(const plim_memory_profile *profile, int64_t base, int64_t limit) {
  struct {
    int32_t node;
    int64_t base;
  } stack[64]; /* one right sibling a depth at most */
  int32_t n = 0;
  int64_t excess = 0;
  stack[n].node = 1;
  stack[n++].base = base;
  while (n > 0) {
    int32_t node = stack[--n].node;
    int64_t below = stack[n].base;
    if (below + profile->node[node].most <= limit) continue;
    if (node >= profile->n_areas) {
      int64_t more = profile->n_areas == profile->n_blocks
                         ? excess_in_block(profile, node - profile->n_blocks, below, limit)
                         : below + profile->node[node].most - limit;
      excess = plim_integers_add_capped(excess, more);
      continue;
    }
    stack[n].node = 2 * node;
    stack[n++].base = below;
    stack[n].node = 2 * node + 1;
    stack[n++].base = below + profile->node[2 * node].sum;
  }
  return excess;
}

int32_t plim_memory_profile_find_above(const plim_memory_profile *profile, int64_t base, int64_t limit,
                                       uint64_t random) {
  int32_t node = 1;
  if (base + profile->node[1].most <= limit) return -1;
  while (node < profile->n_blocks) {
    node *= 2;
    int64_t right = base + profile->node[node].sum;
    int right_above = right + profile->node[node + 1].most > limit;
    int left_above = base + profile->node[node].most > limit;
    if (right_above && (!left_above || (random & 1))) {
      base = right;
      node++;
    }
    random >>= 1;
  }
  int32_t slot = (node - profile->n_blocks) * PLIM_MEMORY_PROFILE_BLOCK, found = -1, seen = 0;
  for (int32_t i = slot; i < slot + PLIM_MEMORY_PROFILE_BLOCK; i++) {
    int64_t level = base + profile->slot[i].up;
    if (level > limit && profile->used[i]) {
      /* keep the k-th of the seen ones with probability 1 / k */
      if (random % (uint64_t)++seen == 0) found = i;
      random >>= 2;
    }
    base = level - profile->slot[i].down;
  }
  return found;
}

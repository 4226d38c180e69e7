/* The tree of levels. Inner nodes are combined bottom-up: a change marks its block; settling computes marked blocks
 * again and combines their ancestors, each once. */
#include "planner/track/memory_profile.h"

#include <string.h>

#include "runtime/base/integers.h"

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
  plim_release(profile->ctx, profile, 1, sizeof *profile);
}

void plim_memory_profile_clear(plim_memory_profile *profile) {
  memset(profile->slot, 0, (size_t)profile->n_slots * sizeof *profile->slot);
  memset(profile->used, 0, (size_t)profile->n_slots * sizeof *profile->used);
  for (int32_t node = 0; node < 2 * profile->n_blocks; node++) profile->node[node] = (plim_memory_node){0, NOTHING};
  memset(profile->is_dirty, 0, 2 * (size_t)profile->n_blocks * sizeof *profile->is_dirty);
  profile->n_dirty = 0;
}

void plim_memory_profile_mark(plim_memory_profile *profile, int32_t slot) {
  int32_t node = profile->n_blocks + slot / PLIM_MEMORY_PROFILE_BLOCK;
  if (profile->is_dirty[node]) return;
  profile->is_dirty[node] = 1;
  profile->dirty[profile->n_dirty++] = node;
}

void plim_memory_profile_add(plim_memory_profile *profile, int32_t slot, int64_t up, int64_t down) {
  profile->slot[slot].up += up;
  profile->slot[slot].down += down;
  plim_memory_profile_mark(profile, slot);
}

static plim_memory_node block_node(const plim_memory_profile *profile, int32_t block) {
  const plim_memory_slot *slot = profile->slot + (int64_t)block * PLIM_MEMORY_PROFILE_BLOCK;
  const uint8_t *used = profile->used + (int64_t)block * PLIM_MEMORY_PROFILE_BLOCK;
  plim_memory_node node = {0, NOTHING};
  for (int32_t i = 0; i < PLIM_MEMORY_PROFILE_BLOCK; i++) {
    int64_t level = node.sum + slot[i].up, counted = used[i] ? level : NOTHING;
    node.most = counted > node.most ? counted : node.most;
    node.sum = level - slot[i].down;
  }
  return node;
}

static plim_memory_node join_nodes(plim_memory_node left, plim_memory_node right) {
  int64_t most = left.sum + right.most;
  return (plim_memory_node){left.sum + right.sum, most > left.most ? most : left.most};
}

void plim_memory_profile_settle(plim_memory_profile *profile) {
  for (int32_t i = 0; i < profile->n_dirty; i++) {
    int32_t node = profile->dirty[i];
    profile->node[node] = block_node(profile, node - profile->n_blocks);
    profile->is_dirty[node] = 0;
  }
  /* all dirty nodes are of one depth; replace them by their parents, each once */
  while (profile->n_dirty > 0 && profile->dirty[0] > 1) {
    int32_t n = 0;
    for (int32_t i = 0; i < profile->n_dirty; i++) {
      int32_t parent = profile->dirty[i] >> 1;
      if (profile->is_dirty[parent]) continue;
      profile->is_dirty[parent] = 1;
      profile->dirty[n++] = parent;
    }
    profile->n_dirty = n;
    for (int32_t i = 0; i < n; i++) {
      int32_t node = profile->dirty[i];
      profile->node[node] = join_nodes(profile->node[2 * node], profile->node[2 * node + 1]);
      profile->is_dirty[node] = 0;
    }
  }
  profile->n_dirty = 0;
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

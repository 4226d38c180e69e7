/* The tree of levels. Inner nodes are combined bottom-up: a change marks its block; settling computes marked blocks
 * again and goes up level by level, each node once. */
#include "planner/profile/track.h"

#include <string.h>

#include "runtime/base/integers.h"

#define NOTHING (-(INT64_C(1) << 62)) /* the largest level of a subtree without runs; sums stay below 2^61 */

plim_status plim_memory_profile_new(plim_context *ctx, int32_t slots, plim_memory_profile **out) {
  plim_memory_profile *l = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *l, &l));
  l->ctx = ctx;
  l->n_blocks = 2;
  while (l->n_blocks < (slots - 1) / PLIM_MEMORY_PROFILE_BLOCK + 1) l->n_blocks *= 2;
  l->n_slots = l->n_blocks * PLIM_MEMORY_PROFILE_BLOCK;
  l->n_areas = l->n_blocks < PLIM_MEMORY_PROFILE_AREAS ? l->n_blocks : PLIM_MEMORY_PROFILE_AREAS;
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, l->n_slots, sizeof *l->slot, &l->slot));
  PLIM_CHECK(plim_allocate(ctx, l->n_slots, sizeof *l->used, &l->used));
  PLIM_CHECK(plim_allocate(ctx, 2 * (int64_t)l->n_blocks, sizeof *l->node, &l->node));
  PLIM_CHECK(plim_allocate(ctx, l->n_blocks, sizeof *l->dirty, &l->dirty));
  PLIM_CHECK(plim_allocate(ctx, 2 * (int64_t)l->n_blocks, sizeof *l->is_dirty, &l->is_dirty));
  plim_memory_profile_clear(l);
  *out = l;
done:
  if (status != PLIM_OK) plim_memory_profile_free(l);
  return status;
}

void plim_memory_profile_free(plim_memory_profile *l) {
  if (!l) return;
  plim_release(l->ctx, l->slot, l->n_slots, sizeof *l->slot);
  plim_release(l->ctx, l->used, l->n_slots, sizeof *l->used);
  plim_release(l->ctx, l->node, 2 * (int64_t)l->n_blocks, sizeof *l->node);
  plim_release(l->ctx, l->dirty, l->n_blocks, sizeof *l->dirty);
  plim_release(l->ctx, l->is_dirty, 2 * (int64_t)l->n_blocks, sizeof *l->is_dirty);
  plim_release(l->ctx, l, 1, sizeof *l);
}

void plim_memory_profile_clear(plim_memory_profile *l) {
  memset(l->slot, 0, (size_t)l->n_slots * sizeof *l->slot);
  memset(l->used, 0, (size_t)l->n_slots * sizeof *l->used);
  for (int32_t node = 0; node < 2 * l->n_blocks; node++) l->node[node] = (plim_memory_node){0, NOTHING};
  memset(l->is_dirty, 0, 2 * (size_t)l->n_blocks * sizeof *l->is_dirty);
  l->n_dirty = 0;
}

void plim_memory_profile_mark(plim_memory_profile *l, int32_t slot) {
  int32_t node = l->n_blocks + slot / PLIM_MEMORY_PROFILE_BLOCK;
  if (l->is_dirty[node]) return;
  l->is_dirty[node] = 1;
  l->dirty[l->n_dirty++] = node;
}

void plim_memory_profile_add(plim_memory_profile *l, int32_t slot, int64_t up, int64_t down) {
  l->slot[slot].up += up;
  l->slot[slot].down += down;
  plim_memory_profile_mark(l, slot);
}

static plim_memory_node block_node(const plim_memory_profile *l, int32_t block) {
  const plim_memory_slot *slot = l->slot + (int64_t)block * PLIM_MEMORY_PROFILE_BLOCK;
  const uint8_t *used = l->used + (int64_t)block * PLIM_MEMORY_PROFILE_BLOCK;
  plim_memory_node node = {0, NOTHING};
  for (int32_t i = 0; i < PLIM_MEMORY_PROFILE_BLOCK; i++) {
    int64_t level = node.sum + slot[i].up, counted = used[i] ? level : NOTHING;
    node.most = counted > node.most ? counted : node.most;
    node.sum = level - slot[i].down;
  }
  return node;
}

static plim_memory_node join(plim_memory_node left, plim_memory_node right) {
  int64_t most = left.sum + right.most;
  return (plim_memory_node){left.sum + right.sum, most > left.most ? most : left.most};
}

void plim_memory_profile_settle(plim_memory_profile *l) {
  for (int32_t i = 0; i < l->n_dirty; i++) {
    int32_t node = l->dirty[i];
    l->node[node] = block_node(l, node - l->n_blocks);
    l->is_dirty[node] = 0;
  }
  /* all dirty nodes are of one depth; replace them by their parents, each once */
  while (l->n_dirty > 0 && l->dirty[0] > 1) {
    int32_t n = 0;
    for (int32_t i = 0; i < l->n_dirty; i++) {
      int32_t parent = l->dirty[i] >> 1;
      if (l->is_dirty[parent]) continue;
      l->is_dirty[parent] = 1;
      l->dirty[n++] = parent;
    }
    l->n_dirty = n;
    for (int32_t i = 0; i < n; i++) {
      int32_t node = l->dirty[i];
      l->node[node] = join(l->node[2 * node], l->node[2 * node + 1]);
      l->is_dirty[node] = 0;
    }
  }
  l->n_dirty = 0;
}

int64_t plim_memory_profile_peak(const plim_memory_profile *l, int64_t base) {
  return base + l->node[1].most;
}

int64_t plim_memory_profile_at(const plim_memory_profile *l, int64_t base, int32_t slot) {
  int32_t block = slot / PLIM_MEMORY_PROFILE_BLOCK;
  for (int32_t node = l->n_blocks + block; node > 1; node >>= 1) {
    if (node & 1) base += l->node[node - 1].sum;
  }
  for (int32_t i = block * PLIM_MEMORY_PROFILE_BLOCK; i < slot; i++) base += l->slot[i].up - l->slot[i].down;
  return base + l->slot[slot].up;
}

static int64_t excess_in_block(const plim_memory_profile *l, int32_t block, int64_t base, int64_t limit) {
  int64_t excess = 0;
  for (int32_t i = block * PLIM_MEMORY_PROFILE_BLOCK; i < (block + 1) * PLIM_MEMORY_PROFILE_BLOCK; i++) {
    int64_t level = base + l->slot[i].up;
    if (level > limit && l->used[i]) excess = plim_integers_add_capped(excess, level - limit);
    base = level - l->slot[i].down;
  }
  return excess;
}

int64_t plim_memory_profile_excess(const plim_memory_profile *l, int64_t base, int64_t limit) {
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
    if (below + l->node[node].most <= limit) continue;
    if (node >= l->n_areas) {
      int64_t more = l->n_areas == l->n_blocks ? excess_in_block(l, node - l->n_blocks, below, limit)
                                               : below + l->node[node].most - limit;
      excess = plim_integers_add_capped(excess, more);
      continue;
    }
    stack[n].node = 2 * node;
    stack[n++].base = below;
    stack[n].node = 2 * node + 1;
    stack[n++].base = below + l->node[2 * node].sum;
  }
  return excess;
}

int32_t plim_memory_profile_find_above(const plim_memory_profile *l, int64_t base, int64_t limit, uint64_t random) {
  int32_t node = 1;
  if (base + l->node[1].most <= limit) return -1;
  while (node < l->n_blocks) {
    node *= 2;
    int64_t right = base + l->node[node].sum;
    int right_above = right + l->node[node + 1].most > limit;
    int left_above = base + l->node[node].most > limit;
    if (right_above && (!left_above || (random & 1))) {
      base = right;
      node++;
    }
    random >>= 1;
  }
  int32_t slot = (node - l->n_blocks) * PLIM_MEMORY_PROFILE_BLOCK, found = -1, seen = 0;
  for (int32_t i = slot; i < slot + PLIM_MEMORY_PROFILE_BLOCK; i++) {
    int64_t level = base + l->slot[i].up;
    if (level > limit && l->used[i]) {
      /* keep the k-th of the seen ones with probability 1 / k */
      if (random % (uint64_t)++seen == 0) found = i;
      random >>= 2;
    }
    base = level - l->slot[i].down;
  }
  return found;
}

/* Free blocks in a skip list. The height of a node follows from its id by a hash, so that runs repeat.
 * Source: Pugh, Skip lists: a probabilistic alternative to balanced trees, CACM 1990. */
#include "runtime/arena/free_set.h"

#include <assert.h>

#include "runtime/base/array.h"

void plim_free_set_init(plim_free_set *set, plim_context *ctx) {
  *set = (plim_free_set){.ctx = ctx};
  for (int i = 0; i < PLIM_FREE_SET_LEVELS; i++) set->head[i] = PLIM_NONE;
}

void plim_free_set_release(plim_free_set *set) {
  plim_release(set->ctx, set->node, set->capacity, sizeof *set->node);
}

plim_status plim_free_set_reserve(plim_free_set *set, int64_t count) {
  return plim_array_reserve(set->ctx, &set->node, &set->capacity, count, sizeof *set->node);
}

/* Number of levels of a node: one, and each further level with probability 1/4. */
static int height_of(int32_t id) {
  uint64_t hash = ((uint64_t)id + 1) * 0x9e3779b97f4a7c15u;
  hash = (hash ^ (hash >> 31)) * 0x94d049bb133111ebu;
  int height = 1;
  for (hash >>= 20; height < PLIM_FREE_SET_LEVELS && (hash & 3) == 0; hash >>= 2) height++;
  return height;
}

static int before(const plim_free_node *node, int64_t bytes, int64_t offset) {
  return node->bytes != bytes ? node->bytes < bytes : node->offset < offset;
}

static int32_t next_of(const plim_free_set *set, int32_t id, int level) {
  return id == PLIM_NONE ? set->head[level] : set->node[id].next[level];
}

static void set_next(plim_free_set *set, int32_t id, int level, int32_t next) {
  if (id == PLIM_NONE) {
    set->head[level] = next;
  } else {
    set->node[id].next[level] = next;
  }
}

/* Find the last node before the key on each level; PLIM_NONE is the head. Returns how many nodes were compared with the
 * key.
 */
static int64_t find_before(const plim_free_set *set, int64_t bytes, int64_t offset, int32_t *found) {
  int32_t at = PLIM_NONE;
  int64_t compared = 0;
  for (int level = PLIM_FREE_SET_LEVELS - 1; level >= 0; level--) {
    int32_t next = next_of(set, at, level);
    for (; next != PLIM_NONE && before(&set->node[next], bytes, offset); next = next_of(set, at, level)) {
      at = next;
      compared++;
    }
    compared += next != PLIM_NONE;
    found[level] = at;
  }
  return compared;
}

void plim_free_set_insert(plim_free_set *set, int32_t id, int64_t bytes, int64_t offset) {
  assert(bytes > 0 && id < set->capacity && set->node[id].bytes == 0);
  int32_t found[PLIM_FREE_SET_LEVELS];
  set->compared += find_before(set, bytes, offset, found);
  set->node[id].bytes = bytes;
  set->node[id].offset = offset;
  for (int level = 0; level < PLIM_FREE_SET_LEVELS; level++) {
    if (level >= height_of(id)) {
      set->node[id].next[level] = PLIM_NONE;
      continue;
    }
    set->node[id].next[level] = next_of(set, found[level], level);
    set_next(set, found[level], level, id);
  }
}

void plim_free_set_erase(plim_free_set *set, int32_t id) {
  assert(plim_free_set_has(set, id));
  int32_t found[PLIM_FREE_SET_LEVELS];
  set->compared += find_before(set, set->node[id].bytes, set->node[id].offset, found);
  for (int level = 0; level < height_of(id); level++) {
    assert(next_of(set, found[level], level) == id);
    set_next(set, found[level], level, set->node[id].next[level]);
  }
  set->node[id].bytes = 0;
}

int plim_free_set_has(const plim_free_set *set, int32_t id) {
  return id >= 0 && id < set->capacity && set->node[id].bytes > 0;
}

int32_t plim_free_set_best(plim_free_set *set, int64_t bytes, int last) {
  int32_t found[PLIM_FREE_SET_LEVELS];
  set->compared += find_before(set, bytes, 0, found);
  int32_t first = next_of(set, found[0], 0);
  if (first == PLIM_NONE || !last) return first;
  set->compared += find_before(set, set->node[first].bytes, INT64_MAX, found);
  return found[0];
}

int64_t plim_free_set_largest(const plim_free_set *set) {
  int32_t found[PLIM_FREE_SET_LEVELS];
  (void)find_before(set, INT64_MAX, INT64_MAX, found);
  return found[0] == PLIM_NONE ? 0 : set->node[found[0]].bytes;
}

static int level_valid(const plim_free_set *set, int level, int32_t *count) {
  int32_t expected = level == 0 ? *count : 0, n = 0;
  for (int32_t at = set->head[level]; at != PLIM_NONE; at = set->node[at].next[level]) {
    int32_t next = set->node[at].next[level];
    if (set->node[at].bytes <= 0 || height_of(at) <= level) return 0;
    if (next != PLIM_NONE && !before(&set->node[at], set->node[next].bytes, set->node[next].offset)) return 0;
    n++;
  }
  for (int64_t id = 0; level > 0 && id < set->capacity; id++) {
    expected += set->node[id].bytes > 0 && height_of((int32_t)id) > level;
  }
  return n == expected;
}

int plim_free_set_valid(const plim_free_set *set) {
  int32_t count = 0;
  for (int64_t id = 0; id < set->capacity; id++) count += set->node[id].bytes > 0;
  for (int level = 0; level < PLIM_FREE_SET_LEVELS; level++) {
    if (!level_valid(set, level, &count)) return 0;
  }
  return 1;
}

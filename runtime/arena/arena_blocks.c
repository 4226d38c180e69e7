/* Blocks are rows of one array, linked in address order; ids of merged blocks are used again. */
#include "runtime/arena/arena_blocks.h"

#include <assert.h>

enum { NONE = -1, FIRST_CAPACITY = 64, WALKED = 32, WALKED_OF = 32 };

/* Sanitizer builds look at everything after each of the first changes, then after one of some: looking ahead makes
 * millions of them. */
static void walk(plim_arena_blocks *blocks) {
#ifdef PLIM_SANITIZED
  if (blocks->changes < WALKED || blocks->changes % WALKED_OF == 0) assert(plim_arena_blocks_valid(blocks));
#endif
  blocks->changes++;
}

/* Link the ids from `from` on as spare. */
static void link_spare(plim_arena_blocks *p, int64_t from) {
  for (int64_t id = p->capacity - 1; id >= from; id--) {
    p->block[id] = (plim_arena_block){.owner = PLIM_ARENA_BLOCK_FREE, .prev = NONE, .next = p->spare};
    p->spare = (int32_t)id;
  }
}

/* At least one spare id. */
static plim_status reserve(plim_arena_blocks *p) {
  if (p->spare != NONE) return PLIM_OK;
  int64_t capacity = p->capacity > 0 ? 2 * p->capacity : FIRST_CAPACITY;
  for (int side = 0; side < PLIM_SIDE_COUNT; side++) PLIM_TRY(plim_free_set_reserve(&p->free[side], capacity));
  PLIM_TRY(plim_resize_array(p->ctx, &p->block, p->capacity, capacity, sizeof *p->block));
  int64_t old = p->capacity;
  p->capacity = capacity;
  link_spare(p, old);
  return PLIM_OK;
}

static int32_t use_spare(plim_arena_blocks *p) {
  int32_t id = p->spare;
  p->spare = p->block[id].next;
  p->n_blocks++;
  return id;
}

static void make_spare(plim_arena_blocks *p, int32_t id) {
  p->block[id] = (plim_arena_block){.owner = PLIM_ARENA_BLOCK_FREE, .prev = NONE, .next = p->spare};
  p->spare = id;
  p->n_blocks--;
}

plim_side plim_arena_blocks_side(const plim_arena_blocks *blocks, int32_t block) {
  return blocks->block[block].offset < blocks->wall ? PLIM_SIDE_MAIN : PLIM_SIDE_SMALL;
}

static plim_free_set *set_of(plim_arena_blocks *p, int32_t id) {
  return &p->free[plim_arena_blocks_side(p, id)];
}

static void insert_free(plim_arena_blocks *p, int32_t id) {
  plim_free_set_insert(set_of(p, id), id, p->block[id].bytes, p->block[id].offset);
}

static void erase_free(plim_arena_blocks *p, int32_t id) {
  plim_free_set_erase(set_of(p, id), id);
}

plim_status plim_arena_blocks_new(plim_context *ctx, int64_t bytes, plim_arena_blocks **out) {
  if (bytes < PLIM_ALIGN) {
    return plim_fail(ctx, PLIM_ENOFIT, "an arena of %lld bytes has no room for one unit of %d", (long long)bytes,
                     PLIM_ALIGN);
  }
  plim_arena_blocks *p = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *p, &p));
  *p = (plim_arena_blocks){.ctx = ctx, .bytes = bytes - bytes % PLIM_ALIGN, .spare = NONE};
  p->wall = p->bytes;
  for (int side = 0; side < PLIM_SIDE_COUNT; side++) plim_free_set_init(&p->free[side], ctx);
  plim_status status = reserve(p);
  if (status != PLIM_OK) {
    plim_arena_blocks_free(p);
    return status;
  }
  p->first = use_spare(p);
  p->block[p->first] = (plim_arena_block){0, p->bytes, PLIM_ARENA_BLOCK_FREE, NONE, NONE};
  p->free_bytes = p->bytes;
  insert_free(p, p->first);
  walk(p);
  *out = p;
  return PLIM_OK;
}

void plim_arena_blocks_free(plim_arena_blocks *blocks) {
  if (!blocks) return;
  for (int side = 0; side < PLIM_SIDE_COUNT; side++) plim_free_set_release(&blocks->free[side]);
  plim_release(blocks->ctx, blocks->block, blocks->capacity, sizeof *blocks->block);
  plim_release(blocks->ctx, blocks, 1, sizeof *blocks);
}

/* Cut a block in two: the new one begins `bytes` after the start of the old one. */
static int32_t split(plim_arena_blocks *p, int32_t id, int64_t bytes) {
  int32_t high = use_spare(p), next = p->block[id].next;
  plim_arena_block *low = &p->block[id];
  p->block[high] = (plim_arena_block){low->offset + bytes, low->bytes - bytes, low->owner, id, next};
  low->bytes = bytes;
  low->next = high;
  if (next != NONE) p->block[next].prev = high;
  return high;
}

plim_status plim_arena_blocks_take_from(plim_arena_blocks *p, int32_t free_block, int64_t bytes, int32_t owner,
                                        plim_end end, int32_t *out) {
  int64_t rounded = plim_align_up(bytes, PLIM_ALIGN);
  assert(owner >= 0 && rounded > 0 && plim_free_set_has(set_of(p, free_block), free_block));
  assert(p->block[free_block].bytes >= rounded);
  PLIM_TRY(reserve(p));
  erase_free(p, free_block);
  int32_t taken = free_block;
  int64_t rest = p->block[free_block].bytes - rounded;
  if (rest > 0 && end == PLIM_END_LOW) insert_free(p, split(p, free_block, rounded));
  if (rest > 0 && end == PLIM_END_HIGH) {
    taken = split(p, free_block, rest);
    insert_free(p, free_block);
  }
  p->block[taken].owner = owner;
  p->free_bytes -= rounded;
  walk(p);
  *out = taken;
  return PLIM_OK;
}

plim_status plim_arena_blocks_take(plim_arena_blocks *blocks, int64_t bytes, int32_t owner, plim_side side,
                                   plim_end end, int32_t *out) {
  int64_t rounded = plim_align_up(bytes, PLIM_ALIGN);
  int32_t best = rounded < 0 ? NONE : plim_free_set_best(&blocks->free[side], rounded, end == PLIM_END_HIGH);
  if (best == NONE) {
    *out = NONE;
    return PLIM_OK;
  }
  return plim_arena_blocks_take_from(blocks, best, bytes, owner, end, out);
}

plim_status plim_arena_blocks_take_at(plim_arena_blocks *p, int64_t offset, int64_t bytes, int32_t owner,
                                      int32_t *out) {
  int32_t id = p->first;
  while (p->block[id].offset + p->block[id].bytes <= offset) id = p->block[id].next;
  int64_t before = offset - p->block[id].offset;
  if (before > 0) {
    PLIM_TRY(reserve(p));
    erase_free(p, id);
    int32_t high = split(p, id, before);
    insert_free(p, id);
    insert_free(p, high);
    id = high;
  }
  return plim_arena_blocks_take_from(p, id, bytes, owner, PLIM_END_LOW, out);
}

/* The free block `high` becomes a part of its lower neighbour, which is free and in no set. */
static void merge(plim_arena_blocks *p, int32_t low, int32_t high) {
  plim_arena_block *a = &p->block[low], *b = &p->block[high];
  a->bytes += b->bytes;
  a->next = b->next;
  if (b->next != NONE) p->block[b->next].prev = low;
  make_spare(p, high);
}

/* Is the neighbour (NONE: there is none) free and on the same side of the wall? */
static int joins(const plim_arena_blocks *p, int32_t block, int32_t neighbour) {
  return neighbour != NONE && p->block[neighbour].owner == PLIM_ARENA_BLOCK_FREE &&
         plim_arena_blocks_side(p, block) == plim_arena_blocks_side(p, neighbour);
}

int32_t plim_arena_blocks_give(plim_arena_blocks *p, int32_t block) {
  assert(p->block[block].bytes > 0 && p->block[block].owner != PLIM_ARENA_BLOCK_FREE);
  p->free_bytes += p->block[block].bytes;
  p->block[block].owner = PLIM_ARENA_BLOCK_FREE;
  int32_t prev = p->block[block].prev, next = p->block[block].next;
  if (joins(p, block, next)) {
    erase_free(p, next);
    merge(p, block, next);
  }
  if (joins(p, block, prev)) {
    erase_free(p, prev);
    merge(p, prev, block);
    block = prev;
  }
  insert_free(p, block);
  walk(p);
  return block;
}

/* The last block of the arena. */
static int32_t last_block(const plim_arena_blocks *p) {
  int32_t id = p->first;
  while (p->block[id].next != NONE) id = p->block[id].next;
  return id;
}

plim_status plim_arena_blocks_wall_off(plim_arena_blocks *p, int64_t bytes) {
  int32_t id = last_block(p);
  int64_t area = plim_align_up(bytes, PLIM_ALIGN);
  if (p->block[id].owner != PLIM_ARENA_BLOCK_FREE || area <= 0 || area >= p->block[id].bytes) return PLIM_OK;
  PLIM_TRY(reserve(p));
  erase_free(p, id);
  p->wall = p->bytes - area;
  int32_t high = split(p, id, p->block[id].bytes - area);
  insert_free(p, id);
  insert_free(p, high);
  walk(p);
  return PLIM_OK;
}

void plim_arena_blocks_join(plim_arena_blocks *p) {
  int32_t at_wall = NONE;
  for (int32_t id = p->first; id != NONE; id = p->block[id].next) {
    if (plim_arena_blocks_side(p, id) == PLIM_SIDE_MAIN) continue;
    if (p->block[id].offset == p->wall) at_wall = id;
    if (p->block[id].owner != PLIM_ARENA_BLOCK_FREE) continue;
    erase_free(p, id);
    plim_free_set_insert(&p->free[PLIM_SIDE_MAIN], id, p->block[id].bytes, p->block[id].offset);
  }
  p->wall = p->bytes;
  int32_t low = at_wall == NONE ? NONE : p->block[at_wall].prev;
  if (low != NONE && p->block[at_wall].owner == PLIM_ARENA_BLOCK_FREE && joins(p, at_wall, low)) {
    erase_free(p, low);
    erase_free(p, at_wall);
    merge(p, low, at_wall);
    insert_free(p, low);
  }
  walk(p);
}

void plim_arena_blocks_hand_over(plim_arena_blocks *blocks, int32_t block, int32_t owner) {
  assert(owner >= 0 && blocks->block[block].owner >= 0);
  blocks->block[block].owner = owner;
}

int64_t plim_arena_blocks_largest_free(const plim_arena_blocks *blocks) {
  return plim_free_set_largest(&blocks->free[PLIM_SIDE_MAIN]);
}

/* Is the block right, after `prev`? */
static int block_valid(const plim_arena_blocks *p, int32_t id, int32_t prev, int64_t offset) {
  const plim_arena_block *block = &p->block[id];
  plim_side side = plim_arena_blocks_side(p, id);
  int is_free = block->owner == PLIM_ARENA_BLOCK_FREE;
  if (block->offset != offset || block->bytes <= 0 || block->bytes % PLIM_ALIGN != 0 || block->prev != prev) return 0;
  if (side == PLIM_SIDE_MAIN && block->offset + block->bytes > p->wall) return 0;
  if (is_free && joins(p, id, prev)) return 0;
  for (int i = 0; i < PLIM_SIDE_COUNT; i++) {
    if ((is_free && i == (int)side) != plim_free_set_has(&p->free[i], id)) return 0;
  }
  return !is_free || p->free[side].node[id].bytes == block->bytes;
}

int plim_arena_blocks_valid(const plim_arena_blocks *blocks) {
  int64_t offset = 0, free_bytes = 0;
  int32_t n = 0, prev = NONE;
  for (int32_t id = blocks->first; id != NONE; prev = id, id = blocks->block[id].next) {
    const plim_arena_block *block = &blocks->block[id];
    if (!block_valid(blocks, id, prev, offset)) return 0;
    if (block->owner == PLIM_ARENA_BLOCK_FREE) free_bytes += block->bytes;
    offset += block->bytes;
    n++;
  }
  for (int side = 0; side < PLIM_SIDE_COUNT; side++) {
    if (!plim_free_set_valid(&blocks->free[side])) return 0;
  }
  return offset == blocks->bytes && free_bytes == blocks->free_bytes && n == blocks->n_blocks;
}

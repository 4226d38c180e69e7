/* Splits, merges and finds the blocks of an arena. Blocks are rows of one array, linked in address order. Ids of merged
 * blocks are reused. */
#include "runtime/arena/arena_blocks.h"

#include <assert.h>

enum { FIRST_CAPACITY = 64 };

/* Sanitizer builds check all invariants after each of the first ALWAYS_CHECKED changes, then after one in
 * CHECKED_ONE_OF: local search makes millions of changes. */
enum { ALWAYS_CHECKED = 32, CHECKED_ONE_OF = 32 };

/* Count a change, and in sanitizer builds check the invariants after some of them. */
static void check_invariants_sometimes(plim_arena_blocks *blocks) {
#ifdef PLIM_SANITIZED
  if (blocks->changes < ALWAYS_CHECKED || blocks->changes % CHECKED_ONE_OF == 0)
    assert(plim_arena_blocks_valid(blocks));
#endif
  blocks->changes++;
}

/* Link the ids from `from` on into the list of spare ids. */
static void link_spare(plim_arena_blocks *blocks, int64_t from) {
  for (int64_t id = blocks->capacity - 1; id >= from; id--) {
    blocks->block[id] = (plim_arena_block){.owner = PLIM_ARENA_BLOCK_FREE, .prev = PLIM_NONE, .next = blocks->spare};
    blocks->spare = (int32_t)id;
  }
}

/* Make sure that there is at least one spare id. */
static plim_status reserve(plim_arena_blocks *blocks) {
  if (blocks->spare != PLIM_NONE) return PLIM_OK;
  int64_t capacity = blocks->capacity > 0 ? 2 * blocks->capacity : FIRST_CAPACITY;
  for (int side = 0; side < PLIM_SIDE_COUNT; side++) PLIM_TRY(plim_free_set_reserve(&blocks->free[side], capacity));
  PLIM_TRY(plim_resize_array(blocks->ctx, &blocks->block, blocks->capacity, capacity, sizeof *blocks->block));
  int64_t old = blocks->capacity;
  blocks->capacity = capacity;
  link_spare(blocks, old);
  return PLIM_OK;
}

static int32_t use_spare(plim_arena_blocks *blocks) {
  int32_t id = blocks->spare;
  blocks->spare = blocks->block[id].next;
  blocks->n_blocks++;
  return id;
}

static void make_spare(plim_arena_blocks *blocks, int32_t id) {
  blocks->block[id] = (plim_arena_block){.owner = PLIM_ARENA_BLOCK_FREE, .prev = PLIM_NONE, .next = blocks->spare};
  blocks->spare = id;
  blocks->n_blocks--;
}

plim_side plim_arena_blocks_side(const plim_arena_blocks *blocks, int32_t block) {
  return blocks->block[block].offset < blocks->wall ? PLIM_SIDE_MAIN : PLIM_SIDE_SMALL;
}

static plim_free_set *set_of(plim_arena_blocks *blocks, int32_t id) {
  return &blocks->free[plim_arena_blocks_side(blocks, id)];
}

static void insert_free(plim_arena_blocks *blocks, int32_t id) {
  plim_free_set_insert(set_of(blocks, id), id, blocks->block[id].bytes, blocks->block[id].offset);
}

static void erase_free(plim_arena_blocks *blocks, int32_t id) {
  plim_free_set_erase(set_of(blocks, id), blocks->block[id].bytes, blocks->block[id].offset);
}

plim_status plim_arena_blocks_new(plim_context *ctx, int64_t bytes, plim_arena_blocks **out) {
  if (bytes < PLIM_ALIGN) {
    return plim_fail(ctx, PLIM_ENOFIT, "an arena of %lld bytes has no room for one unit of %d", (long long)bytes,
                     PLIM_ALIGN);
  }
  plim_arena_blocks *blocks = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *blocks, &blocks));
  *blocks = (plim_arena_blocks){.ctx = ctx, .bytes = bytes - bytes % PLIM_ALIGN, .spare = PLIM_NONE};
  blocks->wall = blocks->bytes;
  for (int side = 0; side < PLIM_SIDE_COUNT; side++) plim_free_set_init(&blocks->free[side], ctx);
  plim_status status = reserve(blocks);
  if (status != PLIM_OK) {
    plim_arena_blocks_free(blocks);
    return status;
  }
  blocks->first = use_spare(blocks);
  blocks->block[blocks->first] = (plim_arena_block){0, blocks->bytes, PLIM_ARENA_BLOCK_FREE, PLIM_NONE, PLIM_NONE};
  blocks->free_bytes = blocks->bytes;
  insert_free(blocks, blocks->first);
  check_invariants_sometimes(blocks);
  *out = blocks;
  return PLIM_OK;
}

void plim_arena_blocks_free(plim_arena_blocks *blocks) {
  if (!blocks) return;
  for (int side = 0; side < PLIM_SIDE_COUNT; side++) plim_free_set_release(&blocks->free[side]);
  plim_release(blocks->ctx, blocks->block, blocks->capacity, sizeof *blocks->block);
  plim_release(blocks->ctx, blocks, 1, sizeof *blocks);
}

/* Cut a block in two: the new one begins `bytes` after the start of the old one. */
static int32_t split(plim_arena_blocks *blocks, int32_t id, int64_t bytes) {
  int32_t high = use_spare(blocks), next = blocks->block[id].next;
  plim_arena_block *low = &blocks->block[id];
  blocks->block[high] = (plim_arena_block){low->offset + bytes, low->bytes - bytes, low->owner, id, next};
  low->bytes = bytes;
  low->next = high;
  if (next != PLIM_NONE) blocks->block[next].prev = high;
  return high;
}

plim_status plim_arena_blocks_take_from(plim_arena_blocks *blocks, int32_t free_block, int64_t bytes, int32_t owner,
                                        plim_end end, int32_t *out) {
  int64_t rounded = plim_align_up(bytes, PLIM_ALIGN);
  assert(owner >= 0 && rounded > 0 && blocks->block[free_block].owner == PLIM_ARENA_BLOCK_FREE);
  assert(blocks->block[free_block].bytes >= rounded);
  PLIM_TRY(reserve(blocks));
  erase_free(blocks, free_block);
  int32_t taken = free_block;
  int64_t rest = blocks->block[free_block].bytes - rounded;
  if (rest > 0 && end == PLIM_END_LOW) insert_free(blocks, split(blocks, free_block, rounded));
  if (rest > 0 && end == PLIM_END_HIGH) {
    taken = split(blocks, free_block, rest);
    insert_free(blocks, free_block);
  }
  blocks->block[taken].owner = owner;
  blocks->free_bytes -= rounded;
  check_invariants_sometimes(blocks);
  *out = taken;
  return PLIM_OK;
}

plim_status plim_arena_blocks_take(plim_arena_blocks *blocks, int64_t bytes, int32_t owner, plim_side side,
                                   plim_end end, int32_t *out) {
  int64_t rounded = plim_align_up(bytes, PLIM_ALIGN);
  int32_t best = rounded < 0 ? PLIM_NONE : plim_free_set_best(&blocks->free[side], rounded, end == PLIM_END_HIGH);
  if (best == PLIM_NONE) {
    *out = PLIM_NONE;
    return PLIM_OK;
  }
  return plim_arena_blocks_take_from(blocks, best, bytes, owner, end, out);
}

plim_status plim_arena_blocks_take_at(plim_arena_blocks *blocks, int64_t offset, int64_t bytes, int32_t owner,
                                      int32_t *out) {
  int32_t id = blocks->first;
  while (blocks->block[id].offset + blocks->block[id].bytes <= offset) id = blocks->block[id].next;
  int64_t before = offset - blocks->block[id].offset;
  if (before > 0) {
    PLIM_TRY(reserve(blocks));
    erase_free(blocks, id);
    int32_t high = split(blocks, id, before);
    insert_free(blocks, id);
    insert_free(blocks, high);
    id = high;
  }
  return plim_arena_blocks_take_from(blocks, id, bytes, owner, PLIM_END_LOW, out);
}

/* The free block `high` becomes a part of its lower neighbour, which is free and in no set. */
static void merge(plim_arena_blocks *blocks, int32_t low, int32_t high) {
  plim_arena_block *a = &blocks->block[low], *b = &blocks->block[high];
  a->bytes += b->bytes;
  a->next = b->next;
  if (b->next != PLIM_NONE) blocks->block[b->next].prev = low;
  make_spare(blocks, high);
}

/* Is the neighbour (PLIM_NONE: there is none) free and on the same side of the wall? */
static int joins(const plim_arena_blocks *blocks, int32_t block, int32_t neighbour) {
  return neighbour != PLIM_NONE && blocks->block[neighbour].owner == PLIM_ARENA_BLOCK_FREE &&
         plim_arena_blocks_side(blocks, block) == plim_arena_blocks_side(blocks, neighbour);
}

int32_t plim_arena_blocks_give(plim_arena_blocks *blocks, int32_t block) {
  assert(blocks->block[block].bytes > 0 && blocks->block[block].owner != PLIM_ARENA_BLOCK_FREE);
  blocks->free_bytes += blocks->block[block].bytes;
  blocks->block[block].owner = PLIM_ARENA_BLOCK_FREE;
  int32_t prev = blocks->block[block].prev, next = blocks->block[block].next;
  if (joins(blocks, block, next)) {
    erase_free(blocks, next);
    merge(blocks, block, next);
  }
  if (joins(blocks, block, prev)) {
    erase_free(blocks, prev);
    merge(blocks, prev, block);
    block = prev;
  }
  insert_free(blocks, block);
  check_invariants_sometimes(blocks);
  return block;
}

/* The last block of the arena. */
static int32_t last_block(const plim_arena_blocks *blocks) {
  int32_t id = blocks->first;
  while (blocks->block[id].next != PLIM_NONE) id = blocks->block[id].next;
  return id;
}

plim_status plim_arena_blocks_wall_off(plim_arena_blocks *blocks, int64_t bytes) {
  int32_t id = last_block(blocks);
  int64_t area = plim_align_up(bytes, PLIM_ALIGN);
  if (blocks->block[id].owner != PLIM_ARENA_BLOCK_FREE || area <= 0 || area >= blocks->block[id].bytes) return PLIM_OK;
  PLIM_TRY(reserve(blocks));
  erase_free(blocks, id);
  blocks->wall = blocks->bytes - area;
  int32_t high = split(blocks, id, blocks->block[id].bytes - area);
  insert_free(blocks, id);
  insert_free(blocks, high);
  check_invariants_sometimes(blocks);
  return PLIM_OK;
}

void plim_arena_blocks_join(plim_arena_blocks *blocks) {
  int32_t at_wall = PLIM_NONE;
  for (int32_t id = blocks->first; id != PLIM_NONE; id = blocks->block[id].next) {
    if (plim_arena_blocks_side(blocks, id) == PLIM_SIDE_MAIN) continue;
    if (blocks->block[id].offset == blocks->wall) at_wall = id;
    if (blocks->block[id].owner != PLIM_ARENA_BLOCK_FREE) continue;
    erase_free(blocks, id);
    plim_free_set_insert(&blocks->free[PLIM_SIDE_MAIN], id, blocks->block[id].bytes, blocks->block[id].offset);
  }
  blocks->wall = blocks->bytes;
  int32_t low = at_wall == PLIM_NONE ? PLIM_NONE : blocks->block[at_wall].prev;
  if (low != PLIM_NONE && blocks->block[at_wall].owner == PLIM_ARENA_BLOCK_FREE && joins(blocks, at_wall, low)) {
    erase_free(blocks, low);
    erase_free(blocks, at_wall);
    merge(blocks, low, at_wall);
    insert_free(blocks, low);
  }
  check_invariants_sometimes(blocks);
}

void plim_arena_blocks_hand_over(plim_arena_blocks *blocks, int32_t block, int32_t owner) {
  assert(owner >= 0 && blocks->block[block].owner >= 0);
  blocks->block[block].owner = owner;
}

int64_t plim_arena_blocks_largest_free(const plim_arena_blocks *blocks) {
  return plim_free_set_largest(&blocks->free[PLIM_SIDE_MAIN]);
}

/* Do the invariants hold for a block that follows `prev` and must begin at `offset`? */
static int block_valid(const plim_arena_blocks *blocks, int32_t id, int32_t prev, int64_t offset) {
  const plim_arena_block *block = &blocks->block[id];
  plim_side side = plim_arena_blocks_side(blocks, id);
  int is_free = block->owner == PLIM_ARENA_BLOCK_FREE;
  if (block->offset != offset || block->bytes <= 0 || block->bytes % PLIM_ALIGN != 0 || block->prev != prev) return 0;
  if (side == PLIM_SIDE_MAIN && block->offset + block->bytes > blocks->wall) return 0;
  if (is_free && joins(blocks, id, prev)) return 0;
  return !is_free || plim_free_set_has(&blocks->free[side], id, block->bytes, block->offset);
}

int plim_arena_blocks_valid(const plim_arena_blocks *blocks) {
  int64_t offset = 0, free_bytes = 0, n_free = 0;
  int32_t n = 0, prev = PLIM_NONE;
  for (int32_t id = blocks->first; id != PLIM_NONE; prev = id, id = blocks->block[id].next) {
    const plim_arena_block *block = &blocks->block[id];
    if (!block_valid(blocks, id, prev, offset)) return 0;
    if (block->owner == PLIM_ARENA_BLOCK_FREE) free_bytes += block->bytes;
    n_free += block->owner == PLIM_ARENA_BLOCK_FREE;
    offset += block->bytes;
    n++;
  }
  for (int side = 0; side < PLIM_SIDE_COUNT; side++) {
    if (!plim_free_set_valid(&blocks->free[side])) return 0;
    n_free -= blocks->free[side].n; /* so each set has its free blocks, and no others */
  }
  return n_free == 0 && offset == blocks->bytes && free_bytes == blocks->free_bytes && n == blocks->n_blocks;
}

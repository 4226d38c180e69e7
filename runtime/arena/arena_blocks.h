/* The arena as blocks: a tiling of [0, bytes) in address order; each block is free or held by an owner. The high end
 * may be an area for small requests alone, so that they do not split what large ones need. A wall separates the two; it
 * can be removed.
 *
 * Invariants: blocks tile the arena; neighbours agree; every size is a multiple of PLIM_ALIGN; no block crosses the
 * wall, and two free blocks touch there alone; the free set of a side holds exactly its free blocks. Source: Coop,
 * NeurIPS 2023, section 3; the area is that of OneFlow's implementation, which lets no request cross the wall. */
#ifndef PLIM_RUNTIME_ARENA_ARENA_BLOCKS_H
#define PLIM_RUNTIME_ARENA_ARENA_BLOCKS_H

#include "runtime/arena/free_set.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  PLIM_ARENA_NO_BLOCK = -1,  /* as a block: there is none */
  PLIM_ARENA_BLOCK_FREE = -1 /* as an owner: nothing holds the block */
};

typedef struct plim_arena_block {
  int64_t offset, bytes; /* bytes 0: an id that is not in use */
  int32_t owner;         /* PLIM_ARENA_BLOCK_FREE, or what the caller gave */
  int32_t prev, next;    /* neighbours in address order, PLIM_ARENA_NO_BLOCK: none */
} plim_arena_block;

/* Which end of a free block a request is cut from. */
typedef enum plim_end { PLIM_END_LOW, PLIM_END_HIGH } plim_end;

/* Below the wall, which is all of the arena when there is none, or above it. */
typedef enum plim_side { PLIM_SIDE_MAIN, PLIM_SIDE_SMALL, PLIM_SIDE_COUNT } plim_side;

typedef struct plim_arena_blocks {
  plim_context *ctx;
  int64_t bytes, free_bytes;
  int64_t wall;     /* offset where the area for small requests begins; bytes: there is none */
  int32_t n_blocks; /* in use */
  int32_t first;    /* at offset 0 */
  plim_arena_block *block;
  int64_t capacity;
  int32_t spare; /* first id not in use; they are linked through next */
  plim_free_set free[PLIM_SIDE_COUNT];
  int64_t changes; /* so far */
} plim_arena_blocks;

/* One free block of `bytes`, rounded down to PLIM_ALIGN; less than one alignment unit is PLIM_ENOFIT. */
PLIM_MUST_USE plim_status plim_arena_blocks_new(plim_context *ctx, int64_t bytes, plim_arena_blocks **out);

/* Wall off the last `bytes` > 0 of an arena that is free there, and before it: at least one unit stays on either
 * side, or there is no wall. */
PLIM_MUST_USE plim_status plim_arena_blocks_wall_off(plim_arena_blocks *blocks, int64_t bytes);

/* Remove the wall: free blocks that touch there become one. */
void plim_arena_blocks_join(plim_arena_blocks *blocks);

plim_side plim_arena_blocks_side(const plim_arena_blocks *blocks, int32_t block);
void plim_arena_blocks_free(plim_arena_blocks *blocks); /* NULL is legal */

/* Best fit on one side of the wall: the smallest free block that is large enough, of equal ones the lowest (low end) or
 * highest (high end), cut at that end. `bytes` > 0 is rounded up, owner >= 0. *out is the block, PLIM_ARENA_NO_BLOCK
 * when none is large enough. O(log n). */
PLIM_MUST_USE plim_status plim_arena_blocks_take(plim_arena_blocks *blocks, int64_t bytes, int32_t owner,
                                                 plim_side side, plim_end end, int32_t *out);

/* The same, cut from this free block, which is large enough. */
PLIM_MUST_USE plim_status plim_arena_blocks_take_from(plim_arena_blocks *blocks, int32_t free_block, int64_t bytes,
                                                      int32_t owner, plim_end end, int32_t *out);

/* The range [offset, offset + bytes), multiples of PLIM_ALIGN, which is free. O(n). */
PLIM_MUST_USE plim_status plim_arena_blocks_take_at(plim_arena_blocks *blocks, int64_t offset, int64_t bytes,
                                                    int32_t owner, int32_t *out);

/* Free a held block and merge it with free neighbours. Returns the free block that contains it. O(log n). */
int32_t plim_arena_blocks_give(plim_arena_blocks *blocks, int32_t block);

/* In place: the block goes from its owner to another. */
void plim_arena_blocks_hand_over(plim_arena_blocks *blocks, int32_t block, int32_t owner);

/* Below the wall. */
int64_t plim_arena_blocks_largest_free(const plim_arena_blocks *blocks);

/* Do all invariants hold? O(n log n); called after every change in sanitizer builds. */
int plim_arena_blocks_valid(const plim_arena_blocks *blocks);

#ifdef __cplusplus
}
#endif
#endif

/* The arena as blocks: a tiling of [0, bytes) in address order. Each block is free or held by an owner. The high end
 * may be an area for small requests alone, so that they do not split the room for large ones. A wall separates the two;
 * it can be removed. Functions run on the thread of the context, and are deterministic. In costs, n is the number of
 * blocks.
 *
 * Invariants: blocks tile the arena; neighbours agree; every size is a multiple of PLIM_ALIGN; no block crosses the
 * wall; two free blocks touch only at the wall; the free set of a side holds exactly its free blocks.
 * Sources: Coop, NeurIPS 2023, section 3. The area is that of OneFlow's implementation, which lets no request cross the
 * wall. */
#ifndef PLIM_RUNTIME_ARENA_ARENA_BLOCKS_H
#define PLIM_RUNTIME_ARENA_ARENA_BLOCKS_H

#include "runtime/arena/free_set.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_ARENA_BLOCK_FREE = -1 /* as an owner: nothing holds the block */ };

typedef struct plim_arena_block {
  int64_t offset, bytes; /* bytes 0: an id that is not in use */
  int32_t owner;         /* PLIM_ARENA_BLOCK_FREE, or what the caller gave */
  int32_t prev, next;    /* neighbours in address order, PLIM_NONE: none */
} plim_arena_block;

/* The end of a free block from which a request is cut. */
typedef enum plim_end { PLIM_END_LOW, PLIM_END_HIGH } plim_end;

/* The side of the wall: MAIN is below it, or all of the arena when there is no wall; SMALL is above it. */
typedef enum plim_side { PLIM_SIDE_MAIN, PLIM_SIDE_SMALL, PLIM_SIDE_COUNT } plim_side;

typedef struct plim_arena_blocks {
  plim_context *ctx;
  int64_t bytes, free_bytes;
  int64_t wall;     /* offset where the area for small requests begins; bytes: there is none */
  int32_t n_blocks; /* in use */
  int32_t first;    /* at offset 0 */
  plim_arena_block *block;
  int64_t capacity;
  int32_t spare; /* first id that is not in use; such ids are linked by `next` */
  plim_free_set free[PLIM_SIDE_COUNT];
  int64_t changes; /* number of changes so far: sanitizer builds do not check all of them */
} plim_arena_blocks;

/* Make an arena of one free block.
 *   bytes  in   rounded down to PLIM_ALIGN
 *   out    out  free with plim_arena_blocks_free
 * PLIM_ENOFIT: less than PLIM_ALIGN bytes. PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_arena_blocks_new(plim_context *ctx, int64_t bytes, plim_arena_blocks **out);
void plim_arena_blocks_free(plim_arena_blocks *blocks); /* NULL is legal */

/* Set the wall so that the last `bytes` are the small area. Does nothing unless the last block of the arena is free and
 * larger than `bytes`, rounded up to PLIM_ALIGN. PLIM_ENOMEM. O(n). */
PLIM_MUST_USE plim_status plim_arena_blocks_wall_off(plim_arena_blocks *blocks, int64_t bytes);

/* Remove the wall; free blocks that touch there become one. O(n log n). */
void plim_arena_blocks_join(plim_arena_blocks *blocks);

/* The side of a block. O(1). */
plim_side plim_arena_blocks_side(const plim_arena_blocks *blocks, int32_t block);

/* Take a block by best fit on one side of the wall: cut it from `end` of the smallest free block that is large enough.
 * Of equal ones the lowest (PLIM_END_LOW) or highest (PLIM_END_HIGH) is used.
 *   bytes  in   > 0, rounded up to PLIM_ALIGN
 *   owner  in   >= 0
 *   out    out  the block; PLIM_NONE: no free block is large enough
 * PLIM_ENOMEM. O(log n) of n free blocks, and moves up to n entries of 24 bytes. */
PLIM_MUST_USE plim_status plim_arena_blocks_take(plim_arena_blocks *blocks, int64_t bytes, int32_t owner,
                                                 plim_side side, plim_end end, int32_t *out);

/* Take a block from `end` of this free block, which must be large enough. Otherwise as plim_arena_blocks_take. */
PLIM_MUST_USE plim_status plim_arena_blocks_take_from(plim_arena_blocks *blocks, int32_t free_block, int64_t bytes,
                                                      int32_t owner, plim_end end, int32_t *out);

/* Take the range [offset, offset + bytes), which must be free; both numbers are multiples of PLIM_ALIGN. PLIM_ENOMEM.
 * O(n). */
PLIM_MUST_USE plim_status plim_arena_blocks_take_at(plim_arena_blocks *blocks, int64_t offset, int64_t bytes,
                                                    int32_t owner, int32_t *out);

/* Free a held block and merge it with its free neighbours. Returns the free block that contains it. O(log n) of
 * n free blocks, and moves up to n entries of 24 bytes. */
int32_t plim_arena_blocks_give(plim_arena_blocks *blocks, int32_t block);

/* Give a held block to another owner. O(1). */
void plim_arena_blocks_hand_over(plim_arena_blocks *blocks, int32_t block, int32_t owner);

/* Bytes of the largest free block below the wall, 0 when there is none. O(1). */
int64_t plim_arena_blocks_largest_free(const plim_arena_blocks *blocks);

/* Do all invariants hold? O(n log n); called after every change in sanitizer builds. */
int plim_arena_blocks_valid(const plim_arena_blocks *blocks);

#ifdef __cplusplus
}
#endif
#endif

/* The arena as pieces: a tiling of [0, bytes) in address order, each piece free or held by an owner. The high end may
 * be walled off as an area for small requests, so that they do not cut up what large ones need; the wall can fall.
 *
 * Invariants: pieces tile the arena; neighbours agree; every size is a multiple of PLIM_ALIGN; no piece crosses the
 * wall, and two free pieces touch there alone; the free set of a side holds exactly its free pieces. Source: Coop,
 * NeurIPS 2023, section 3; the area is that of OneFlow's implementation, which lets no request cross the wall. */
#ifndef PLIM_RUNTIME_ARENA_PIECES_H
#define PLIM_RUNTIME_ARENA_PIECES_H

#include "runtime/arena/free_set.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_PIECE_FREE = -1 };

typedef struct plim_piece {
  int64_t offset, bytes; /* bytes 0: an id that is not in use */
  int32_t owner;         /* PLIM_PIECE_FREE, or what the caller gave */
  int32_t prev, next;    /* neighbours in address order, -1: none */
} plim_piece;

/* Which end of a free piece a request is cut from. */
typedef enum plim_end { PLIM_END_LOW, PLIM_END_HIGH } plim_end;

/* Below the wall, which is all of the arena when there is none, or behind it. */
typedef enum plim_side { PLIM_SIDE_MAIN, PLIM_SIDE_SMALL, PLIM_SIDE_COUNT } plim_side;

typedef struct plim_pieces {
  plim_context *ctx;
  int64_t bytes, free_bytes;
  int64_t wall;     /* offset where the area for small requests begins; bytes: there is none */
  int32_t n_pieces; /* in use */
  int32_t first;    /* at offset 0 */
  plim_piece *piece;
  int64_t capacity;
  int32_t spare; /* first id not in use; they are linked through next */
  plim_free_set free[PLIM_SIDE_COUNT];
  int64_t changes; /* so far */
} plim_pieces;

/* One free piece of `bytes`, rounded down to PLIM_ALIGN; less than one alignment unit is PLIM_ENOFIT. */
PLIM_MUST_USE plim_status plim_pieces_new(plim_context *ctx, int64_t bytes, plim_pieces **out);

/* Wall off the last `bytes` > 0 of an arena that is free there, and in front of it: at least one unit stays on either
 * side, or there is no wall. */
PLIM_MUST_USE plim_status plim_pieces_wall_off(plim_pieces *pieces, int64_t bytes);

/* The wall falls: free pieces that touch there become one. */
void plim_pieces_join(plim_pieces *pieces);

plim_side plim_pieces_side(const plim_pieces *pieces, int32_t piece);
void plim_pieces_free(plim_pieces *pieces); /* NULL is legal */

/* Best fit on one side of the wall: the smallest free piece that is large enough, of equal ones the lowest (low end) or
 * highest (high end), cut at that end. `bytes` > 0 is rounded up, owner >= 0. *out is the piece, -1 when none is large
 * enough. O(log n). */
PLIM_MUST_USE plim_status plim_pieces_take(plim_pieces *pieces, int64_t bytes, int32_t owner, plim_side side,
                                           plim_end end, int32_t *out);

/* The same, cut from this free piece, which is large enough. */
PLIM_MUST_USE plim_status plim_pieces_take_from(plim_pieces *pieces, int32_t free_piece, int64_t bytes, int32_t owner,
                                                plim_end end, int32_t *out);

/* The range [offset, offset + bytes), multiples of PLIM_ALIGN, which is free. O(n). */
PLIM_MUST_USE plim_status plim_pieces_take_at(plim_pieces *pieces, int64_t offset, int64_t bytes, int32_t owner,
                                              int32_t *out);

/* Free a held piece and merge it with free neighbours. Returns the free piece that contains it. O(log n). */
int32_t plim_pieces_give(plim_pieces *pieces, int32_t piece);

/* In place: the piece goes from its owner to another. */
void plim_pieces_hand_over(plim_pieces *pieces, int32_t piece, int32_t owner);

/* Below the wall. */
int64_t plim_pieces_largest_free(const plim_pieces *pieces);

/* Do all invariants hold? O(n log n); called after every change in sanitizer builds. */
int plim_pieces_valid(const plim_pieces *pieces);

#ifdef __cplusplus
}
#endif
#endif

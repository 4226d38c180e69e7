/* Pieces are rows of one array, linked in address order; ids of merged pieces are used again. */
#include "runtime/arena/pieces.h"

#include <assert.h>

enum { NONE = -1, FIRST_CAPACITY = 64, WALKED = 32, WALKED_OF = 32 };

/* Sanitizer builds look at everything behind each of the first changes, then behind one of some: looking ahead makes
 * millions of them. */
static void walk(plim_pieces *pieces) {
#ifdef PLIM_SANITIZED
  if (pieces->changes < WALKED || pieces->changes % WALKED_OF == 0) assert(plim_pieces_valid(pieces));
#endif
  pieces->changes++;
}

/* Link the ids from `from` on as spare. */
static void link_spare(plim_pieces *p, int64_t from) {
  for (int64_t id = p->capacity - 1; id >= from; id--) {
    p->piece[id] = (plim_piece){.owner = PLIM_PIECE_FREE, .prev = NONE, .next = p->spare};
    p->spare = (int32_t)id;
  }
}

/* At least one spare id. */
static plim_status reserve(plim_pieces *p) {
  if (p->spare != NONE) return PLIM_OK;
  int64_t capacity = p->capacity > 0 ? 2 * p->capacity : FIRST_CAPACITY;
  for (int side = 0; side < PLIM_SIDE_COUNT; side++) PLIM_TRY(plim_free_set_reserve(&p->free[side], capacity));
  PLIM_TRY(plim_resize_array(p->ctx, &p->piece, p->capacity, capacity, sizeof *p->piece));
  int64_t old = p->capacity;
  p->capacity = capacity;
  link_spare(p, old);
  return PLIM_OK;
}

static int32_t use_spare(plim_pieces *p) {
  int32_t id = p->spare;
  p->spare = p->piece[id].next;
  p->n_pieces++;
  return id;
}

static void make_spare(plim_pieces *p, int32_t id) {
  p->piece[id] = (plim_piece){.owner = PLIM_PIECE_FREE, .prev = NONE, .next = p->spare};
  p->spare = id;
  p->n_pieces--;
}

plim_side plim_pieces_side(const plim_pieces *pieces, int32_t piece) {
  return pieces->piece[piece].offset < pieces->wall ? PLIM_SIDE_MAIN : PLIM_SIDE_SMALL;
}

static plim_free_set *set_of(plim_pieces *p, int32_t id) {
  return &p->free[plim_pieces_side(p, id)];
}

static void insert_free(plim_pieces *p, int32_t id) {
  plim_free_set_insert(set_of(p, id), id, p->piece[id].bytes, p->piece[id].offset);
}

static void erase_free(plim_pieces *p, int32_t id) {
  plim_free_set_erase(set_of(p, id), id);
}

plim_status plim_pieces_new(plim_context *ctx, int64_t bytes, plim_pieces **out) {
  if (bytes < PLIM_ALIGN) {
    return plim_fail(ctx, PLIM_ENOFIT, "an arena of %lld bytes has no room for one unit of %d", (long long)bytes,
                     PLIM_ALIGN);
  }
  plim_pieces *p = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *p, &p));
  *p = (plim_pieces){.ctx = ctx, .bytes = bytes - bytes % PLIM_ALIGN, .spare = NONE};
  p->wall = p->bytes;
  for (int side = 0; side < PLIM_SIDE_COUNT; side++) plim_free_set_init(&p->free[side], ctx);
  plim_status status = reserve(p);
  if (status != PLIM_OK) {
    plim_pieces_free(p);
    return status;
  }
  p->first = use_spare(p);
  p->piece[p->first] = (plim_piece){0, p->bytes, PLIM_PIECE_FREE, NONE, NONE};
  p->free_bytes = p->bytes;
  insert_free(p, p->first);
  walk(p);
  *out = p;
  return PLIM_OK;
}

void plim_pieces_free(plim_pieces *pieces) {
  if (!pieces) return;
  for (int side = 0; side < PLIM_SIDE_COUNT; side++) plim_free_set_release(&pieces->free[side]);
  plim_release(pieces->ctx, pieces->piece, pieces->capacity, sizeof *pieces->piece);
  plim_release(pieces->ctx, pieces, 1, sizeof *pieces);
}

/* Cut a piece in two: the new one begins `bytes` behind the start of the old one. */
static int32_t split(plim_pieces *p, int32_t id, int64_t bytes) {
  int32_t high = use_spare(p), next = p->piece[id].next;
  plim_piece *low = &p->piece[id];
  p->piece[high] = (plim_piece){low->offset + bytes, low->bytes - bytes, low->owner, id, next};
  low->bytes = bytes;
  low->next = high;
  if (next != NONE) p->piece[next].prev = high;
  return high;
}

plim_status plim_pieces_take_from(plim_pieces *p, int32_t free_piece, int64_t bytes, int32_t owner, plim_end end,
                                  int32_t *out) {
  int64_t rounded = plim_align_up(bytes, PLIM_ALIGN);
  assert(owner >= 0 && rounded > 0 && plim_free_set_has(set_of(p, free_piece), free_piece));
  assert(p->piece[free_piece].bytes >= rounded);
  PLIM_TRY(reserve(p));
  erase_free(p, free_piece);
  int32_t taken = free_piece;
  int64_t rest = p->piece[free_piece].bytes - rounded;
  if (rest > 0 && end == PLIM_END_LOW) insert_free(p, split(p, free_piece, rounded));
  if (rest > 0 && end == PLIM_END_HIGH) {
    taken = split(p, free_piece, rest);
    insert_free(p, free_piece);
  }
  p->piece[taken].owner = owner;
  p->free_bytes -= rounded;
  walk(p);
  *out = taken;
  return PLIM_OK;
}

plim_status plim_pieces_take(plim_pieces *pieces, int64_t bytes, int32_t owner, plim_side side, plim_end end,
                             int32_t *out) {
  int64_t rounded = plim_align_up(bytes, PLIM_ALIGN);
  int32_t best = rounded < 0 ? NONE : plim_free_set_best(&pieces->free[side], rounded, end == PLIM_END_HIGH);
  if (best == NONE) {
    *out = NONE;
    return PLIM_OK;
  }
  return plim_pieces_take_from(pieces, best, bytes, owner, end, out);
}

plim_status plim_pieces_take_at(plim_pieces *p, int64_t offset, int64_t bytes, int32_t owner, int32_t *out) {
  int32_t id = p->first;
  while (p->piece[id].offset + p->piece[id].bytes <= offset) id = p->piece[id].next;
  int64_t before = offset - p->piece[id].offset;
  if (before > 0) {
    PLIM_TRY(reserve(p));
    erase_free(p, id);
    int32_t high = split(p, id, before);
    insert_free(p, id);
    insert_free(p, high);
    id = high;
  }
  return plim_pieces_take_from(p, id, bytes, owner, PLIM_END_LOW, out);
}

/* The free piece `high` becomes a part of its lower neighbour, which is free and in no set. */
static void merge(plim_pieces *p, int32_t low, int32_t high) {
  plim_piece *a = &p->piece[low], *b = &p->piece[high];
  a->bytes += b->bytes;
  a->next = b->next;
  if (b->next != NONE) p->piece[b->next].prev = low;
  make_spare(p, high);
}

/* Is the neighbour (NONE: there is none) free and on the same side of the wall? */
static int joins(const plim_pieces *p, int32_t piece, int32_t neighbour) {
  return neighbour != NONE && p->piece[neighbour].owner == PLIM_PIECE_FREE &&
         plim_pieces_side(p, piece) == plim_pieces_side(p, neighbour);
}

int32_t plim_pieces_give(plim_pieces *p, int32_t piece) {
  assert(p->piece[piece].bytes > 0 && p->piece[piece].owner != PLIM_PIECE_FREE);
  p->free_bytes += p->piece[piece].bytes;
  p->piece[piece].owner = PLIM_PIECE_FREE;
  int32_t prev = p->piece[piece].prev, next = p->piece[piece].next;
  if (joins(p, piece, next)) {
    erase_free(p, next);
    merge(p, piece, next);
  }
  if (joins(p, piece, prev)) {
    erase_free(p, prev);
    merge(p, prev, piece);
    piece = prev;
  }
  insert_free(p, piece);
  walk(p);
  return piece;
}

/* The last piece of the arena. */
static int32_t last_piece(const plim_pieces *p) {
  int32_t id = p->first;
  while (p->piece[id].next != NONE) id = p->piece[id].next;
  return id;
}

plim_status plim_pieces_wall_off(plim_pieces *p, int64_t bytes) {
  int32_t id = last_piece(p);
  int64_t area = plim_align_up(bytes, PLIM_ALIGN);
  if (p->piece[id].owner != PLIM_PIECE_FREE || area <= 0 || area >= p->piece[id].bytes) return PLIM_OK;
  PLIM_TRY(reserve(p));
  erase_free(p, id);
  p->wall = p->bytes - area;
  int32_t high = split(p, id, p->piece[id].bytes - area);
  insert_free(p, id);
  insert_free(p, high);
  walk(p);
  return PLIM_OK;
}

void plim_pieces_join(plim_pieces *p) {
  int32_t at_wall = NONE;
  for (int32_t id = p->first; id != NONE; id = p->piece[id].next) {
    if (plim_pieces_side(p, id) == PLIM_SIDE_MAIN) continue;
    if (p->piece[id].offset == p->wall) at_wall = id;
    if (p->piece[id].owner != PLIM_PIECE_FREE) continue;
    erase_free(p, id);
    plim_free_set_insert(&p->free[PLIM_SIDE_MAIN], id, p->piece[id].bytes, p->piece[id].offset);
  }
  p->wall = p->bytes;
  int32_t low = at_wall == NONE ? NONE : p->piece[at_wall].prev;
  if (low != NONE && p->piece[at_wall].owner == PLIM_PIECE_FREE && joins(p, at_wall, low)) {
    erase_free(p, low);
    erase_free(p, at_wall);
    merge(p, low, at_wall);
    insert_free(p, low);
  }
  walk(p);
}

void plim_pieces_hand_over(plim_pieces *pieces, int32_t piece, int32_t owner) {
  assert(owner >= 0 && pieces->piece[piece].owner >= 0);
  pieces->piece[piece].owner = owner;
}

int64_t plim_pieces_largest_free(const plim_pieces *pieces) {
  return plim_free_set_largest(&pieces->free[PLIM_SIDE_MAIN]);
}

/* Is the piece right, behind `prev`? */
static int piece_valid(const plim_pieces *p, int32_t id, int32_t prev, int64_t offset) {
  const plim_piece *piece = &p->piece[id];
  plim_side side = plim_pieces_side(p, id);
  int is_free = piece->owner == PLIM_PIECE_FREE;
  if (piece->offset != offset || piece->bytes <= 0 || piece->bytes % PLIM_ALIGN != 0 || piece->prev != prev) return 0;
  if (side == PLIM_SIDE_MAIN && piece->offset + piece->bytes > p->wall) return 0;
  if (is_free && joins(p, id, prev)) return 0;
  for (int i = 0; i < PLIM_SIDE_COUNT; i++) {
    if ((is_free && i == (int)side) != plim_free_set_has(&p->free[i], id)) return 0;
  }
  return !is_free || p->free[side].node[id].bytes == piece->bytes;
}

int plim_pieces_valid(const plim_pieces *pieces) {
  int64_t offset = 0, free_bytes = 0;
  int32_t n = 0, prev = NONE;
  for (int32_t id = pieces->first; id != NONE; prev = id, id = pieces->piece[id].next) {
    const plim_piece *piece = &pieces->piece[id];
    if (!piece_valid(pieces, id, prev, offset)) return 0;
    if (piece->owner == PLIM_PIECE_FREE) free_bytes += piece->bytes;
    offset += piece->bytes;
    n++;
  }
  for (int side = 0; side < PLIM_SIDE_COUNT; side++) {
    if (!plim_free_set_valid(&pieces->free[side])) return 0;
  }
  return offset == pieces->bytes && free_bytes == pieces->free_bytes && n == pieces->n_pieces;
}
